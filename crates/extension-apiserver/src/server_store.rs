//! [`ServerStore`]: the store of a server's kinds, and its maintenance.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use futures_util::future;
use kubewright_store::{MemoryStore, Store};

/// The interval of compaction, which is that of kube-apiserver.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(300);

/// The store of a server's kinds, and its maintenance: expiring objects and dropping history.
///
/// ```
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Comet")]
/// # pub struct CometSpec { years: u32 }
/// # extern crate kubewright_resource as kubewright;
/// use kubewright_extension_apiserver::{ExtensionServer, Kind, ServerStore};
///
/// let store = ServerStore::memory();
/// let comets = Kind::<Comet>::stored_by_server();
/// let server = ExtensionServer::builder().default_store(store.store()).kind(comets).build()?;
/// // tokio::spawn(store.maintain());
/// # let _ = server;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it has to be maintained"]
pub struct ServerStore {
    store: Arc<dyn Store>,
    maintenance: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A store that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    /// The program was built without the feature.
    #[error("{wanted} needs the feature `{feature}` of kubewright-extension-apiserver")]
    NotBuilt {
        /// The feature.
        feature: &'static str,
        /// The store that was asked for.
        wanted: String,
    },
    /// The directory cannot be used.
    #[cfg(feature = "durable")]
    #[error(transparent)]
    Directory(#[from] kubewright_store_durable::OpenError),
    /// etcd cannot be used.
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] kubewright_store_etcd::OpenError),
}

impl ServerStore {
    /// Returns an empty store in memory.
    pub fn memory() -> Self {
        let store = MemoryStore::new();
        let maintained = store.clone();
        Self {
            store: Arc::new(store),
            maintenance: Box::pin(async move {
                let expiry = maintained.run_maintenance();
                let compaction = maintained.run_compaction(COMPACTION_INTERVAL);
                future::join(expiry, compaction).await;
            }),
        }
    }

    /// Opens the store in a directory, which only one program at a time can use.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be used, or if its files are damaged.
    #[cfg(feature = "durable")]
    pub async fn directory(path: impl Into<std::path::PathBuf>) -> Result<Self, OpenStoreError> {
        use kubewright_store_durable::{DurableStore, Options};
        let path = path.into();
        let opened =
            tokio::task::spawn_blocking(move || DurableStore::open(path, Options::default()));
        // The thread cannot be cancelled. A panic is propagated.
        let store = match opened.await {
            Ok(opened) => opened?,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        };
        let maintained = store.clone();
        Ok(Self {
            store: Arc::new(store),
            maintenance: Box::pin(async move {
                let expiry = maintained.run_maintenance();
                let compaction = maintained.run_compaction(COMPACTION_INTERVAL);
                future::join(expiry, compaction).await;
            }),
        })
    }

    /// Opens the store in etcd, which replicas can share. The keys and values are those of custom resources.
    ///
    /// # Errors
    ///
    /// Fails if etcd cannot be reached or used.
    #[cfg(feature = "etcd")]
    pub async fn etcd(options: &kubewright_store_etcd::Options) -> Result<Self, OpenStoreError> {
        let layout = Arc::new(kubewright_apiserver::registry::JsonLayout);
        let store = kubewright_store_etcd::EtcdStore::connect(options, layout).await?;
        Ok(Self {
            store: Arc::new(store),
            // The store maintains itself.
            maintenance: Box::pin(future::pending()),
        })
    }

    /// Returns the store.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Maintains the store. Never returns.
    pub async fn maintain(self) {
        self.maintenance.await;
    }
}
