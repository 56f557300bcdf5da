//! Workload controllers, simulated nodes and a scheduler on a test cluster.

use kubewright_builtin_controllers::Controllers;
use kubewright_cluster::serve_metrics;
use kubewright_nodes::Nodes;
use kubewright_scheduler::Scheduler;

use crate::cluster::{TestCluster, TestClusterBuilder};

impl TestClusterBuilder {
    /// Runs all built-in controllers, including those of workloads: a Deployment gets its ReplicaSets and pods.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    /// use serde_json::json;
    ///
    /// let cluster = TestCluster::builder().workloads().start().await;
    /// let web: Deployment = serde_json::from_value(json!({
    ///     "metadata": {"name": "web"},
    ///     "spec": {
    ///         "replicas": 3,
    ///         "selector": {"matchLabels": {"app": "web"}},
    ///         "template": {
    ///             "metadata": {"labels": {"app": "web"}},
    ///             "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    ///         },
    ///     },
    /// }))
    /// .unwrap();
    /// let deployments: Api<Deployment> = Api::default_namespaced(cluster.client());
    /// deployments.create(&Default::default(), &web).await.unwrap();
    /// cluster.settled().await.unwrap();
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// assert_eq!(pods.list(&Default::default()).await.unwrap().items.len(), 3);
    /// # });
    /// ```
    pub fn workloads(self) -> Self {
        self.controllers(Controllers::all())
    }

    /// Adds simulated nodes, and a scheduler unless [`scheduler`](Self::scheduler) is set: pods run and become ready. Their usage
    /// is served by `metrics.k8s.io`. Requires the feature `workloads`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    /// use serde_json::{from_value, json};
    ///
    /// let cluster = TestCluster::builder().nodes(2).start().await;
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    /// pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
    /// cluster.settled().await.unwrap();
    /// let status = pods.get("web").await.unwrap().status.unwrap();
    /// assert_eq!(status.phase.as_deref(), Some("Running"));
    /// # });
    /// ```
    pub fn nodes(mut self, nodes: impl Into<Nodes>) -> Self {
        self.nodes = Some(nodes.into());
        self
    }

    /// Sets the scheduler: with a seed, with a function that selects nodes, or for pods with other scheduler names. With
    /// `None`, the test or another program schedules pods.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_testing::{Placement, Scheduler, TestCluster};
    /// use serde_json::{from_value, json};
    ///
    /// // Every pod goes to the last node.
    /// let scheduler = Scheduler::new().place_by(|_pod, nodes| match nodes.last() {
    ///     Some(node) => Placement::Node(node.name().to_owned()),
    ///     None => Placement::Unschedulable("there are no nodes".to_owned()),
    /// });
    /// let cluster = TestCluster::builder().nodes(3).scheduler(scheduler).start().await;
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    /// pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
    /// cluster.settled().await.unwrap();
    /// let web = pods.get("web").await.unwrap();
    /// assert_eq!(web.spec.unwrap().node_name.as_deref(), Some("node-3"));
    /// # });
    /// ```
    pub fn scheduler(mut self, scheduler: impl Into<Option<Scheduler>>) -> Self {
        self.scheduler = Some(scheduler.into());
        self
    }
}

impl TestCluster {
    /// Returns the simulated nodes of the [builder](crate::TestClusterBuilder::nodes). A fork has the Node objects, but no
    /// running nodes.
    pub fn nodes(&self) -> Option<&Nodes> {
        self.simulation.as_ref()?.0.as_ref()
    }

    /// Serves the metrics of a fork, whose nodes do not run.
    pub(crate) async fn serve_empty_metrics(&self) {
        let served = serve_metrics(self.api_server(), self.services(), &Nodes::new(0)).await;
        served.expect("a cluster in memory accepts an APIService");
    }

    /// Runs nodes and a scheduler, and waits until the nodes are ready.
    pub(crate) async fn simulating(
        mut self,
        nodes: Option<Nodes>,
        scheduler: Option<Option<Scheduler>>,
    ) -> Self {
        let scheduler = scheduler.unwrap_or_else(|| nodes.as_ref().map(|_| Scheduler::new()));
        if nodes.is_none() && scheduler.is_none() {
            return self;
        }
        let manager = Controllers::none().manager(self.client());
        let manager = manager.expect("a new manager has no other controllers");
        if let Some(scheduler) = scheduler {
            let added = scheduler.add_to(&manager);
            added.expect("the manager has no other scheduler");
        }
        if let Some(nodes) = &nodes {
            let added = nodes.add_to(&manager);
            added.expect("nodes are added to one cluster only");
        }
        let running = self.run(&manager);
        if let Some(nodes) = &nodes {
            let served = serve_metrics(self.api_server(), self.services(), nodes).await;
            served.expect("a cluster in memory accepts an APIService");
            nodes.ready().await;
        }
        self.simulation = Some((nodes, running));
        self
    }
}
