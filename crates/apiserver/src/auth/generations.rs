//! [`Generations`]: a bounded map that keeps entries in use.

use std::{collections::HashMap, hash::Hash};

/// A map in two generations. When the young one is full it becomes the old one, and entries that are used move back to
/// the young one.
pub(super) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// The maximum number of entries of a generation.
    limit: usize,
}

impl<K: Copy + Eq + Hash, V: Clone> Generations<K, V> {
    /// Creates an empty map with the maximum number of entries of each generation.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            limit,
        }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let value = self.old.remove(key)?;
        self.insert(*key, value.clone());
        Some(value)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.limit {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_use_stay_and_the_number_is_bounded() {
        const LIMIT: usize = 64;
        let mut map = Generations::new(LIMIT);
        map.insert(-1, "used");
        map.insert(-2, "idle");
        for n in 0..5 * LIMIT as i32 {
            map.insert(n, "passing");
            assert_eq!(map.get(&-1), Some("used"));
        }
        assert_eq!(map.get(&-2), None);
        assert!(map.young.len() + map.old.len() <= 2 * LIMIT);
    }
}
