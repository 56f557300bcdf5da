//! The order in which objects are applied: dependencies first.

use kube::core::DynamicObject;

/// Kinds that are applied before all others, in this order.
const FIRST: [&str; 20] = [
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "NetworkPolicy",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
];

/// Kinds that are applied after all others, since they affect the others.
const LAST: [&str; 3] = [
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Sorts objects so that each comes after its dependencies; the sort is stable.
pub(super) fn sort(objects: &mut [DynamicObject]) {
    objects.sort_by_key(rank);
}

fn rank(object: &DynamicObject) -> usize {
    let types = object.types.as_ref();
    let kind = types.map_or("", |types| types.kind.as_str());
    let first = FIRST.iter().position(|first| *first == kind);
    let last = LAST.iter().position(|last| *last == kind);
    first
        .or(last.map(|at| FIRST.len() + 1 + at))
        .unwrap_or(FIRST.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_come_before_their_objects_and_webhooks_last() {
        let mut objects: Vec<DynamicObject> = [
            "ValidatingWebhookConfiguration",
            "Captain",
            "Deployment",
            "CustomResourceDefinition",
            "Namespace",
        ]
        .iter()
        .map(|kind| {
            let object = json!({"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "a"}});
            serde_json::from_value(object).unwrap()
        })
        .collect();
        sort(&mut objects);
        let kinds: Vec<String> = objects
            .into_iter()
            .map(|object| object.types.unwrap().kind)
            .collect();
        assert_eq!(
            kinds,
            [
                "Namespace",
                "CustomResourceDefinition",
                "Deployment",
                "Captain",
                "ValidatingWebhookConfiguration"
            ]
        );
    }
}
