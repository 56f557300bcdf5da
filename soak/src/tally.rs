//! Counts everything that happened.

use std::{
    collections::BTreeMap,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

/// The number of errors that are printed.
const PRINTED: u64 = 20;

/// Something that a worker or a watcher did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Create,
    Update,
    Patch,
    Apply,
    Delete,
    List,
    Event,
    CutOff,
    Reconnect,
    DroppedWatch,
    Resume,
    Relist,
}

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    operations: Mutex<BTreeMap<Operation, u64>>,
    errors: AtomicU64,
    lost: AtomicU64,
    wrong: AtomicU64,
}

impl Tally {
    pub(crate) fn count(&self, operation: Operation) {
        *self.operations.lock().entry(operation).or_default() += 1;
    }

    /// Counts an error, and prints the first ones.
    pub(crate) fn error(&self, error: fmt::Arguments<'_>) {
        if self.errors.fetch_add(1, Ordering::Relaxed) < PRINTED {
            eprintln!("soak: {error}");
        }
    }

    /// Counts events that a watcher did not get.
    pub(crate) fn lost(&self, events: u64) {
        self.lost.fetch_add(events, Ordering::Relaxed);
    }

    /// Counts objects that differ from the model.
    pub(crate) fn wrong_objects(&self, objects: u64) {
        self.wrong.fetch_add(objects, Ordering::Relaxed);
    }

    pub(crate) fn of(&self, operation: Operation) -> u64 {
        self.operations
            .lock()
            .get(&operation)
            .copied()
            .unwrap_or_default()
    }

    /// Returns the number of errors, lost events and wrong objects.
    pub(crate) fn failures(&self) -> [u64; 3] {
        [&self.errors, &self.lost, &self.wrong].map(|count| count.load(Ordering::Relaxed))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = [
            Operation::Create,
            Operation::Update,
            Operation::Patch,
            Operation::Apply,
            Operation::Delete,
            Operation::List,
        ];
        let requests: u64 = requests.into_iter().map(|it| self.of(it)).sum();
        let [errors, lost, wrong] = self.failures();
        write!(
            f,
            "{requests} operations, {} events, {errors} errors, {lost} lost, {wrong} wrong",
            self.of(Operation::Event)
        )
    }
}
