//! A key in the hands of a worker: [`Item`], and [`OwnedItem`] for tasks that outlive the borrow of the queue.

use std::{fmt, mem, ops::Deref};

use crate::{Key, queue::Shared, state::Taken, sync::Arc};

/// A key to process. No other worker gets the same key until this is dropped, whether normally or by a panic.
///
/// ```
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add("shop/web");
/// let item = queue.try_get().unwrap();
/// assert_eq!(*item.key(), "shop/web");
/// // Added again while it is being processed: it is queued once the item is done.
/// queue.add("shop/web");
/// assert!(queue.is_empty());
/// item.done();
/// assert_eq!(queue.len(), 1);
/// ```
pub struct Item<'a, K: Key> {
    key: K,
    priority: i32,
    held: Held<'a, K>,
}

/// An [`Item`] that owns a handle to the queue, so that it can be sent to another task.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add("shop/web");
/// let item = queue.get().await.unwrap().into_owned();
/// assert_eq!(queue.status().processing, 1);
/// // The key is finished when the task drops the item.
/// let task = tokio::spawn(async move { item.key().len() });
/// assert_eq!(task.await.unwrap(), 8);
/// assert!(queue.status().is_idle());
/// # });
/// ```
pub struct OwnedItem<K: Key> {
    key: K,
    priority: i32,
    _held: OwnedHeld<K>,
}

/// Returns the key to the queue when it is dropped.
struct Held<'a, K: Key> {
    shared: &'a Arc<Shared<K>>,
    slot: u32,
}

/// The owned form of [`Held`].
struct OwnedHeld<K: Key> {
    shared: Arc<Shared<K>>,
    slot: u32,
}

impl<'a, K: Key> Item<'a, K> {
    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the priority that the key was queued with.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Finishes the key; the same as dropping the item.
    pub fn done(self) {}

    /// Converts the item into one that does not borrow the queue.
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
        // The owned form returns the key from now on.
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
    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the priority that the key was queued with.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Finishes the key; the same as dropping the item.
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
