//! Deployments, stateful sets, jobs and the rest.

use kubewright_builtins::rules;
use kubewright_machinery::PropagationPolicy;
use serde_json::{Value, json};

use crate::{created, errors_of_create, named, template, updated};

fn workload(more: Value) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template()});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"metadata": named("w"), "spec": spec})
}

#[test]
fn a_deployment_rolls_by_a_quarter() {
    let stored = created("apps", "Deployment", workload(json!({})));
    let spec = &stored["spec"];
    assert_eq!(
        spec["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["progressDeadlineSeconds"], 600);
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["template"]["spec"]["restartPolicy"], "Always");
}

#[test]
fn a_selector_matches_its_template_and_stays() {
    let old = created("apps", "Deployment", workload(json!({})));
    let new = workload(json!({"selector": {"matchLabels": {"app": "b"}}}));
    let (_, errors) = updated("apps", "Deployment", &old, new);
    assert_eq!(
        errors,
        [
            "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable",
        ]
    );
}

#[test]
fn pods_of_workloads_are_restarted_always() {
    let mut deployment = workload(json!({"replicas": -1}));
    deployment["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    assert_eq!(
        errors_of_create("apps", "Deployment", deployment),
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
        ]
    );
}

#[test]
fn a_stateful_set_keeps_what_it_is_built_on() {
    let old = created("apps", "StatefulSet", workload(json!({"serviceName": "s"})));
    assert_eq!(old["spec"]["podManagementPolicy"], "OrderedReady");
    let (_, errors) = updated(
        "apps",
        "StatefulSet",
        &old,
        workload(json!({"serviceName": "t"})),
    );
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("spec: Forbidden: updates to statefulset spec for fields other than")
    );
    let (_, errors) = updated(
        "apps",
        "StatefulSet",
        &old,
        workload(json!({"serviceName": "s", "replicas": 5})),
    );
    assert!(errors.is_empty());
}

#[test]
fn claims_of_a_stateful_set_count_as_volumes() {
    let mut set = workload(json!({"volumeClaimTemplates": [{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]}));
    set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "data", "mountPath": "/d"}]);
    assert!(errors_of_create("apps", "StatefulSet", set).is_empty());
}

#[test]
fn a_replication_controller_takes_its_selector_from_the_template() {
    let rc = json!({"metadata": named("rc"), "spec": {"template": template()}});
    let stored = created("", "ReplicationController", rc);
    assert_eq!(stored["spec"]["selector"], json!({"app": "a"}));
    assert_eq!(stored["metadata"]["labels"], json!({"app": "a"}));
    assert_eq!(
        rules("", "ReplicationController").default_propagation,
        Some(PropagationPolicy::Orphan)
    );
}

fn job(more: Value) -> Value {
    let mut spec = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"metadata": named("j"), "spec": spec})
}

#[test]
fn a_job_selects_its_pods_by_its_uid() {
    let stored = created("batch", "Job", job(json!({})));
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
    assert_eq!(stored["spec"]["selector"], selector);
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "job-name": "j",
    });
    assert_eq!(stored["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(stored["metadata"]["labels"], labels);
    assert_eq!(stored["spec"]["backoffLimit"], 6);
    assert!(errors_of_create("batch", "Job", job(json!({}))).is_empty());
}

#[test]
fn the_completions_of_a_job_are_fixed() {
    let old = created("batch", "Job", job(json!({})));
    let mut new = old.clone();
    new["spec"]["completions"] = json!(3);
    let (_, errors) = updated("batch", "Job", &old, new);
    assert_eq!(
        errors,
        ["spec.completions: Invalid value: 3: field is immutable"]
    );
}

#[test]
fn a_cron_job_needs_a_schedule_that_can_be_read() {
    let cron = |schedule: &str| json!({"metadata": named("c"), "spec": {"schedule": schedule, "jobTemplate": {"spec": job(json!({}))["spec"]}}});
    assert!(errors_of_create("batch", "CronJob", cron("*/5 * * * *")).is_empty());
    assert_eq!(
        errors_of_create("batch", "CronJob", cron("")),
        ["spec.schedule: Required value"]
    );
    let errors = errors_of_create("batch", "CronJob", cron("61 * * * *"));
    assert_eq!(
        errors,
        ["spec.schedule: Invalid value: \"61 * * * *\": end of range (61) above maximum (59): 61"]
    );
}
