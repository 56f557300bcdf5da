//! Nodes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Condition, resource};

/// A node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Node {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: NodeSpec,
    pub(crate) status: NodeStatus,
}

resource!(Node, "", "v1", "nodes", kube::core::ClusterResourceScope);

/// The spec of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSpec {
    pub(crate) taints: Vec<Taint>,
    pub(crate) unschedulable: bool,
    #[serde(rename = "podCIDRs")]
    pub(crate) pod_cidrs: Vec<String>,
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
}

/// The status of a node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct NodeStatus {
    pub(crate) conditions: Vec<Condition>,
}

/// A taint of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

impl Node {
    /// Reports whether the node is ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.readiness().is_some_and(Condition::is_true)
    }

    /// Returns the condition `Ready`.
    pub(crate) fn readiness(&self) -> Option<&Condition> {
        Condition::find(&self.status.conditions, "Ready")
    }

    /// Reports whether a kubelet of this product runs the node.
    pub(crate) fn is_simulated(&self) -> bool {
        self.spec.provider_id.starts_with("kubewright://")
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(name).map(String::as_str)
    }

    /// Reports whether the node has a taint with a key.
    pub(crate) fn has_taint(&self, key: &str) -> bool {
        self.spec.taints.iter().any(|taint| taint.key == key)
    }
}

impl Taint {
    /// Reports whether a toleration is for the taint.
    pub(crate) fn is_tolerated_by(&self, toleration: &Value) -> bool {
        let text = |field: &str| toleration[field].as_str().unwrap_or_default();
        let is_any = |wanted: &str, known: &str| wanted.is_empty() || wanted == known;
        is_any(text("effect"), &self.effect)
            && is_any(text("key"), &self.key)
            && match text("operator") {
                "Exists" => true,
                "" | "Equal" => text("value") == self.value,
                _ => false,
            }
    }
}
