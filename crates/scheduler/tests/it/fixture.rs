//! A cluster with a scheduler, and nodes and pods for it.

use k8s_openapi::api::{
    core::v1::{Node, Pod, PodCondition},
    events::v1::Event,
};
use kube::{
    Api,
    api::{ListParams, Patch},
};
use kubewright_controller::Manager;
use kubewright_scheduler::Scheduler;
use kubewright_testing::{RunningManager, TestCluster};
use serde_json::{Value, from_value, json};

pub(crate) struct Fixture {
    pub(crate) cluster: TestCluster,
    _running: RunningManager,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(Scheduler::new()).await
    }

    pub(crate) async fn with(scheduler: Scheduler) -> Self {
        let cluster = TestCluster::start().await;
        let manager = Manager::new(cluster.client());
        scheduler.add_to(&manager).unwrap();
        let running = cluster.run(&manager);
        Self {
            cluster,
            _running: running,
        }
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.client())
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.cluster.client())
    }

    /// Creates a node with 4 CPUs, 8 GiB and 10 pods, and applies changes to it.
    pub(crate) async fn node(&self, name: &str, changes: Value) {
        let mut node = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        });
        merge(&mut node, &changes);
        let taints = node["spec"]["taints"].clone();
        let node: Node = from_value(node).unwrap();
        self.nodes()
            .create(&Default::default(), &node)
            .await
            .unwrap();
        // New nodes have a taint until they are ready.
        let ready = Patch::Merge(json!({"spec": {"taints": taints}}));
        self.nodes()
            .patch(name, &Default::default(), &ready)
            .await
            .unwrap();
    }

    /// Creates a pod, and applies changes to it.
    pub(crate) async fn pod(&self, name: &str, changes: Value) {
        let mut pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        });
        merge(&mut pod, &changes);
        let pod: Pod = from_value(pod).unwrap();
        self.pods().create(&Default::default(), &pod).await.unwrap();
    }

    /// Returns the node of a pod once the cluster has settled.
    pub(crate) async fn node_of(&self, pod: &str) -> Option<String> {
        self.cluster.settled().await.unwrap();
        self.pods().get(pod).await.unwrap().spec.unwrap().node_name
    }

    /// Returns the nodes of pods.
    pub(crate) async fn nodes_of(&self, pods: &[&str]) -> Vec<String> {
        let mut nodes = Vec::new();
        for pod in pods {
            nodes.push(self.node_of(pod).await.unwrap_or_default());
        }
        nodes
    }

    /// Returns the condition `PodScheduled` once the cluster has settled.
    pub(crate) async fn condition(&self, pod: &str) -> PodCondition {
        self.cluster.settled().await.unwrap();
        let status = self.pods().get(pod).await.unwrap().status.unwrap();
        let conditions = status.conditions.unwrap_or_default().into_iter();
        let mut scheduled = conditions.filter(|c| c.type_ == "PodScheduled");
        scheduled.next().unwrap_or_default()
    }

    /// Returns the message of an unschedulable pod.
    pub(crate) async fn message(&self, pod: &str) -> String {
        let condition = self.condition(pod).await;
        assert_eq!(condition.status, "False", "{condition:?}");
        assert_eq!(condition.reason.as_deref(), Some("Unschedulable"));
        condition.message.unwrap_or_default()
    }

    /// Returns the events about a pod.
    pub(crate) async fn events(&self, pod: &str) -> Vec<Event> {
        self.cluster.settled().await.unwrap();
        let events: Api<Event> = Api::default_namespaced(self.cluster.client());
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = |event: &Event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|r| r.name.as_deref()) == Some(pod)
        };
        events.items.into_iter().filter(about).collect()
    }

    /// Returns whether a pod exists.
    pub(crate) async fn exists(&self, pod: &str) -> bool {
        self.cluster.settled().await.unwrap();
        let pod = self.pods().get_opt(pod).await.unwrap();
        pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none())
    }
}

/// Returns containers with requests.
pub(crate) fn requests(amounts: Value) -> Value {
    let resources = json!({"requests": amounts, "limits": amounts});
    let container = json!({"name": "c", "image": "nginx", "resources": resources});
    json!({"containers": [container]})
}

/// Merges changes into an object.
pub(crate) fn merge(object: &mut Value, changes: &Value) {
    match (object, changes) {
        (Value::Object(object), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(object.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (object, changes) => *object = changes.clone(),
    }
}
