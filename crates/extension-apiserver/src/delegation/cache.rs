//! [`Cache`]: a bounded cache whose entries expire.

use std::{collections::HashMap, hash::Hash, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// The maximum number of entries.
const CAPACITY: usize = 4096;

/// A bounded cache whose entries expire.
pub(super) struct Cache<K, V> {
    lifetime: Duration,
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            entries: Mutex::default(),
        }
    }

    /// Returns an entry that has not expired.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock();
        let (until, value) = entries.get(key)?;
        (Instant::now() < *until).then(|| value.clone())
    }

    /// Adds an entry. If the cache is full, removes expired entries, or all entries if none has expired.
    pub(super) fn insert(&self, key: K, value: V) {
        let now = Instant::now();
        let mut entries = self.entries.lock();
        if entries.len() >= CAPACITY {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= CAPACITY {
            entries.clear();
        }
        entries.insert(key, (now + self.lifetime, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_expire_and_are_bounded() {
        let cache = Cache::new(Duration::from_secs(10));
        cache.insert(0, "a");
        assert_eq!(cache.get(&0), Some("a"));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(cache.get(&0), None);
        for i in 0..=CAPACITY {
            cache.insert(i, "b");
        }
        assert!(cache.entries.lock().len() <= CAPACITY);
        assert_eq!(cache.get(&CAPACITY), Some("b"));
    }
}
