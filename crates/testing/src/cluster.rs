//! [`TestCluster`]: a control plane in this process, and a client for it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::clock::{Clock, SystemClock};
use kubewright_controlplane::{ControlPlane, plane::FIRST};
use kubewright_store::{MemoryStore, Revision, Store};
use parking_lot::Mutex;

use crate::{
    endpoint::Endpoint,
    faults::{Faults, FaultyServer},
};

/// A cluster in this process. Any number may run at once; they share nothing. Dropped, it is gone.
pub struct TestCluster {
    plane: ControlPlane,
    store: MemoryStore,
    faults: Faults,
    clock: TestClock,
}

/// The cluster's clock: the machine's, moved by as much as a test wants.
#[derive(Clone, Default)]
pub struct TestClock(Arc<Mutex<SignedDuration>>);

impl TestClock {
    /// Moves the clock forward.
    pub fn advance(&self, by: std::time::Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        let mut offset = self.0.lock();
        *offset = offset.saturating_add(by);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let now = SystemClock.now();
        now.checked_add(*self.0.lock()).unwrap_or(now)
    }
}

impl TestCluster {
    /// Starts an empty cluster: the initial namespaces and nothing else.
    pub async fn start() -> Self {
        Self::on(MemoryStore::starting_at(FIRST), TestClock::default()).await
    }

    async fn on(store: MemoryStore, clock: TestClock) -> Self {
        let plane = ControlPlane::builder()
            .store(Arc::new(store.clone()))
            .clock(Arc::new(clock.clone()))
            .build()
            .await
            .expect("a control plane in memory starts");
        Self {
            plane,
            store,
            faults: Faults::default(),
            clock,
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
        Self::on(self.store.fork(), self.clock.clone()).await
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

    /// The control plane itself.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Serves the cluster over TLS on a loopback port of the system's choice, for clients that need a socket.
    pub async fn listen(&self) -> std::io::Result<Endpoint> {
        Endpoint::start(self.service()).await
    }
}
