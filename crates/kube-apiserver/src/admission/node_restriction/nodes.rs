//! Nodes: a node writes its own object, and neither taints nor labels that decide which pods it gets.

use std::collections::BTreeSet;

use kubewright_apiserver::admission::Operation;
use kubewright_machinery::{
    Status, go,
    json::{Read, same},
};
use serde_json::Value;

use super::NodeWrite;

/// The labels of Kubernetes that a kubelet may set.
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
/// The domains of labels that a kubelet may set.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The domain of labels that administrators set for nodes.
const RESTRICTED_DOMAIN: &str = "node-restriction.kubernetes.io";

impl NodeWrite<'_> {
    pub(super) fn node_object(&self) -> Result<(), Status> {
        let node = go::quote(self.node);
        let name = self.name();
        if name != self.node {
            let name = go::quote(name);
            return Err(self.forbidden(format!("node {node} is not allowed to modify node {name}")));
        }
        let (old, new) = (self.old(), self.object);
        let labels = || forbidden_labels(&old["metadata"]["labels"], &new["metadata"]["labels"]);
        let source = &new["spec"]["configSource"];
        let cause = match self.attributes.operation {
            Operation::Create if source.is_set() => {
                format!("node {node} is not allowed to create pods with a non-nil configSource")
            }
            Operation::Create => match labels().as_str() {
                "" => return Ok(()),
                labels => {
                    format!("node {node} is not allowed to set the following labels: {labels}")
                }
            },
            Operation::Update if source.is_set() && !same(source, &old["spec"]["configSource"]) => {
                format!(
                    "node {node} is not allowed to update configSource to a new non-nil configSource"
                )
            }
            Operation::Update if !same(&new["spec"]["taints"], &old["spec"]["taints"]) => {
                format!("node {node} is not allowed to modify taints")
            }
            Operation::Update
                if !same(
                    &new["metadata"]["ownerReferences"],
                    &old["metadata"]["ownerReferences"],
                ) =>
            {
                format!("node {node} is not allowed to modify ownerReferences")
            }
            Operation::Update => match labels().as_str() {
                "" => return Ok(()),
                labels => format!("is not allowed to modify labels: {labels}"),
            },
            Operation::Delete | Operation::Connect => return Ok(()),
        };
        Err(self.forbidden(cause))
    }
}

/// Returns the labels that differ and that a node must not touch, in order and joined.
fn forbidden_labels(old: &Value, new: &Value) -> String {
    let keys = |labels: &Value| {
        let labels = labels.as_object().into_iter().flatten();
        labels.map(|(key, _)| key.clone()).collect::<Vec<_>>()
    };
    let keys: BTreeSet<String> = keys(old).into_iter().chain(keys(new)).collect();
    let touched = keys.into_iter().filter(|key| old.get(key) != new.get(key));
    let forbidden: Vec<String> = touched.filter(|key| is_forbidden(key)).collect();
    forbidden.join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let within = |parent: &&str| {
        let rest = domain.strip_suffix(*parent);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let of_kubelet = || KUBELET_LABELS.contains(&label) || KUBELET_DOMAINS.iter().any(&within);
    within(&RESTRICTED_DOMAIN) || (["kubernetes.io", "k8s.io"].iter().any(within) && !of_kubelet())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_kubernetes_are_for_administrators_except_those_of_kubelets() {
        for label in [
            "node-restriction.kubernetes.io/tenant",
            "prod.node-restriction.kubernetes.io/tenant",
            "node-role.kubernetes.io/control-plane",
            "kubernetes.io/other",
            "k8s.io/x",
            "a.k8s.io/x",
        ] {
            assert!(is_forbidden(label), "{label}");
        }
        for label in [
            "kubernetes.io/hostname",
            "kubelet.kubernetes.io/x",
            "a.node.kubernetes.io/x",
            "example.com/x",
            "notkubernetes.io/x",
            "plain",
        ] {
            assert!(!is_forbidden(label), "{label}");
        }
    }
}
