//! Waking the thread of maintenance.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// A bell for the thread of maintenance.
#[derive(Default)]
pub(crate) struct Alarm {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    rung: bool,
    stopped: bool,
}

impl Alarm {
    /// Wakes the thread.
    pub(crate) fn ring(&self) {
        self.state.lock().rung = true;
        self.changed.notify_all();
    }

    /// Wakes the thread for the last time.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Returns whether the thread is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Waits for at most a time. Returns whether the thread is to end.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.rung && !state.stopped {
            self.changed.wait_for(&mut state, most);
        }
        state.rung = false;
        state.stopped
    }
}
