//! [`Progress`]: the progress of a run, read from another thread if the run hangs.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct Progress {
    writes: AtomicUsize,
    starts: AtomicUsize,
    doing: Mutex<&'static str>,
}

impl Progress {
    pub(super) fn is(&self, doing: &'static str) {
        *self.doing.lock() = doing;
    }

    /// Records a write of the program.
    pub(super) fn writes(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a start of the program.
    pub(super) fn starts(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = self.writes.load(Ordering::Relaxed);
        let starts = self.starts.load(Ordering::Relaxed);
        let doing = *self.doing.lock();
        write!(f, "{doing}; {writes} writes, started {starts} times")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_describes_the_run() {
        let progress = Progress::default();
        progress.starts();
        progress.writes();
        progress.writes();
        progress.is("playing the story");
        let said = progress.to_string();
        assert_eq!(said, "playing the story; 2 writes, started 1 times");
    }
}
