//! The engine: validates writes against a staged state, makes them durable in groups, and publishes them.
//!
//! | file | contents |
//! |---|---|
//! | `alarm` | wakes the maintenance thread |
//! | `submit` | validates a write and adds it to the open group |
//! | `commit` | turns a group into a durable frame, and publishes it |
//! | `outcome` | waits for a group |
//! | `maintenance` | spare segments, checkpoints, removal of old files |
//! | `open` | recovery and the first files of a store |
//!
//! Invariants: at most one frame is not durable; nothing is published, watched or acknowledged before its frame is durable,
//! including errors that name an unpublished object; after a failed write or sync, nothing more is written.
//!
//! All functions block and run on the caller's thread; `threads` calls them from two threads, and tests step by step.

use std::sync::Arc;

use kubewright_store::{
    MemoryStore, Revision,
    engine::{Staged, Unpublished},
};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::{
    clock::Wall,
    disk::Disk,
    format::frame,
    log::{LogWriter, Spares},
    options::Options,
    stats::Counters,
};

mod alarm;
mod commit;
mod maintenance;
mod open;
mod outcome;
mod submit;

use alarm::Alarm;
pub(crate) use commit::Step;
pub use open::OpenReport;
pub(crate) use open::{Opened, read_identity};
pub(crate) use outcome::Outcome;
pub(crate) use submit::{Answer, Op};

/// The size limit of a group in bytes, unless it is a single write.
const MAX_GROUP_BYTES: usize = 4 << 20;
/// The size limit of a group in writes.
const MAX_GROUP_RECORDS: u32 = 4096;

/// An open store without its threads.
pub(crate) struct Engine {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) id: [u8; 16],
    pub(crate) options: Options,
    /// The name of the directory in error messages.
    name: String,
    pub(crate) published: MemoryStore,
    wall: Wall,
    pending: Mutex<Pending>,
    /// Wakes the log thread.
    work: Condvar,
    /// Wakes writers that wait for space in the open group.
    pub(crate) room: Notify,
    writer: Mutex<LogWriter>,
    pub(crate) spares: Arc<Spares>,
    pub(crate) counters: Counters,
    maintenance: Mutex<maintenance::Maintenance>,
    /// Rings when a segment is used up.
    pub(crate) alarm: Alarm,
}

/// Writes that are not published yet.
struct Pending {
    staged: Staged,
    open: Group,
    in_flight: Option<(Revision, Arc<Outcome>)>,
    state: Accepting,
    /// The reason why growing writes are rejected, if they are.
    full: Option<String>,
    closing: bool,
}

/// Whether writes are accepted.
enum Accepting {
    Yes,
    /// A write or a sync failed.
    Failed(Arc<str>),
    Closed,
}

/// Writes that become durable together.
struct Group {
    /// Space for the header of a frame, followed by the records.
    bytes: Vec<u8>,
    records: u32,
    outcome: Arc<Outcome>,
}

/// A group that is being written.
struct InFlight {
    group: Group,
    unpublished: Unpublished,
}

/// The reason why writes are rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unhealthy {
    /// Growing writes are rejected.
    Full(String),
    /// All writes are rejected until the store is reopened.
    Failed(String),
}

impl Group {
    fn new() -> Self {
        Self {
            bytes: vec![0; frame::HEADER],
            records: 0,
            outcome: Arc::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.records == 0
    }

    fn is_full(&self) -> bool {
        self.records >= MAX_GROUP_RECORDS || self.bytes.len() >= MAX_GROUP_BYTES
    }
}

impl Engine {
    /// Returns the reason why writes are rejected, if they are.
    pub(crate) fn unhealthy(&self) -> Option<Unhealthy> {
        let pending = self.pending.lock();
        match (&pending.state, &pending.full) {
            (Accepting::Failed(why), _) => Some(Unhealthy::Failed(why.to_string())),
            (_, Some(why)) => Some(Unhealthy::Full(why.clone())),
            _ => None,
        }
    }

    /// Makes the log thread exit once everything is written.
    pub(crate) fn begin_close(&self) {
        self.pending.lock().closing = true;
        self.work.notify_all();
    }
}
