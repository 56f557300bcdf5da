//! Volumes, claims, classes, nodes.

use kubewright_builtins::rules;
use serde_json::json;

use crate::{created, errors_of_create, named, updated};

#[test]
fn a_claim_is_pending_and_names_its_source_twice() {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "other"},
    });
    let stored = created(
        "",
        "PersistentVolumeClaim",
        json!({"metadata": named("c"), "spec": spec}),
    );
    assert_eq!(stored["spec"]["dataSourceRef"]["name"], "other");
    assert_eq!(stored["spec"]["volumeMode"], "Filesystem");
    assert_eq!(stored["status"]["phase"], "Pending");
}

#[test]
fn a_claim_needs_a_size() {
    let claim = json!({"metadata": named("c"), "spec": {"accessModes": ["ReadWriteOnce"]}});
    assert_eq!(
        errors_of_create("", "PersistentVolumeClaim", claim),
        ["spec.resources[storage]: Required value"]
    );
}

#[test]
fn a_volume_is_pending_since_it_was_made() {
    let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}});
    let volume = json!({"metadata": {"name": "v", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec});
    let stored = created("", "PersistentVolume", volume.clone());
    assert_eq!(
        stored["status"]["lastPhaseTransitionTime"],
        "2026-01-01T00:00:00Z"
    );
    assert_eq!(stored["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert!(errors_of_create("", "PersistentVolume", volume).is_empty());
}

#[test]
fn the_parameters_of_a_class_stay() {
    let class = |value: &str| json!({"metadata": {"name": "s"}, "provisioner": "example.com/p", "parameters": {"k": value}});
    let old = created("storage.k8s.io", "StorageClass", class("v"));
    assert_eq!(old["reclaimPolicy"], "Delete");
    let (_, errors) = updated("storage.k8s.io", "StorageClass", &old, class("w"));
    assert_eq!(
        errors,
        ["parameters: Invalid value: {\"k\":\"w\"}: field is immutable"]
    );
}

#[test]
fn the_value_of_a_priority_class_stays() {
    let class = |value: i64| json!({"metadata": {"name": "p"}, "value": value});
    let old = created("scheduling.k8s.io", "PriorityClass", class(10));
    let (_, errors) = updated("scheduling.k8s.io", "PriorityClass", &old, class(11));
    assert_eq!(
        errors,
        ["value: Forbidden: may not be changed in an update."]
    );
    let errors = errors_of_create("scheduling.k8s.io", "PriorityClass", class(2_000_000_000));
    assert_eq!(
        errors,
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]
    );
}

#[test]
fn a_node_can_allocate_what_it_has() {
    let node = json!({"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24"}, "status": {"capacity": {"cpu": "4"}}});
    let stored = created("", "Node", node);
    assert_eq!(stored["status"]["allocatable"], json!({"cpu": "4"}));
    assert_eq!(stored["spec"]["podCIDRs"], json!(["10.0.0.0/24"]));
}

#[test]
fn some_kinds_answer_a_delete_with_the_object() {
    for (group, kind) in [
        ("", "Pod"),
        ("", "Namespace"),
        ("storage.k8s.io", "StorageClass"),
    ] {
        assert!(rules(group, kind).returns_deleted_object, "{kind}");
    }
    for (group, kind) in [("", "ConfigMap"), ("apps", "Deployment"), ("", "Node")] {
        assert!(!rules(group, kind).returns_deleted_object, "{kind}");
    }
}
