//! [`Verified`]: the caches that are known to show what the server holds, so that [`settled`](super::Manager::settled) need
//! not list their kinds again.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use kube::core::ApiResource;
use kubewright_informer::{Indexer, SharedInformer};
use parking_lot::Mutex;

/// Counts the changes of a resource on the server.
pub type ChangeCounter = Arc<dyn Fn(&ApiResource) -> u64 + Send + Sync>;

/// The caches that are known to be current. Without a counter of changes, none is.
#[derive(Default)]
pub(crate) struct Verified {
    counter: Mutex<Option<ChangeCounter>>,
    /// The number of changes that a cache showed, by the address of its indexer.
    shown: Mutex<HashMap<usize, (Weak<Indexer>, u64)>>,
}

impl Verified {
    pub(super) fn set_counter(&self, counter: ChangeCounter) {
        *self.counter.lock() = Some(counter);
        self.shown.lock().clear();
    }

    /// Returns the number of changes of a cache's resource, if it is known.
    pub(super) fn changes(&self, cache: &SharedInformer<()>) -> Option<u64> {
        let counter = self.counter.lock().clone()?;
        Some(counter(cache.resource()))
    }

    /// Reports whether a cache is known to show all of that many changes.
    pub(super) fn shows(&self, cache: &SharedInformer<()>, changes: Option<u64>) -> bool {
        let shown = self.shown.lock();
        shown
            .get(&address(cache))
            .is_some_and(|(indexer, shown)| indexer.strong_count() > 0 && Some(*shown) == changes)
    }

    /// Notes that a cache shows all of that many changes.
    pub(super) fn note(&self, cache: &SharedInformer<()>, changes: Option<u64>) {
        if let Some(changes) = changes {
            let indexer = Arc::downgrade(cache.indexer());
            self.shown.lock().insert(address(cache), (indexer, changes));
        }
    }
}

/// Returns the address of the cache's indexer. Another one may have it once the first is gone.
fn address(cache: &SharedInformer<()>) -> usize {
    Arc::as_ptr(cache.indexer()) as usize
}
