//! The bounds of a queue's keys.

use std::hash::Hash;

/// A key of a queue: any type that can be hashed, compared, cloned and sent to another thread. Implemented for every
/// such type.
///
/// ```
/// use kubewright_workqueue::{Key, WorkQueue};
///
/// fn take<K: Key>(queue: &WorkQueue<K>) -> Option<K> {
///     let item = queue.try_get().ok()?;
///     Some(item.key().clone())
/// }
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Room(u32);
///
/// let queue = WorkQueue::new();
/// queue.add(Room(7));
/// queue.add(Room(7));
/// assert_eq!(take(&queue), Some(Room(7)));
/// assert_eq!(take(&queue), None);
/// ```
pub trait Key: Hash + Eq + Clone + Send + 'static {}

impl<K: Hash + Eq + Clone + Send + 'static> Key for K {}
