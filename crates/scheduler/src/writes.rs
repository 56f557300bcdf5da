//! The writes of the scheduler: bindings, conditions, deletions of victims, and events.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kubewright_controller::{
    Client, Result,
    events::{EventDraft, EventType, Recorder},
};
use kubewright_informer::Key;
use serde_json::json;

use crate::{
    diagnosis,
    pod::PodInfo,
    scheduler::FIELD_MANAGER,
    volumes::{SELECTED_NODE, VolumeChoice, Written},
};

/// The annotation of volumes that were bound to a claim by the cluster.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Assigns a pod to a node.
pub(crate) async fn bind(client: &Client, pod: &PodInfo, node: &str) -> Result<(), kube::Error> {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name(), "namespace": pod.namespace(), "uid": &*pod.uid},
        "target": {"kind": "Node", "name": node},
    });
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/binding?fieldManager={FIELD_MANAGER}",
        pod.namespace(),
        pod.name()
    );
    let body = serde_json::to_vec(&binding).map_err(kube::Error::SerdeError)?;
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    client.live().request_text(request).await.map(drop)
}

/// Binds volumes to the claims of a pod, and selects the node of those whose volumes are provisioned. Returns the versions
/// that were written.
pub(crate) async fn bind_volumes(
    client: &Client,
    choice: &VolumeChoice,
) -> Result<Written, kube::Error> {
    let mut all = Written::default();
    let volumes = client.cluster_api::<PersistentVolume>();
    for (volume, claim) in &choice.bindings {
        let metadata = &claim.metadata;
        let mut patch = json!({
            "metadata": {"resourceVersion": volume.metadata.resource_version},
            "spec": {"claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            }},
        });
        if !volume.is_meant_for(claim) {
            patch["metadata"]["annotations"] = json!({BOUND_BY_CONTROLLER: "yes"});
        }
        let (name, patch) = (&volume.metadata.name, Patch::Merge(patch));
        let written = volumes.patch(name, &PatchParams::default(), &patch).await?;
        let version = written.metadata.resource_version.unwrap_or_default();
        all.volumes.insert(name.clone(), version);
    }
    for claim in &choice.provisioned {
        let metadata = &claim.metadata;
        let claims = client.api::<PersistentVolumeClaim>(&metadata.namespace);
        let patch = Patch::Merge(json!({
            "metadata": {"uid": metadata.uid, "annotations": {SELECTED_NODE: choice.node}},
        }));
        let params = PatchParams::default();
        let written = claims.patch(&metadata.name, &params, &patch).await?;
        let key = Key::new(Some(&metadata.namespace), &metadata.name);
        let version = written.metadata.resource_version.unwrap_or_default();
        all.claims.insert(key, version);
    }
    Ok(all)
}

/// Reports whether a claim exists on the server.
pub(crate) async fn has_claim(client: &Client, claim: &Key) -> Result<bool, kube::Error> {
    let claims = client.api::<PersistentVolumeClaim>(claim.namespace().unwrap_or_default());
    Ok(claims.get_opt(claim.name()).await?.is_some())
}

/// Writes the condition of an unschedulable pod, and its nominated node after preemption.
pub(crate) async fn reject(
    client: &Client,
    pod: &PodInfo,
    (reason, message): (&str, &str),
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
        "reason": reason,
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

/// Ignores that a pod was deleted, or replaced by another one.
fn gone_is_fine(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other,
    }
}

/// Writes events on behalf of a scheduler.
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

/// Formats a time for a condition.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
