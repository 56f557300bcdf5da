//! A client with a connection of its own to break, and a Lease to look at.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{Api, Client};
use kubewright_controller::leader_election::{ElectionConfig, LeaderElector, LeaderToken, Outcome};
use kubewright_testing::{Faults, FaultyServer, TestCluster};
use tokio::{sync::oneshot, task::JoinHandle};

/// A client, and the faults that strike it alone.
pub(crate) fn link(cluster: &TestCluster) -> (Client, Faults) {
    let faults = Faults::default();
    let server = cluster.api_server().server().clone();
    let service = FaultyServer::new(server, faults.clone());
    (Client::new(service, "default"), faults)
}

pub(crate) fn config(identity: &str) -> ElectionConfig {
    ElectionConfig::new("shop", "default").identity(identity)
}

pub(crate) fn elector(client: Client, identity: &str) -> LeaderElector {
    LeaderElector::new(client, config(identity)).unwrap()
}

pub(crate) fn leases(cluster: &TestCluster) -> Api<Lease> {
    Api::default_namespaced(cluster.client())
}

pub(crate) async fn spec(cluster: &TestCluster) -> LeaseSpec {
    let lease = leases(cluster).get("shop").await.unwrap();
    lease.spec.unwrap()
}

/// A candidate in a task of its own that leads until it is asked to stop.
pub(crate) struct Candidate {
    pub(crate) task: JoinHandle<Outcome<()>>,
    pub(crate) leading: oneshot::Receiver<LeaderToken>,
    stop: oneshot::Sender<()>,
}

impl Candidate {
    /// `wind_down`: how long the work takes to end once it is asked to.
    pub(crate) fn start(elector: LeaderElector, wind_down: Duration) -> Self {
        let (tell, leading) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(elector.run(shutdown, move |token| async move {
            let _ = tell.send(token.clone());
            token.stopping().await;
            tokio::time::sleep(wind_down).await;
        }));
        Self {
            task,
            leading,
            stop,
        }
    }

    /// Waits until it leads.
    pub(crate) async fn leads(&mut self) -> LeaderToken {
        (&mut self.leading).await.unwrap()
    }

    /// Asks it to stop, and waits for the end.
    pub(crate) async fn stop(self) -> Outcome<()> {
        let _ = self.stop.send(());
        self.task.await.unwrap()
    }
}
