//! Format 1 of a data directory. Integers are little-endian.
//!
//! | file | contents |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory |
//! | `STORE` | text: the format and the id of the store |
//! | `wal/SEQUENCE-REVISION.wal` | segments of the log, filled with zeros in advance |
//! | `wal/next.tmp` | the next segment |
//! | `checkpoints/REVISION.ckpt` | every object at a revision |
//! | `quarantine/` | copies of data that recovery removed |
//!
//! The first page of a segment is its header (`segment`). Each frame (`frame`) contains a group of writes (`record`) that became
//! durable together. Frames begin at page boundaries and are padded to whole pages, so that no write touches a sector with
//! acknowledged data.

pub(crate) mod checkpoint;
pub(crate) mod cursor;
pub(crate) mod frame;
pub(crate) mod identity;
pub(crate) mod record;
pub(crate) mod segment;

/// The current format.
pub(crate) const FORMAT: u32 = 1;

/// The alignment of frames.
pub(crate) const PAGE: usize = 4096;

/// The largest record, in bytes.
pub(crate) const MAX_RECORD: usize = 32 << 20;

/// The largest frame: a full group and one more record.
pub(crate) const MAX_FRAME: usize = MAX_RECORD + (8 << 20);

/// The folder of segments.
pub(crate) const WAL: &str = "wal";
/// The folder of checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// The folder of data that recovery removed.
pub(crate) const QUARANTINE: &str = "quarantine";
/// The next segment.
pub(crate) const SPARE: &str = "wal/next.tmp";

/// Rounds a length up to whole pages.
pub(crate) fn padded(len: usize) -> usize {
    len.div_ceil(PAGE) * PAGE
}
