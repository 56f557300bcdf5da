//! Wakes the maintenance thread.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Wakes the maintenance thread.
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

    /// Wakes the thread to make it exit.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Returns whether the thread should exit.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Waits until the thread is woken, or for at most `most`. Returns whether it should exit.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.rung && !state.stopped {
            self.changed.wait_for(&mut state, most);
        }
        state.rung = false;
        state.stopped
    }
}
