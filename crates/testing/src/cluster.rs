//! [`TestCluster`]: a control plane in this process, and a client for it.

use std::sync::Arc;

use kubewright_kube_apiserver::{FIRST_REVISION, KubeApiServer, crds::in_process::Conversions};
use kubewright_store::{MemoryStore, Revision, Store};
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    faults::{Faults, FaultyServer},
    managers::Attached,
    time::{TestClock, Time},
};

/// A cluster in this process. Any number may run at once; they share nothing. Dropped, it is gone.
pub struct TestCluster {
    plane: KubeApiServer,
    store: MemoryStore,
    faults: Faults,
    clock: TestClock,
    conversions: Conversions,
    pub(crate) managers: Attached,
}

impl TestCluster {
    /// Starts an empty cluster: the initial namespaces and nothing else.
    pub async fn start() -> Self {
        let store = MemoryStore::starting_at(FIRST_REVISION);
        Self::on(store, TestClock::default(), Conversions::default()).await
    }

    async fn on(store: MemoryStore, clock: TestClock, conversions: Conversions) -> Self {
        let plane = KubeApiServer::builder()
            .store(Arc::new(store.clone()))
            .clock(Arc::new(clock.clone()))
            .conversions(conversions.clone())
            .build()
            .await
            .expect("a control plane in memory starts");
        Self {
            plane,
            store,
            faults: Faults::default(),
            clock,
            conversions,
            managers: Attached::default(),
        }
    }

    /// A client that calls the server without a socket. Its default namespace is `default`.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// The server with its faults, as a `tower::Service`.
    pub fn service(&self) -> FaultyServer {
        FaultyServer::new(self.plane.server().clone(), self.faults.clone())
    }

    /// Another cluster that begins with the same objects, at the same revision. Costs the same however many there are.
    pub async fn fork(&self) -> Self {
        let (clock, conversions) = (self.clock.clone(), self.conversions.clone());
        Self::on(self.store.fork(), clock, conversions).await
    }

    /// Objects of a definition (`captains.crew.example.com`) are converted from version to version by this function, whatever
    /// the definition says: it is given an object and the `apiVersion` that it is to have.
    pub fn convert(
        &self,
        definition: impl Into<String>,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.conversions.set(definition, convert);
    }

    /// Forgets history: watches and lists from earlier revisions answer 410 from now on.
    pub async fn compact_now(&self) {
        self.store.compact_now();
    }

    /// The newest revision.
    pub async fn revision(&self) -> u64 {
        self.store.current().await.unwrap_or(Revision(0)).0
    }

    /// What goes wrong, on purpose.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The cluster's clock.
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// Time as tests want it. See [`Time`].
    pub fn time(&self) -> Time<'_> {
        Time::new(self)
    }

    /// The API server of the cluster.
    pub fn api_server(&self) -> &KubeApiServer {
        &self.plane
    }

    /// Serves the cluster over TLS on a loopback port of the system's choice, for clients that need a socket.
    pub async fn listen(&self) -> std::io::Result<Endpoint> {
        Endpoint::start(self.service()).await
    }
}
