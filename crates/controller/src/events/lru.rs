//! A map that forgets its least recently used entries.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

pub(super) struct Lru<K, V> {
    capacity: usize,
    entries: HashMap<K, (u64, V)>,
    /// By last use.
    ages: BTreeMap<u64, K>,
    now: u64,
}

impl<K: Hash + Eq + Clone, V> Lru<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: HashMap::new(),
            ages: BTreeMap::new(),
            now: 0,
        }
    }

    /// Returns the value, creating it if necessary, and marks it as used.
    pub(super) fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.now += 1;
        if let Some((age, _)) = self.entries.get(key) {
            self.ages.remove(age);
        } else if self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.ages.insert(self.now, key.clone());
        let entry = self
            .entries
            .entry(key.clone())
            .or_insert_with(|| (0, make()));
        entry.0 = self.now;
        &mut entry.1
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, key: &K) {
        if let Some((age, _)) = self.entries.remove(key) {
            self.ages.remove(&age);
        }
    }

    /// Keeps the entries for which the closure returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        let ages = &mut self.ages;
        self.entries.retain(|_, (age, value)| {
            let kept = keep(value);
            if !kept {
                ages.remove(age);
            }
            kept
        });
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut lru = Lru::new(2);
        *lru.get_or_insert_with(&"a", || 1) += 1;
        lru.get_or_insert_with(&"b", || 1);
        lru.get_or_insert_with(&"a", || 9);
        lru.get_or_insert_with(&"c", || 1);
        assert_eq!(lru.len(), 2);
        assert_eq!(*lru.get_or_insert_with(&"a", || 9), 2);
        assert_eq!(*lru.get_or_insert_with(&"b", || 7), 7);
        lru.retain(|value| *value != 7);
        assert_eq!(lru.values().copied().collect::<Vec<_>>(), [2]);
        lru.get_or_insert_with(&"d", || 1);
        assert_eq!(lru.len(), 2);
    }
}
