//! [`DataDir`]: a directory that keeps the objects of a cluster, and the keys that its clients rely on.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use kubewright_apiserver::SharedClock;
use kubewright_kube_apiserver::FIRST_REVISION;
use kubewright_store::COMPACTION_INTERVAL;
use kubewright_store_durable::{Clock, DurableStore, Options, SyncMode};

use crate::{Error, Storage};

/// A directory that keeps a cluster: its objects with their resource versions, its certificate authorities, the key of
/// service account tokens, and the token of the administrator. So clients go on after a restart as if nothing had happened.
///
/// One process uses a directory at a time. All objects must fit into memory.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("kubewright-data-dir-{}", std::process::id()));
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::{Api, api::PostParams};
/// use kubewright_cluster::{Cluster, DataDir, SyncMode};
///
/// let shop: Namespace = serde_json::from_str(r#"{"metadata": {"name": "shop"}}"#).unwrap();
/// // Written, but not synced before it is acknowledged: enough for a program that is killed, not for a power cut.
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
    /// Returns a directory, which is created when the cluster starts unless it exists.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            options: Options {
                first_revision: FIRST_REVISION,
                ..Options::default()
            },
        }
    }

    /// Sets when an acknowledged write is on disk. Defaults to [`SyncMode::Always`]: before it is acknowledged.
    #[must_use]
    pub fn sync(mut self, sync: SyncMode) -> Self {
        self.options.sync = sync;
        self
    }

    /// Keeps the log of changes for a time, beyond what a restart needs: `kubewright store log` shows it, and
    /// `kubewright store restore --at` goes back in it.
    #[must_use]
    pub fn history(mut self, time: Duration) -> Self {
        self.options.history = Some(time);
        self
    }

    /// Accepts network file systems, whose locks and syncs cannot be relied on.
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

    /// Opens the store. Reading a large one takes seconds, so it is done on a thread of its own.
    pub(crate) async fn open(
        mut self,
        clock: SharedClock,
        holder: String,
    ) -> Result<DurableStore, Error> {
        self.options.clock = Clock::new(move || clock.now().into());
        self.options.holder = holder;
        let opened =
            tokio::task::spawn_blocking(move || DurableStore::open(&self.path, self.options));
        // The thread is not cancelled, and a panic in it goes on here.
        match opened.await {
            Ok(opened) => Ok(opened?),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for DataDir {
    fn from(path: P) -> Self {
        Self::new(path)
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

/// An open store that is closed when this is dropped, so that its directory is free for others at once.
pub(crate) struct OpenStore(pub(crate) DurableStore);

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.0.close();
    }
}
