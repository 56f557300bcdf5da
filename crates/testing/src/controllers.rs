//! Built-in controllers on a test cluster.

use kubewright_builtin_controllers::Controllers;
use kubewright_nodes::Nodes;
use kubewright_scheduler::Scheduler;

use crate::{cluster::TestCluster, managers::RunningManager};

impl TestCluster {
    /// Runs built-in controllers, which [`settled`](Self::settled) then waits for. Those that the cluster runs
    /// [from the start](crate::TestClusterBuilder::controllers) are left out.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::ServiceAccount;
    /// use kube::Api;
    /// use kubewright_testing::{Controllers, TestCluster};
    ///
    /// let cluster = TestCluster::start().await;
    /// let _controllers = cluster.run_controllers(&Controllers::default());
    /// cluster.settled().await.unwrap();
    ///
    /// let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "kube-system");
    /// assert!(accounts.get_opt("default").await.unwrap().is_some());
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn run_controllers(&self, controllers: &Controllers) -> RunningManager {
        let missing = controllers.clone().without(&self.controllers);
        let manager = missing
            .manager(self.client())
            .expect("a new manager has no other controllers");
        self.run(&manager)
    }

    /// Returns the simulated nodes that the [builder](crate::TestClusterBuilder::nodes) asked for. Forks have their objects, but
    /// nothing that runs.
    pub fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref().map(|(nodes, _)| nodes)
    }

    /// Runs nodes and a scheduler. Returns when the nodes are ready.
    pub(crate) async fn add_nodes(&mut self, nodes: Nodes) {
        let manager = Controllers::none().manager(self.client());
        let manager = manager.expect("a new manager has no other controllers");
        let added = Scheduler::new()
            .add_to(&manager)
            .and_then(|()| nodes.add_to(&manager));
        added.expect("nodes are added to one cluster only");
        let running = self.run(&manager);
        nodes.ready().await;
        self.nodes = Some((nodes, running));
    }
}
