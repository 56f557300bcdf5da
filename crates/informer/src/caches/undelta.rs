//! [`UndeltaStore`]: tells somebody everything there is, after every change.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// A map that calls a function with all its values after every change. Reading calls nothing.
pub struct UndeltaStore<K, V> {
    entries: Mutex<BTreeMap<K, V>>,
    push: Box<dyn Fn(Vec<V>) + Send + Sync>,
}

impl<K: Ord, V: Clone> UndeltaStore<K, V> {
    /// An empty one.
    pub fn new(push: impl Fn(Vec<V>) + Send + Sync + 'static) -> Self {
        Self {
            entries: Mutex::default(),
            push: Box::new(push),
        }
    }

    /// Puts a value there, and tells.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.change(|entries| entries.insert(key, value))
    }

    /// Removes a value, and tells.
    pub fn remove(&self, key: &K) -> Option<V> {
        self.change(|entries| entries.remove(key))
    }

    /// These values and no others, and tells.
    pub fn replace(&self, values: impl IntoIterator<Item = (K, V)>) {
        self.change(|entries| *entries = values.into_iter().collect());
    }

    /// A value.
    pub fn get(&self, key: &K) -> Option<V> {
        self.entries.lock().get(key).cloned()
    }

    /// All values, by key.
    pub fn list(&self) -> Vec<V> {
        self.entries.lock().values().cloned().collect()
    }

    /// Tells under the lock, so that what is told is in order.
    fn change<R>(&self, change: impl FnOnce(&mut BTreeMap<K, V>) -> R) -> R {
        let mut entries = self.entries.lock();
        let result = change(&mut entries);
        (self.push)(entries.values().cloned().collect());
        result
    }
}
