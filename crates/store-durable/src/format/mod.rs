//! The files of a data directory, format 1. Integers are little-endian.
//!
//! | file | contents |
//! |---|---|
//! | `LOCK` | locked by the one process that uses the directory |
//! | `STORE` | text: the format and the id of the store |
//! | `wal/SEQUENCE-REVISION.wal` | segments of the log, filled with zeros before they are used |
//! | `wal/next.tmp` | a segment that is ready to be used |
//! | `checkpoints/REVISION.ckpt` | every object at a revision |
//! | `quarantine/` | copies of what recovery has cut off |
//!
//! A segment begins with a page of its own (`segment`). Each frame (`frame`) is one group of writes (`record`) that were
//! made durable together; it begins at a multiple of a page and is padded to one, so that no write ever touches a sector
//! that holds acknowledged data.

pub(crate) mod checkpoint;
pub(crate) mod cursor;
pub(crate) mod frame;
pub(crate) mod identity;
pub(crate) mod record;
pub(crate) mod segment;

/// The format that is written.
pub(crate) const FORMAT: u32 = 1;

/// The alignment of frames.
pub(crate) const PAGE: usize = 4096;

/// The largest record, in bytes.
pub(crate) const MAX_RECORD: usize = 32 << 20;

/// The largest frame: a full group and one record more.
pub(crate) const MAX_FRAME: usize = MAX_RECORD + (8 << 20);

/// The folder of segments.
pub(crate) const WAL: &str = "wal";
/// The folder of checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// The folder of what recovery has cut off.
pub(crate) const QUARANTINE: &str = "quarantine";
/// The segment that is ready to be used.
pub(crate) const SPARE: &str = "wal/next.tmp";

/// Returns a length rounded up to pages.
pub(crate) fn padded(len: usize) -> usize {
    len.div_ceil(PAGE) * PAGE
}
