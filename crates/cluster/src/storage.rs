//! [`Storage`]: a store and its maintenance.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use kubewright_store::{COMPACTION_INTERVAL, MemoryStore, Store};

/// A store with its maintenance: the background work that expires objects and compacts history.
///
/// A [`MemoryStore`] converts into one with maintenance. Use [`Storage::new`] for other stores.
///
/// ```
/// use kubewright_cluster::{Cluster, Storage};
/// use kubewright_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// let builder = Cluster::builder().store(store.clone());
/// # let _ = (builder, Storage::from(store));
/// ```
pub struct Storage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) maintenance: Option<Maintenance>,
    pub(crate) is_shared: bool,
}

pub(crate) type Maintenance = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Storage {
    /// Wraps a store that needs no maintenance, or performs its own.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            maintenance: None,
            is_shared: false,
        }
    }

    /// Declares that other servers write to the store.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Sets the maintenance, which runs as long as the cluster.
    #[must_use]
    pub fn maintenance(mut self, maintenance: impl Future<Output = ()> + Send + 'static) -> Self {
        self.maintenance = Some(Box::pin(maintenance));
        self
    }
}

impl From<MemoryStore> for Storage {
    fn from(store: MemoryStore) -> Self {
        let maintained = store.clone();
        Self::new(Arc::new(store)).maintenance(async move {
            let expiry = maintained.run_maintenance();
            let compaction = maintained.run_compaction(COMPACTION_INTERVAL);
            tokio::join!(expiry, compaction);
        })
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let maintained = self.maintenance.is_some();
        f.debug_struct("Storage")
            .field("maintained", &maintained)
            .finish_non_exhaustive()
    }
}
