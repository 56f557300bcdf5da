//! Built-in controllers on a test cluster.

use kubewright_builtin_controllers::Controllers;

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
}
