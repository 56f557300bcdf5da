//! [`ExpirationCache`]: values that are forgotten after a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Values that are forgotten some time after they were put there. They go when somebody looks for them.
pub struct ExpirationCache<K, V> {
    lifetime: Duration,
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Hash + Eq + Clone, V: Clone> ExpirationCache<K, V> {
    /// Values live that long; for ever if it is zero.
    pub fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            entries: Mutex::default(),
        }
    }

    /// Puts a value there, and lets its life begin anew.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        let now = Instant::now();
        let old = self.entries.lock().insert(key, (now, value));
        old.filter(|(since, _)| !self.is_over(*since, now))
            .map(|(_, value)| value)
    }

    /// The value, unless its life is over.
    pub fn get(&self, key: &K) -> Option<V> {
        let now = Instant::now();
        let mut entries = self.entries.lock();
        let (since, value) = entries.get(key)?;
        if self.is_over(*since, now) {
            entries.remove(key);
            return None;
        }
        Some(value.clone())
    }

    /// All values whose life is not over.
    pub fn list(&self) -> Vec<V> {
        let now = Instant::now();
        let mut entries = self.entries.lock();
        entries.retain(|_, (since, _)| !self.is_over(*since, now));
        entries.values().map(|(_, value)| value.clone()).collect()
    }

    /// All keys; some may belong to values whose life is over.
    pub fn keys(&self) -> Vec<K> {
        self.entries.lock().keys().cloned().collect()
    }

    /// Forgets a value.
    pub fn remove(&self, key: &K) -> Option<V> {
        self.entries.lock().remove(key).map(|(_, value)| value)
    }

    /// These values and no others, all put there at this moment.
    pub fn replace(&self, values: impl IntoIterator<Item = (K, V)>) {
        let now = Instant::now();
        let entries = values.into_iter().map(|(key, value)| (key, (now, value)));
        *self.entries.lock() = entries.collect();
    }

    fn is_over(&self, since: Instant, now: Instant) -> bool {
        !self.lifetime.is_zero() && now.duration_since(since) > self.lifetime
    }
}
