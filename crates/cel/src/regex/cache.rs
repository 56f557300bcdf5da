//! The patterns that were compiled lately.
//!
//! The same pattern occurs in many schemas and rules. It is checked when a schema is written, needed when its first
//! object is, and may be part of the data that a rule reads; it is compiled once.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use super::Regex;

/// The total weight of the patterns that are kept, see [`weight`](super::weight). Compiled, they take some 20 MiB.
const MAX_WEIGHT: usize = 200_000;

/// The patterns by their text.
#[derive(Default)]
struct Cache {
    patterns: HashMap<Box<str>, Regex>,
    weight: usize,
}

fn cache() -> MutexGuard<'static, Cache> {
    static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a pattern that is in the cache.
pub(super) fn get(pattern: &str) -> Option<Regex> {
    cache().patterns.get(pattern).cloned()
}

/// Adds a pattern. When the cache is full, it is emptied; patterns in use stay alive.
pub(super) fn put(pattern: &str, weight: usize, regex: &Regex) {
    // An entry has a cost besides its states.
    let weight = weight.saturating_add(pattern.len()).saturating_add(100);
    if weight > MAX_WEIGHT / 4 {
        return;
    }
    let mut cache = cache();
    cache.weight += weight;
    if cache.weight > MAX_WEIGHT {
        cache.patterns.clear();
        cache.weight = weight;
    }
    cache.patterns.insert(pattern.into(), regex.clone());
}
