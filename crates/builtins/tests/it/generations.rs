//! Generations, and writes that keep the status.

use serde_json::{Value, json};

use crate::{created, named, template, updated};

fn deployment(replicas: u32) -> Value {
    let spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template()});
    json!({"metadata": named("d"), "spec": spec, "status": {"replicas": 7}})
}

#[test]
fn a_new_object_has_no_status_and_is_of_the_first_generation() {
    let stored = created("apps", "Deployment", deployment(1));
    assert!(stored.get("status").is_none());
    assert_eq!(stored["metadata"]["generation"], 1);
}

#[test]
fn a_change_of_the_spec_makes_the_next_generation() {
    let old = created("apps", "Deployment", deployment(1));
    let (same, errors) = updated("apps", "Deployment", &old, deployment(1));
    assert!(errors.is_empty());
    assert_eq!(same["metadata"]["generation"], 1);
    let (changed, _) = updated("apps", "Deployment", &old, deployment(2));
    assert_eq!(changed["metadata"]["generation"], 2);
    assert!(changed.get("status").is_none());
}

#[test]
fn annotations_of_a_deployment_count_as_well() {
    let old = created("apps", "Deployment", deployment(1));
    let mut new = deployment(1);
    new["metadata"]["annotations"] = json!({"a": "b"});
    let (changed, _) = updated("apps", "Deployment", &old, new);
    assert_eq!(changed["metadata"]["generation"], 2);
}

#[test]
fn a_daemon_set_counts_its_templates() {
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template()});
    let old = created(
        "apps",
        "DaemonSet",
        json!({"metadata": named("d"), "spec": spec}),
    );
    let count = |set: &Value| {
        set["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    assert_eq!(count(&old), "1");
    let mut new = json!({"metadata": named("d"), "spec": spec});
    new["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
    let (changed, errors) = updated("apps", "DaemonSet", &old, new);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(count(&changed), "2");
    assert_eq!(changed["metadata"]["generation"], 2);
}

#[test]
fn config_has_no_generation() {
    let stored = created("", "ConfigMap", json!({"metadata": named("c")}));
    assert!(stored["metadata"].get("generation").is_none());
}
