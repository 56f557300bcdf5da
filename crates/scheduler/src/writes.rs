//! The writes of the scheduler: bindings, conditions, deletions of victims, and events.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kubewright_controller::{
    Client, Result,
    events::{EventDraft, EventType, Recorder},
};
use serde_json::json;

use crate::{diagnosis, pod::PodInfo};

/// Assigns a pod to a node.
pub(crate) async fn bind(client: &Client, pod: &PodInfo, node: &str) -> Result<(), kube::Error> {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name(), "namespace": pod.namespace(), "uid": &*pod.uid},
        "target": {"kind": "Node", "name": node},
    });
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/binding",
        pod.namespace(),
        pod.name()
    );
    let body = serde_json::to_vec(&binding).map_err(kube::Error::SerdeError)?;
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    client.live().request_text(request).await.map(drop)
}

/// Writes that no node can run a pod, and which node victims are removed from.
pub(crate) async fn reject(
    client: &Client,
    pod: &PodInfo,
    message: &str,
    nominated: Option<&str>,
    now: Timestamp,
) -> Result<(), kube::Error> {
    let is_nominated = nominated.is_none() || pod.nominated.as_deref() == nominated;
    if pod.unscheduled.as_deref() == Some(message) && is_nominated {
        return Ok(());
    }
    let mut condition = json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": null,
        "observedGeneration": pod.generation,
    });
    if pod.unscheduled.is_none() {
        condition["lastTransitionTime"] = json!(seconds(now));
    }
    let mut status = json!({"conditions": [condition]});
    if let Some(node) = nominated {
        status["nominatedNodeName"] = json!(node);
    }
    patch(client, pod, &json!({"status": status})).await
}

/// Marks a victim and deletes it.
pub(crate) async fn evict(
    client: &Client,
    victim: &PodInfo,
    scheduler: &str,
    now: Timestamp,
) -> Result<(), kube::Error> {
    if victim.is_deleted {
        return Ok(());
    }
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": format!("{scheduler}: preempting to accommodate a higher priority pod"),
        "lastProbeTime": null,
        "lastTransitionTime": seconds(now),
        "observedGeneration": victim.generation,
    });
    let status = json!({"status": {"conditions": [condition]}});
    patch(client, victim, &status).await?;
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(victim.uid.to_string()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let pods = client.api::<Pod>(victim.namespace());
    gone_is_fine(pods.delete(victim.name(), &params).await.map(drop))
}

async fn patch(
    client: &Client,
    pod: &PodInfo,
    status: &serde_json::Value,
) -> Result<(), kube::Error> {
    let mut patch = status.clone();
    patch["metadata"] = json!({"uid": &*pod.uid});
    let pods = client.api::<Pod>(pod.namespace());
    let params = PatchParams::default();
    let patch = Patch::Strategic(patch);
    let patched = pods.patch_status(pod.name(), &params, &patch).await;
    gone_is_fine(patched.map(drop))
}

/// A pod that is gone, or that another has replaced, needs nothing any more.
fn gone_is_fine(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other,
    }
}

/// Writes events in the name of a scheduler.
#[derive(Clone)]
pub(crate) struct Reporter(pub(crate) Arc<BTreeMap<String, Recorder>>);

impl Reporter {
    pub(crate) async fn scheduled(&self, pod: &PodInfo, node: &str) {
        let note = format!("Successfully assigned {} to {node}", pod.key);
        let event = draft(pod, EventType::Normal, "Scheduled", "Binding", note);
        self.send(pod, event).await;
    }

    pub(crate) async fn failed(&self, pod: &PodInfo, message: &str) {
        let (reason, action) = ("FailedScheduling", "Scheduling");
        let note = diagnosis::note(message);
        let event = draft(pod, EventType::Warning, reason, action, note);
        self.send(pod, event).await;
    }

    pub(crate) async fn preempted(&self, victim: &PodInfo, by: &PodInfo, node: &str) {
        let note = format!("Preempted by pod {} on node {node}", by.uid);
        let mut event = draft(victim, EventType::Normal, "Preempted", "Preempting", note);
        event.related = Some(reference(by));
        self.send(by, event).await;
    }

    async fn send(&self, scheduled: &PodInfo, event: EventDraft) {
        if let Some(recorder) = self.0.get(&scheduled.template.scheduler) {
            recorder.send_when_ready(event).await;
        }
    }
}

fn draft(pod: &PodInfo, type_: EventType, reason: &str, action: &str, note: String) -> EventDraft {
    EventDraft {
        regarding: reference(pod),
        related: None,
        type_,
        reason: reason.to_owned(),
        action: Some(action.to_owned()),
        note,
        annotations: BTreeMap::new(),
    }
}

fn reference(pod: &PodInfo) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(pod.namespace().to_owned()),
        name: Some(pod.name().to_owned()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// Returns a time as conditions have it.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
