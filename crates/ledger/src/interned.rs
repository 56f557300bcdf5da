//! [`Interned`]: deduplicated values.

use std::{hash::Hash, sync::Arc};

use hashbrown::{Equivalent, HashSet};
use parking_lot::Mutex;

/// The maximum number of distinct values, after which the set is emptied. Values in use are not affected.
const MAX_VALUES: usize = 4096;

/// Deduplicated values.
#[derive(Debug)]
pub(crate) struct Interned<T>(Mutex<HashSet<Arc<T>>>);

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Hash + Eq> Interned<T> {
    /// Returns the stored value that equals `key`, or stores a new one.
    pub(crate) fn get<Q>(&self, key: &Q, new: impl FnOnce() -> T) -> Arc<T>
    where
        Q: Hash + Equivalent<Arc<T>>,
    {
        let mut values = self.0.lock();
        if let Some(known) = values.get(key) {
            return known.clone();
        }
        if values.len() >= MAX_VALUES {
            values.clear();
        }
        let value = Arc::new(new());
        values.insert(value.clone());
        value
    }
}
