//! Workload controllers on the embedded server, without nodes: the tests write the statuses of pods.

mod autoscalers;
mod cron_jobs;
mod daemon_sets;
mod deployments;
mod disruption;
mod endpoints;
mod faults;
mod jobs;
mod load_balancers;
mod node_lifecycle;
mod perturbed;
mod pod_garbage;
mod quotas;
mod recorded;
mod replica_sets;
mod rollouts;
mod stateful_sets;
mod volumes;

use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{Event, Pod},
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use kubewright_client::ErrorExt;
use serde_json::{Value, json};

use crate::fixture::Fixture;

impl Fixture {
    /// Starts a cluster with the controllers of ReplicaSets and Deployments.
    pub(crate) async fn workloads() -> Self {
        Self::start("replicaset,replicationcontroller,deployment").await
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client())
    }

    pub(crate) fn sets(&self) -> Api<ReplicaSet> {
        Api::default_namespaced(self.client())
    }

    pub(crate) fn deployments(&self) -> Api<Deployment> {
        Api::default_namespaced(self.client())
    }

    pub(crate) async fn pod_list(&self) -> Vec<Pod> {
        self.pods()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
    }

    /// Returns the ReplicaSets by name.
    pub(crate) async fn set_list(&self) -> Vec<ReplicaSet> {
        self.sets()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
    }

    /// Returns the messages of the events about an object, as often as each was recorded.
    pub(crate) async fn events(&self, object: &str) -> BTreeMap<(String, String), i32> {
        let events: Api<Event> = Api::default_namespaced(self.client());
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = |event: &Event| event.involved_object.name.as_deref() == Some(object);
        let told = |event: Event| {
            let text = (
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default(),
            );
            (text, event.count.unwrap_or(1))
        };
        events.items.into_iter().filter(about).map(told).collect()
    }

    /// Makes a pod ready, since now.
    pub(crate) async fn make_ready(&self, pod: &str) {
        let now = self.cluster.clock();
        let now = kubewright_apiserver::Clock::now(now);
        let at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.set_pod_status(
            pod,
            json!({"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": at},
            ]}),
        )
        .await;
    }

    /// Sets the status of a pod, if it still exists.
    pub(crate) async fn set_pod_status(&self, pod: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        match self.pods().patch_status(pod, &params, &patch).await {
            Err(error) if error.is_not_found() => {}
            patched => drop(patched.unwrap()),
        }
    }

    /// Makes all pods ready that are not.
    pub(crate) async fn make_all_ready(&self) {
        for pod in self.pod_list().await {
            if !is_ready(&pod) {
                self.make_ready(&pod.name_any()).await;
            }
        }
    }

    /// Makes pods ready until there are no new ones.
    pub(crate) async fn run_to_the_end(&self) {
        loop {
            self.settled().await;
            if self.pod_list().await.iter().all(is_ready) {
                return;
            }
            self.make_all_ready().await;
        }
    }

    pub(crate) async fn patch_deployment(&self, name: &str, patch: Value) {
        let (patch, params) = (Patch::Merge(patch), PatchParams::default());
        self.deployments()
            .patch(name, &params, &patch)
            .await
            .unwrap();
    }

    pub(crate) async fn deployment(&self, name: &str) -> Value {
        json!(self.deployments().get(name).await.unwrap())
    }
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let mut conditions = status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Returns a pod template of one container.
pub(crate) fn template(image: &str, spec: Value) -> Value {
    let mut template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "nginx", "image": image}]},
    });
    for (field, value) in spec.as_object().unwrap() {
        template["spec"][field] = value.clone();
    }
    template
}

/// Returns a Deployment named `web` with more in its spec.
pub(crate) fn deployment(replicas: i32, more: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": template("nginx", json!({})),
        },
    });
    for (field, value) in more.as_object().unwrap() {
        deployment["spec"][field] = value.clone();
    }
    deployment
}

/// Returns a ReplicaSet with a template.
pub(crate) fn replica_set(name: &str, replicas: i32, template: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    })
}

/// Returns type, status and reason of conditions, in their order.
pub(crate) fn conditions(object: &Value) -> Vec<[String; 3]> {
    let conditions = object["status"]["conditions"].as_array().cloned();
    let text =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let row = |condition: Value| ["type", "status", "reason"].map(|field| text(&condition, field));
    conditions
        .unwrap_or_default()
        .into_iter()
        .map(row)
        .collect()
}
