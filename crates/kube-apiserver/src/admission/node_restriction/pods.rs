//! Pods: a node creates and deletes mirrors of its own pods, and reports about those that it runs.

use kubewright_apiserver::admission::Operation;
use kubewright_machinery::{
    Status, go,
    json::{Read, same},
};
use serde_json::Value;

use super::{NodeWrite, not_found};
use crate::pod_references;

/// The sources of volumes that need no other object.
const PLAIN_VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
/// The sources of volumes that need another object, and its resource.
const VOLUMES: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    (
        "ephemeral",
        "persistentvolumeclaims (via ephemeral volumes)",
    ),
    ("azureFile", "secrets (via azureFile volumes)"),
];
/// The same for the sources of a projected volume.
const PROJECTIONS: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    (
        "serviceAccountToken",
        "serviceaccounts (via projected volumes)",
    ),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

impl NodeWrite<'_> {
    pub(super) async fn pod(&self) -> Result<(), Status> {
        let (operation, node) = (self.attributes.operation, go::quote(self.node));
        match (self.cx.info.subresource.as_str(), operation) {
            ("", Operation::Create) => self.mirror_pod().await,
            ("", Operation::Delete) => {
                let pod = self.stored_pod(self.name()).await?;
                self.on_node(&pod, || {
                    format!("node {node} can only delete pods with spec.nodeName set to itself")
                })
            }
            ("", _) => {
                let operation = go::quote(self.operation());
                Err(self.forbidden(format!(
                    "unexpected operation {operation}, node {node} can only create and delete mirror pods"
                )))
            }
            ("status", Operation::Update) => self.pod_status(),
            ("status", _) => {
                let operation = go::quote(self.operation());
                Err(self.forbidden(format!("unexpected operation {operation}")))
            }
            ("eviction", Operation::Create) => {
                let pod = self.stored_pod(self.name()).await?;
                self.on_node(&pod, || {
                    let node = self.node;
                    format!("node {node} can only evict pods with spec.nodeName set to itself")
                })
            }
            // The eviction that was admitted deletes the pod.
            ("eviction", Operation::Delete) => Ok(()),
            ("eviction", _) => {
                let operation = self.operation();
                Err(self.forbidden(format!("unexpected operation {operation}")))
            }
            (other, _) => {
                let other = go::quote(other);
                Err(self.forbidden(format!(
                    "unexpected pod subresource {other}, only 'status' and 'eviction' are allowed"
                )))
            }
        }
    }

    /// Reads a pod from the store.
    pub(super) async fn stored_pod(&self, name: &str) -> Result<Value, Status> {
        let path = format!("{}/{name}", self.cx.namespace());
        let pod = self.store.get("pods", &path).await?;
        pod.ok_or_else(|| not_found("", "pod", name))
    }

    fn on_node(&self, pod: &Value, cause: impl FnOnce() -> String) -> Result<(), Status> {
        match pod["spec"]["nodeName"].text() == self.node {
            true => Ok(()),
            false => Err(self.forbidden(cause())),
        }
    }

    async fn mirror_pod(&self) -> Result<(), Status> {
        let (pod, node) = (self.object, go::quote(self.node));
        if !pod_references::is_mirror(pod) {
            let annotation = go::quote(pod_references::MIRROR);
            return Err(self.forbidden(format!(
                "pod does not have {annotation} annotation, node {node} can only create mirror pods"
            )));
        }
        self.on_node(pod, || {
            format!("node {node} can only create pods with spec.nodeName set to itself")
        })?;
        self.owned_by_node(pod).await?;
        match referenced(pod) {
            Ok(None) => Ok(()),
            Ok(Some(resource)) => Err(self.forbidden(format!(
                "node {node} can not create pods that reference {resource}"
            ))),
            Err(error) => Err(self.forbidden(format!(
                "error checking mirror pod for API references: {error}"
            ))),
        }
    }

    /// Checks that the node is the only owner of a pod.
    async fn owned_by_node(&self, pod: &Value) -> Result<(), Status> {
        let node = go::quote(self.node);
        let refused = |cause: &str| {
            Err(self.forbidden(format!("node {node} can only create pods with {cause}")))
        };
        let owner = match pod["metadata"]["ownerReferences"].items() {
            [] => return refused("an owner reference set to itself"),
            [owner] => owner,
            _ => return refused("a single owner reference set to itself"),
        };
        let is_node = owner["apiVersion"] == "v1" && owner["kind"] == "Node";
        if !is_node || owner["name"] != self.node {
            return refused("an owner reference set to itself");
        }
        if owner["controller"] != true {
            return refused("a controller owner reference set to itself");
        }
        if owner["blockOwnerDeletion"] == true {
            return Err(self.forbidden(format!(
                "node {node} must not set blockOwnerDeletion on an owner reference"
            )));
        }
        let stored: Option<Value> = self.store.get("nodes", self.node).await?;
        let stored = stored.ok_or_else(|| not_found("", "node", self.node))?;
        let (given, uid) = (owner["uid"].text(), stored["metadata"]["uid"].text());
        match given == uid {
            true => Ok(()),
            false => {
                let node = self.node;
                Err(self.forbidden(format!(
                    "node {node} UID mismatch: expected {given} got {uid}"
                )))
            }
        }
    }

    fn pod_status(&self) -> Result<(), Status> {
        let (old, new, node) = (self.old(), self.object, go::quote(self.node));
        self.on_node(old, || {
            format!(
                "node {node} can only update pod status for pods with spec.nodeName set to itself"
            )
        })?;
        if !same(&old["metadata"]["labels"], &new["metadata"]["labels"]) {
            return Err(self.forbidden(format!(
                "node {node} cannot update labels through pod status"
            )));
        }
        let (old, new) = (&old["status"], &new["status"]);
        if !same(&old["resourceClaimStatuses"], &new["resourceClaimStatuses"]) {
            return Err(self.forbidden(format!("node {node} cannot update resource claim statues")));
        }
        let field = "extendedResourceClaimStatus";
        match same(&old[field], &new[field]) {
            true => Ok(()),
            false => Err(self.forbidden(format!(
                "node {node} cannot update extended resource claim status"
            ))),
        }
    }
}

/// Returns the resource of an object that a pod refers to, if any.
fn referenced(pod: &Value) -> Result<Option<&'static str>, String> {
    let spec = &pod["spec"];
    if !spec["serviceAccountName"].text().is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    if pod_references::secrets(pod).next().is_some() {
        return Ok(Some("secrets"));
    }
    if pod_references::config_maps(pod).next().is_some() {
        return Ok(Some("configmaps"));
    }
    if !spec["resourceClaims"].items().is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec["volumes"].items() {
        let has = |source: &&str| volume[*source].is_set();
        if PLAIN_VOLUMES.iter().any(&has) {
            continue;
        }
        if let Some((_, resource)) = VOLUMES.iter().find(|(source, _)| has(source)) {
            return Ok(Some(resource));
        }
        let name = go::quote(volume["name"].text());
        if !has(&"projected") {
            return Err(format!("unknown volume type for volume  {name}"));
        }
        for projection in volume["projected"]["sources"].items() {
            let has = |source: &&str| projection[*source].is_set();
            if let Some((_, resource)) = PROJECTIONS.iter().find(|(source, _)| has(source)) {
                return Ok(Some(resource));
            }
            if !has(&"downwardAPI") {
                return Err(format!("unknown source for projected volume {name}"));
            }
        }
    }
    Ok(None)
}
