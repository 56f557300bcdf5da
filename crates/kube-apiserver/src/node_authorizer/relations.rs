//! Relations between nodes and objects: a node may read the objects that its pods refer to.
//!
//! They are read from the store for each question, so a decision never lags behind a write. The cost is that of a look at the
//! pods of one namespace, of which only those on the node are decoded.

use std::sync::Arc;

use kubewright_apiserver::Summary;
use kubewright_machinery::{Status, json::Read};
use kubewright_store::{Entry, Store};
use serde_json::Value;

use crate::{
    admission::stored::{Stored, decode},
    kinds::selectable_of,
    pod_references,
};

/// A kind of objects that nodes are related to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pod,
    Secret,
    ConfigMap,
    VolumeClaim,
    Volume,
    VolumeAttachment,
    ResourceClaim,
    ResourceSlice,
    ServiceAccount,
}

/// The relations between nodes and the objects of a store.
pub(super) struct Relations {
    store: Stored,
    /// The position of the node's name in the summary of a pod.
    node_name: Option<usize>,
}

impl Relations {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store: Stored(store),
            node_name: selectable_of("", "v1", "pods").position("spec.nodeName"),
        }
    }

    /// Returns whether an object is related to a node.
    pub(super) async fn has(
        &self,
        node: &str,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<bool, Status> {
        let refers = |to: fn(&Value, &str) -> bool| self.pod_refers(node, namespace, name, to);
        match kind {
            Kind::Pod => {
                let pod: Option<Value> = self.store.get("pods", &path(namespace, name)).await?;
                Ok(pod.is_some_and(|pod| pod["spec"]["nodeName"].text() == node))
            }
            Kind::Secret => {
                Ok(
                    refers(|pod, name| pod_references::secrets(pod).any(|secret| secret == name))
                        .await?
                        || self.volume_has_secret(node, namespace, name).await?,
                )
            }
            Kind::ConfigMap => {
                refers(|pod, name| pod_references::config_maps(pod).any(|map| map == name)).await
            }
            Kind::VolumeClaim => self.claim_is_used(node, namespace, name).await,
            Kind::ServiceAccount => {
                refers(|pod, name| pod["spec"]["serviceAccountName"].text() == name).await
            }
            Kind::ResourceClaim => {
                refers(|pod, name| pod_references::resource_claims(pod).any(|claim| claim == name))
                    .await
            }
            Kind::Volume => {
                let volume: Option<Value> = self.store.get("persistentvolumes", name).await?;
                self.volume_is_used(node, &volume.unwrap_or_default()).await
            }
            Kind::VolumeAttachment => {
                self.names("storage.k8s.io/volumeattachments", name, node)
                    .await
            }
            Kind::ResourceSlice => {
                self.names("resource.k8s.io/resourceslices", name, node)
                    .await
            }
        }
    }

    /// Returns whether an object names the node itself.
    async fn names(&self, collection: &str, name: &str, node: &str) -> Result<bool, Status> {
        let object: Option<Value> = self.store.get(collection, name).await?;
        Ok(object.is_some_and(|object| object["spec"]["nodeName"].text() == node))
    }

    /// Returns whether a pod on the node refers to an object. The pods that a node creates itself count for nothing.
    async fn pod_refers(
        &self,
        node: &str,
        namespace: &str,
        name: &str,
        refers: fn(&Value, &str) -> bool,
    ) -> Result<bool, Status> {
        for entry in self.store.entries("pods", path(namespace, "")).await? {
            if !self.may_be_on(&entry, node) {
                continue;
            }
            let pod: Value = decode(&entry)?;
            let is_mirror = pod_references::is_mirror(&pod);
            if pod["spec"]["nodeName"].text() == node && !is_mirror && refers(&pod, name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a pod is on the node, or has to be decoded to know.
    fn may_be_on(&self, entry: &Entry, node: &str) -> bool {
        let decoded = entry.decoded.as_ref();
        let summary = decoded.and_then(|decoded| decoded.downcast_ref::<Summary>());
        let at = self.node_name.zip(summary);
        at.and_then(|(i, summary)| summary.fields.get(i))
            .is_none_or(|name| &**name == node)
    }

    async fn claim_is_used(&self, node: &str, namespace: &str, name: &str) -> Result<bool, Status> {
        let uses =
            |pod: &Value, name: &str| pod_references::volume_claims(pod).any(|claim| claim == name);
        self.pod_refers(node, namespace, name, uses).await
    }

    async fn volume_is_used(&self, node: &str, volume: &Value) -> Result<bool, Status> {
        let claim = &volume["spec"]["claimRef"];
        let (namespace, name) = (claim["namespace"].text(), claim["name"].text());
        match claim.is_set() {
            true => self.claim_is_used(node, namespace, name).await,
            false => Ok(false),
        }
    }

    /// Returns whether a volume that a pod on the node uses names a secret.
    async fn volume_has_secret(
        &self,
        node: &str,
        namespace: &str,
        name: &str,
    ) -> Result<bool, Status> {
        let volumes = self
            .store
            .entries("persistentvolumes", String::new())
            .await?;
        for entry in volumes {
            let volume: Value = decode(&entry)?;
            if has_secret(&volume, namespace, name) && self.volume_is_used(node, &volume).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The sources of volumes whose secret is in the namespace of the claim unless they name another.
const IN_NAMESPACE_OF_CLAIM: [&str; 5] = ["cephfs", "flexVolume", "rbd", "scaleIO", "iscsi"];
/// The sources of volumes that always name the namespace of their secret.
const WITH_NAMESPACE: [&str; 2] = ["cinder", "storageos"];
/// The secrets of a CSI volume that its node needs; others are for controllers.
const CSI: [&str; 3] = [
    "nodePublishSecretRef",
    "nodeStageSecretRef",
    "nodeExpandSecretRef",
];

/// Returns whether the node of a volume needs a secret for it.
fn has_secret(volume: &Value, namespace: &str, name: &str) -> bool {
    let spec = &volume["spec"];
    let of_claim = spec["claimRef"]["namespace"].text();
    let or_claim = |own: &Value| match own.text() {
        "" => of_claim == namespace,
        own => own == namespace,
    };
    let azure = &spec["azureFile"];
    if azure["secretName"].text() == name && or_claim(&azure["secretNamespace"]) && !name.is_empty()
    {
        return true;
    }
    let secret = |reference: &Value| !name.is_empty() && reference["name"].text() == name;
    let near = |source: &&str| {
        let reference = &spec[*source]["secretRef"];
        secret(reference) && or_claim(&reference["namespace"])
    };
    let exact = |reference: &Value| secret(reference) && reference["namespace"].text() == namespace;
    IN_NAMESPACE_OF_CLAIM.iter().any(near)
        || WITH_NAMESPACE
            .iter()
            .any(|source| exact(&spec[*source]["secretRef"]))
        || CSI.iter().any(|field| exact(&spec["csi"][*field]))
}

fn path(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_of_a_volume_are_near_the_claim_or_where_it_says() {
        let volume = |source: Value| {
            let mut spec = source;
            spec["claimRef"] = json!({"namespace": "ns", "name": "c"});
            json!({"spec": spec})
        };
        let near = volume(json!({"rbd": {"secretRef": {"name": "s"}}}));
        assert!(has_secret(&near, "ns", "s"));
        assert!(!has_secret(&near, "other", "s"));
        assert!(!has_secret(&near, "ns", "t"));
        let far = volume(json!({"rbd": {"secretRef": {"name": "s", "namespace": "other"}}}));
        assert!(has_secret(&far, "other", "s"));
        assert!(!has_secret(&far, "ns", "s"));
        let azure = volume(json!({"azureFile": {"secretName": "s"}}));
        assert!(has_secret(&azure, "ns", "s"));
        let csi = volume(json!({"csi": {
            "nodeStageSecretRef": {"name": "stage", "namespace": "x"},
            "controllerPublishSecretRef": {"name": "controller", "namespace": "x"},
        }}));
        assert!(has_secret(&csi, "x", "stage"));
        assert!(!has_secret(&csi, "x", "controller"));
        assert!(!has_secret(&csi, "x", ""));
    }
}
