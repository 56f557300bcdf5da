//! [`Placement`]: the result of a custom function that replaces filters and scores.

use k8s_openapi::api::core::v1::Pod;

use crate::node::NodeInfo;

/// A function that chooses the node of a pod.
pub(crate) type Placing = dyn Fn(&Pod, &[NodeInfo]) -> Placement + Send + Sync;

/// The node of a pod, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The pod is bound to the node of that name.
    Node(String),
    /// No node can run the pod. The reason becomes part of the message, and the pod is retried when nodes or pods change.
    Unschedulable(String),
}
