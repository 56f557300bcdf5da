//! [`DataDir`]: a directory with the objects of a cluster and the keys of its clients.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use kubewright_apiserver::{ApiServer, SharedClock};
use kubewright_kube_apiserver::FIRST_REVISION;
use kubewright_store::COMPACTION_INTERVAL;
use kubewright_store_durable::{Clock, DurableStore, Options, SyncMode};

use crate::{ClusterBuilder, Error, Storage, builder::Opened, kept_keys::KeptKeys};

/// A directory that persists a cluster: its objects with their resource versions, its certificate authorities, the key of
/// service-account tokens, and the token of the administrator. Clients keep working after a restart.
///
/// Only one process can use a directory at a time. All objects must fit into memory.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("kubewright-data-dir-{}", std::process::id()));
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::{Api, api::PostParams};
/// use kubewright_cluster::{Cluster, DataDir, SyncMode};
///
/// let shop: Namespace = serde_json::from_str(r#"{"metadata": {"name": "shop"}}"#).unwrap();
/// // Acknowledged writes survive the end of the process, but not a power failure.
/// let data = DataDir::new(&directory).sync(SyncMode::Process);
/// let cluster = Cluster::builder().data_dir(data).start().await?;
/// Api::all(cluster.client()).create(&PostParams::default(), &shop).await.unwrap();
/// cluster.stop().await?;
///
/// let cluster = Cluster::builder().data_dir(&directory).start().await?;
/// let namespaces: Api<Namespace> = Api::all(cluster.client());
/// assert!(namespaces.get_opt("shop").await.unwrap().is_some());
/// # cluster.stop().await?;
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// # std::fs::remove_dir_all(&directory).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    options: Options,
}

impl DataDir {
    /// Returns a data directory. It is created when the cluster starts if it does not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            options: Options {
                first_revision: FIRST_REVISION,
                ..Options::default()
            },
        }
    }

    /// Sets when an acknowledged write is on disk (default: [`SyncMode::Always`], before it is acknowledged).
    #[must_use]
    pub fn sync(mut self, sync: SyncMode) -> Self {
        self.options.sync = sync;
        self
    }

    /// Keeps the log of changes for a time, beyond what a restart needs, for `kubewright store log` and
    /// `kubewright store restore --at`.
    #[must_use]
    pub fn history(mut self, time: Duration) -> Self {
        self.options.history = Some(time);
        self
    }

    /// Allows network file systems, whose locks and syncs are unreliable.
    #[must_use]
    pub fn allow_network_file_systems(mut self) -> Self {
        self.options.allow_network_file_systems = true;
        self
    }

    /// Adds a latency to every sync, for measurements.
    #[must_use]
    pub fn added_sync_latency(mut self, latency: Duration) -> Self {
        self.options.added_sync_latency = Some(latency);
        self
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the store and the keys on a blocking thread, since reading a large store takes seconds.
    pub(crate) async fn open(
        mut self,
        clock: SharedClock,
        holder: String,
    ) -> Result<Opened, Error> {
        self.options.clock = Clock::new(move || clock.now().into());
        self.options.holder = holder;
        let path = self.path.clone();
        let opened =
            tokio::task::spawn_blocking(move || DurableStore::open(&self.path, self.options));
        // The thread cannot be cancelled. A panic is propagated.
        let store = match opened.await {
            Ok(opened) => opened?,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        };
        Ok(Opened {
            kept: Some(KeptKeys::of(&path)?),
            durable: Some(OpenStore(store.clone())),
            storage: store.into(),
        })
    }
}

impl<P: Into<PathBuf>> From<P> for DataDir {
    fn from(path: P) -> Self {
        Self::new(path)
    }
}

impl ClusterBuilder {
    /// Keeps the cluster in a directory: its objects, and those of its certificate authorities, service-account keys and
    /// administrator's token that are not set explicitly. See [`DataDir`]. Replaces [`store`](Self::store).
    pub fn data_dir(mut self, directory: impl Into<DataDir>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }
}

impl From<DurableStore> for Storage {
    fn from(store: DurableStore) -> Self {
        let maintained = store.clone();
        Self::new(std::sync::Arc::new(store)).maintenance(async move {
            let expiry = maintained.run_maintenance();
            let compaction = maintained.run_compaction(COMPACTION_INTERVAL);
            tokio::join!(expiry, compaction);
        })
    }
}

/// An open store. Dropping it closes the store, and releases its directory.
pub(crate) struct OpenStore(pub(crate) DurableStore);

impl OpenStore {
    /// Adds the metrics of the store to those of a server.
    pub(crate) fn report_to(&self, server: &ApiServer) {
        let store = self.0.clone();
        let collect = move |out: &mut _| store.write_metrics(out);
        server.metrics().collect_with(collect);
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.0.close();
    }
}
