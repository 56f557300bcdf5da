//! [`Lab`]: experiments on a running cluster: faults, its clock, and forks.

mod clock;

use std::sync::{Arc, OnceLock};

use kubewright_builtin_controllers::Controllers;
use kubewright_kube_apiserver::ServiceAccountKeys;
use kubewright_ledger::Ledger;
use kubewright_store::{MemoryStore, Revision};

use crate::{Cluster, ClusterBuilder, Error, Faults};
pub use clock::LabClock;

/// Experiments on a cluster of this process: faults between clients and the server, its clock, and forks. Clones share them.
///
/// Pass it to [`ClusterBuilder::lab`]. [`Cluster::direct_client`] returns a client that faults do not affect.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::Api;
/// use kubewright_cluster::{Cluster, Lab};
///
/// let lab = Lab::new();
/// let cluster = Cluster::builder().lab(lab.clone()).start().await?;
/// let namespaces: Api<Namespace> = Api::all(cluster.client());
/// lab.faults().go_down();
/// assert!(namespaces.get("default").await.is_err());
/// lab.faults().come_back();
///
/// // A fork has the same objects, and changes nothing in the cluster.
/// let fork = lab.fork().await?.expect("the objects are in memory");
/// let copies: Api<Namespace> = Api::all(fork.client());
/// assert!(copies.get("default").await.is_ok());
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Lab(Arc<Shared>);

#[derive(Default)]
struct Shared {
    faults: Faults,
    clock: LabClock,
    subject: OnceLock<Subject>,
}

/// The parts of the cluster that a fork begins with.
pub(crate) struct Subject {
    pub(crate) store: MemoryStore,
    pub(crate) keys: ServiceAccountKeys,
}

impl Lab {
    /// Creates a lab for one cluster.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the faults between clients and the server.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Returns the clock of the cluster.
    pub fn clock(&self) -> &LabClock {
        &self.0.clock
    }

    /// Reports whether the cluster can be forked and compacted: its objects are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.0.subject.get().is_some()
    }

    /// Drops the history, so that watches and lists from earlier revisions fail with 410. Returns the oldest revision that can
    /// still be read; `None` if the objects are not in memory.
    pub fn compact_now(&self) -> Option<u64> {
        let Revision(revision) = self.0.subject.get()?.store.compact_now();
        Some(revision)
    }

    /// Starts a cluster with the current objects, at the same revision; `None` if the objects are not in memory. It has the
    /// clock of this cluster and the default controllers, but no nodes.
    ///
    /// # Errors
    ///
    /// Fails if the fork cannot be started.
    pub async fn fork(&self) -> Result<Option<Cluster>, Error> {
        let Some(subject) = self.0.subject.get() else {
            return Ok(None);
        };
        let forked = Cluster::builder()
            .name("kubewright-fork")
            .store(subject.store.fork())
            .service_account_keys(subject.keys.clone())
            .clock(Arc::new(self.0.clock.clone()))
            .controllers(Controllers::default())
            .ledger(Ledger::new())
            .start();
        Box::pin(forked).await.map(Some)
    }

    /// Sets the cluster whose objects are forked.
    pub(crate) fn examine(&self, subject: Subject) {
        // A lab is for one cluster.
        let _ = self.0.subject.set(subject);
    }
}

impl ClusterBuilder {
    /// Makes the cluster the subject of experiments. It then has the clock of the lab.
    pub fn lab(mut self, lab: Lab) -> Self {
        let clock = lab.clock().clone();
        self.lab = Some(lab);
        self.clock(Arc::new(clock))
    }
}
