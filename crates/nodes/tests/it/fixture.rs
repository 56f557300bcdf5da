//! A cluster with a scheduler and two nodes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Node, Pod, PodCondition, PodStatus};
use kube::{Api, api::ListParams};
use kubewright_controller::Manager;
use kubewright_nodes::Nodes;
use kubewright_scheduler::Scheduler;
use kubewright_testing::{RunningManager, TestCluster};
use serde_json::{Value, from_value, json};

pub(crate) struct Fixture {
    pub(crate) cluster: TestCluster,
    pub(crate) nodes: Nodes,
    pub(crate) running: RunningManager,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(Nodes::new(2)).await
    }

    pub(crate) async fn with(nodes: Nodes) -> Self {
        Self::on(TestCluster::start().await, nodes).await
    }

    pub(crate) async fn on(cluster: TestCluster, nodes: Nodes) -> Self {
        let manager = Manager::new(cluster.client());
        Scheduler::new().add_to(&manager).unwrap();
        nodes.add_to(&manager).unwrap();
        let running = cluster.run(&manager);
        nodes.ready().await;
        Self {
            cluster,
            nodes,
            running,
        }
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.cluster.client())
    }

    pub(crate) async fn node(&self, name: &str) -> Node {
        let nodes: Api<Node> = Api::all(self.cluster.client());
        nodes.get(name).await.unwrap()
    }

    /// Creates a pod, and waits until the cluster has settled.
    pub(crate) async fn create(&self, name: &str, spec: Value) -> PodStatus {
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        let pod: Pod = from_value(pod).unwrap();
        self.pods().create(&Default::default(), &pod).await.unwrap();
        self.status(name).await
    }

    /// Creates a pod with one container, `c`.
    pub(crate) async fn run(&self, name: &str, image: &str, policy: &str) -> PodStatus {
        let container = json!({"name": "c", "image": image});
        self.create(
            name,
            json!({"restartPolicy": policy, "containers": [container]}),
        )
        .await
    }

    pub(crate) async fn settled(&self) {
        self.cluster.settled().await.unwrap();
    }

    pub(crate) async fn status(&self, name: &str) -> PodStatus {
        self.settled().await;
        self.pods().get(name).await.unwrap().status.unwrap()
    }

    pub(crate) async fn exists(&self, name: &str) -> bool {
        self.settled().await;
        self.pods().get_opt(name).await.unwrap().is_some()
    }

    /// Advances the clock.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.settled().await;
        self.cluster
            .time()
            .advance(Duration::from_secs(seconds))
            .await;
        self.settled().await;
    }

    /// Returns the reasons and messages of the events about an object, in order.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, String)> {
        let events = self.all_events(name).await.into_iter();
        let texts = events.map(|e| (e.reason.unwrap_or_default(), e.message.unwrap_or_default()));
        texts.collect()
    }

    /// Returns the events about an object, in order.
    pub(crate) async fn all_events(&self, name: &str) -> Vec<Event> {
        self.settled().await;
        let events: Api<Event> = Api::all(self.cluster.client());
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = |event: &Event| event.involved_object.name.as_deref() == Some(name);
        let mut events: Vec<Event> = events.items.into_iter().filter(about).collect();
        let version = |event: &Event| {
            let version = event.metadata.resource_version.clone().unwrap_or_default();
            version.parse::<u64>().unwrap_or_default()
        };
        events.sort_by_key(version);
        events
    }
}

pub(crate) fn condition<'a>(status: &'a PodStatus, name: &str) -> &'a PodCondition {
    let mut conditions = status.conditions.iter().flatten();
    conditions
        .find(|condition| condition.type_ == name)
        .unwrap()
}

pub(crate) fn is_ready(status: &PodStatus) -> bool {
    condition(status, "Ready").status == "True"
}

pub(crate) fn container(status: &PodStatus) -> &ContainerStatus {
    &status.container_statuses.as_ref().unwrap()[0]
}

/// Returns the waiting reason of the first container.
pub(crate) fn waiting(status: &PodStatus) -> Option<&str> {
    let state = container(status).state.as_ref()?;
    state.waiting.as_ref()?.reason.as_deref()
}
