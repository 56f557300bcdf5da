//! What follows from an operation and has to wait until the lock is released.

use std::task::Waker;

/// What is to be done once the lock is released.
#[derive(Debug)]
pub(crate) struct Effects<K> {
    wake: Option<Waker>,
    pub(super) wake_more: Vec<Waker>,
    /// A key that is no longer needed. Its `Drop` is the user's.
    pub(super) unneeded: Option<K>,
    /// Keys that became dirty.
    pub(crate) adds: u32,
}

impl<K> Effects<K> {
    pub(crate) fn none() -> Self {
        Self {
            wake: None,
            wake_more: Vec::new(),
            unneeded: None,
            adds: 0,
        }
    }

    /// Wakes those to be woken. The lock must not be held.
    #[inline]
    pub(crate) fn apply(&mut self) {
        if let Some(waker) = self.wake.take() {
            waker.wake();
        }
        for waker in self.wake_more.drain(..) {
            waker.wake();
        }
    }

    pub(super) fn wake(&mut self, waker: Waker) {
        match self.wake {
            None => self.wake = Some(waker),
            Some(_) => self.wake_more.push(waker),
        }
    }
}
