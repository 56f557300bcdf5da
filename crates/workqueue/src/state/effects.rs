//! Work that follows from an operation and has to wait until the lock is released.

use std::task::Waker;

/// Work to do once the lock is released. Dropping it drops keys, whose `Drop` is user code.
#[derive(Debug)]
pub(crate) struct Effects<K> {
    wake: Option<Waker>,
    wake_more: Vec<Waker>,
    /// A key that is no longer needed.
    pub(super) unneeded: Option<K>,
    /// Keys that were forgotten: rarely, and many at once.
    pub(super) forgotten: Vec<K>,
    /// Keys that became dirty.
    pub(crate) adds: u32,
}

impl<K> Effects<K> {
    #[inline]
    pub(crate) fn none() -> Self {
        Self {
            wake: None,
            wake_more: Vec::new(),
            unneeded: None,
            forgotten: Vec::new(),
            adds: 0,
        }
    }

    /// Wakes the waiters. The lock must not be held.
    #[inline]
    pub(crate) fn apply(self) {
        if let Some(waker) = self.wake {
            waker.wake();
        }
        if !self.wake_more.is_empty() {
            wake_all(self.wake_more);
        }
    }

    pub(super) fn wake(&mut self, waker: Waker) {
        match self.wake {
            None => self.wake = Some(waker),
            Some(_) => self.wake_more.push(waker),
        }
    }
}

#[cold]
fn wake_all(wakers: Vec<Waker>) {
    for waker in wakers {
        waker.wake();
    }
}
