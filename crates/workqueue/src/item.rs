//! A key that a worker has: [`Item`], and [`OwnedItem`] for tasks that outlive the worker's hold of the queue.

use std::{fmt, mem, ops::Deref};

use crate::{Key, queue::Shared, state::Taken, sync::Arc};

/// A key to work on. Nobody else gets the same key until this is dropped, also by a panic.
pub struct Item<'a, K: Key> {
    key: K,
    priority: i32,
    held: Held<'a, K>,
}

/// An [`Item`] that holds on to the queue itself, to be sent to a task of its own.
pub struct OwnedItem<K: Key> {
    key: K,
    priority: i32,
    _held: OwnedHeld<K>,
}

/// Hands the key back when it is dropped.
struct Held<'a, K: Key> {
    shared: &'a Arc<Shared<K>>,
    slot: u32,
}

/// The same, by itself.
struct OwnedHeld<K: Key> {
    shared: Arc<Shared<K>>,
    slot: u32,
}

impl<'a, K: Key> Item<'a, K> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The priority it was queued with; to add it again with the same.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The work is done; the same as dropping it.
    pub fn done(self) {}

    /// The same item, without the borrow.
    pub fn into_owned(self) -> OwnedItem<K> {
        let Self {
            key,
            priority,
            held,
        } = self;
        let owned = OwnedHeld {
            shared: Arc::clone(held.shared),
            slot: held.slot,
        };
        // The other hands it back from now on.
        mem::forget(held);
        OwnedItem {
            key,
            priority,
            _held: owned,
        }
    }

    #[inline]
    pub(crate) fn new(shared: &'a Arc<Shared<K>>, taken: Taken<K>) -> Self {
        Self {
            key: taken.key,
            priority: taken.priority,
            held: Held {
                shared,
                slot: taken.slot,
            },
        }
    }
}

impl<K: Key> OwnedItem<K> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The priority it was queued with; to add it again with the same.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The work is done; the same as dropping it.
    pub fn done(self) {}
}

impl<K: Key> Deref for Item<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Key> Deref for OwnedItem<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Key> Drop for Held<'_, K> {
    #[inline]
    fn drop(&mut self) {
        self.shared.done(self.slot);
    }
}

impl<K: Key> Drop for OwnedHeld<K> {
    fn drop(&mut self) {
        self.shared.done(self.slot);
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for Item<'_, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Item")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for OwnedItem<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OwnedItem")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
