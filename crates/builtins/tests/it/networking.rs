//! Ingresses, network policies, autoscalers, budgets.

use serde_json::{Value, json};

use crate::{created, errors_of_create, named};

const GROUP: &str = "networking.k8s.io";

#[test]
fn a_policy_that_says_something_about_egress_is_about_egress() {
    let policy = |spec: Value| json!({"metadata": named("p"), "spec": spec});
    let deny = created(GROUP, "NetworkPolicy", policy(json!({"podSelector": {}})));
    assert_eq!(deny["spec"]["policyTypes"], json!(["Ingress"]));
    let both = created(
        GROUP,
        "NetworkPolicy",
        policy(json!({"podSelector": {}, "egress": [{"ports": [{"port": 1}]}]})),
    );
    assert_eq!(both["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(both["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
}

#[test]
fn an_exception_lies_within_its_range() {
    let block = json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}});
    let policy = json!({"metadata": named("p"), "spec": {"podSelector": {}, "ingress": [{"from": [block]}]}});
    let expected = [
        "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
    ];
    assert_eq!(errors_of_create(GROUP, "NetworkPolicy", policy), expected);
}

#[test]
fn a_backend_needs_a_port() {
    let path = json!({"path": "nope", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {}}}});
    let ingress = json!({"metadata": named("i"), "spec": {"rules": [{"http": {"paths": [path]}}]}});
    assert_eq!(
        errors_of_create(GROUP, "Ingress", ingress),
        [
            "spec.rules[0].http.paths[0].path: Invalid value: \"nope\": must be an absolute path",
            "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
        ]
    );
}

#[test]
fn an_autoscaler_looks_at_the_cpu_by_default() {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let scaler = json!({"apiVersion": "autoscaling/v2", "metadata": named("h"), "spec": {"maxReplicas": 3, "scaleTargetRef": target}});
    let stored = created("autoscaling", "HorizontalPodAutoscaler", scaler.clone());
    assert_eq!(
        stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        80
    );
    assert_eq!(stored["spec"]["minReplicas"], 1);
    assert!(errors_of_create("autoscaling", "HorizontalPodAutoscaler", scaler).is_empty());
}

#[test]
fn the_most_replicas_are_not_fewer_than_the_least() {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let spec = json!({"minReplicas": 5, "maxReplicas": 4, "scaleTargetRef": target});
    let errors = errors_of_create(
        "autoscaling",
        "HorizontalPodAutoscaler",
        json!({"metadata": named("h"), "spec": spec}),
    );
    assert_eq!(
        errors,
        ["spec.maxReplicas: Invalid value: 4: must be greater than or equal to `minReplicas`"]
    );
}

#[test]
fn a_budget_has_a_minimum_or_a_maximum() {
    let spec = json!({"minAvailable": 1, "maxUnavailable": "10%"});
    let errors = errors_of_create(
        "policy",
        "PodDisruptionBudget",
        json!({"metadata": named("b"), "spec": spec}),
    );
    assert_eq!(errors.len(), 1);
    assert!(errors[0].ends_with("minAvailable and maxUnavailable cannot be both set"));
}
