//! Metrics of policies, Pod Security, audit and impersonation, as a scrape shows them.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::{
    Clock,
    audit::{Level, Policy, Ring, Stage},
};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
use serde_json::{Value, json};

use super::{ADMIN, GROUP, constraints, create, validating};
use crate::rbac::Server;

/// Returns the samples whose names begin with one of these, without those of times.
async fn scrape(server: &Server, names: &[&str]) -> Vec<String> {
    let answer = server.ask(ADMIN, "GET /metrics", Value::Null).await;
    let lines = answer.text.lines();
    let wanted = lines.filter(|line| names.iter().any(|name| line.starts_with(name)));
    wanted
        .filter(|line| !line.contains("_sum{") && !line.contains("_bucket{"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn failed_validations_are_counted_by_action_and_error() {
    let server = Server::start().await;
    let spec = json!({"validations": [
        {"expression": "object.metadata.name != 'denied'"},
        {"expression": "object.metadata.name != 'error' || object.data.none == 'x'"},
    ]});
    validating(&server, "strict", spec.clone()).await;
    let actions = json!({"spec": {"validationActions": ["Warn", "Audit"]}});
    let mut lenient = spec;
    lenient["failurePolicy"] = json!("Ignore");
    validating(&server, "lenient", lenient).await;
    let binding = format!("PATCH {GROUP}/validatingadmissionpolicybindings/lenient");
    server.admin(&binding, actions).await;
    for (name, code) in [("fine", 201), ("denied", 422), ("error", 422)] {
        assert_eq!(create(&server, name, json!({"a": "b"})).await.code, code);
    }
    let name = "apiserver_validating_admission_policy_check";
    let count = |part: &str, action: &str, policy: &str, count: usize| {
        format!(
            "{name}_{part}{{enforcement_action=\"{action}\",error_type=\"invalid_error\",policy=\"{policy}\",policy_binding=\"{policy}\"}} {count}"
        )
    };
    let mut found = scrape(&server, &[name]).await;
    found.sort();
    let mut wanted = Vec::new();
    for part in ["duration_seconds_count", "total"] {
        wanted.push(count(part, "allow", "lenient", 1));
        wanted.push(count(part, "audit", "lenient", 1));
        wanted.push(count(part, "deny", "strict", 2));
        wanted.push(count(part, "warn", "lenient", 1));
    }
    assert_eq!(found, wanted);
    let answer = server.ask(ADMIN, "GET /metrics", Value::Null).await;
    for bound in ["5e-07", "0.001", "0.01", "0.1", "1", "+Inf"] {
        let bucket = format!(",policy_binding=\"strict\",le=\"{bound}\"}}");
        assert!(answer.text.contains(&bucket), "{bound}");
    }
}

#[tokio::test]
async fn mutations_are_counted_with_their_errors() {
    let server = Server::start().await;
    let mutation = |expression: &str| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}});
    let policy = json!({"metadata": {"name": "m"}, "spec": {
        "matchConstraints": constraints("configmaps"),
        "reinvocationPolicy": "Never",
        "failurePolicy": "Ignore",
        "mutations": [
            mutation("[JSONPatch{op: 'add', path: '/data', value: {'a': 'b'}}]"),
            mutation("[JSONPatch{op: 'add', path: '/data/c', value: object.data.none}]"),
        ],
    }});
    let policies = format!("POST {GROUP}/mutatingadmissionpolicies");
    server.admin(&policies, policy).await;
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "m"}});
    let bindings = format!("POST {GROUP}/mutatingadmissionpolicybindings");
    server.admin(&bindings, binding).await;
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
    let name = "apiserver_mutating_admission_policy_check";
    let found = scrape(&server, &[name]).await;
    for part in ["duration_seconds_count", "total"] {
        for error in ["no_error", "invalid_error"] {
            let line = format!(
                "{name}_{part}{{error_type=\"{error}\",policy=\"m\",policy_binding=\"b\"}} 1"
            );
            assert!(found.contains(&line), "{line} in {found:#?}");
        }
    }
}

#[tokio::test]
async fn pod_security_counts_decisions_exemptions_and_errors() {
    let server = Server::start().await;
    let namespace = json!({"metadata": {"name": "strict", "labels": {
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/warn": "restricted",
        "pod-security.kubernetes.io/warn-version": "v1.30",
        "pod-security.kubernetes.io/audit": "restricted",
        "pod-security.kubernetes.io/audit-version": "v1.99",
    }}});
    server.admin("POST /api/v1/namespaces", namespace).await;
    let pod = |name: &str, spec: Value| {
        let mut pod = json!({"metadata": {"name": name}, "spec": {
            "containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": false,
        }});
        for (key, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][key] = value.clone();
        }
        pod
    };
    for (namespace, name, spec, code) in [
        ("default", "a", json!({}), 201),
        ("strict", "b", json!({}), 201),
        ("strict", "c", json!({"hostNetwork": true}), 403),
    ] {
        let account = json!({"metadata": {"name": "default"}});
        let accounts = format!("POST /api/v1/namespaces/{namespace}/serviceaccounts");
        server.ask(ADMIN, &accounts, account).await;
        let pods = format!("POST /api/v1/namespaces/{namespace}/pods");
        let answer = server.ask(ADMIN, &pods, pod(name, spec)).await;
        assert_eq!(answer.code, code, "{}", answer.text);
    }
    let evaluations = |decision: &str,
                       mode: &str,
                       level: &str,
                       version: &str,
                       operation: &str,
                       count: u64| {
        format!(
            "pod_security_evaluations_total{{decision=\"{decision}\",mode=\"{mode}\",policy_level=\"{level}\",policy_version=\"{version}\",request_operation=\"{operation}\",resource=\"pod\",subresource=\"\"}} {count}"
        )
    };
    let mut found = scrape(&server, &["pod_security_"]).await;
    found.sort();
    let exemption = |operation: &str, resource: &str| {
        format!(
            "pod_security_exemptions_total{{request_operation=\"{operation}\",resource=\"{resource}\",subresource=\"\"}} 0"
        )
    };
    assert_eq!(
        found,
        [
            evaluations("allow", "enforce", "baseline", "latest", "create", 1),
            evaluations("allow", "enforce", "privileged", "latest", "create", 1),
            evaluations("allow", "enforce", "privileged", "latest", "update", 0),
            evaluations("deny", "audit", "restricted", "future", "create", 2),
            evaluations("deny", "enforce", "baseline", "latest", "create", 1),
            evaluations("deny", "warn", "restricted", "v1.30", "create", 1),
            exemption("create", "controller"),
            exemption("create", "pod"),
            exemption("update", "controller"),
            exemption("update", "pod"),
        ]
    );
}

/// A clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_900_000_000).expect("a time")
    }
}

#[tokio::test]
async fn audit_counts_its_events_and_has_the_time_of_the_cluster() {
    let builder = KubeApiServer::builder()
        .clock(Arc::new(Stopped))
        .authorization([AuthorizationMode::Rbac]);
    let ring = Ring::new(10);
    let policy = Policy::everything(Level::Metadata).without(Stage::RequestReceived);
    let server = Server::of(builder.audit(policy, Arc::new(ring.clone()))).await;
    let count =
        |found: &[String], line: &str| assert!(found.iter().any(|l| l == line), "{found:?}");
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
    let found = scrape(&server, &["apiserver_audit_"]).await;
    count(&found, "apiserver_audit_event_total 1");
    count(&found, "apiserver_audit_requests_rejected_total 0");
    // The request for the metrics has been decided on, and is not complete yet.
    count(&found, "apiserver_audit_level_total{level=\"Metadata\"} 2");
    let event = &ring.events()[0];
    assert_eq!(event.request_received, Stopped.now());
    assert_eq!(event.stage_timestamp, Stopped.now());
}

#[tokio::test]
async fn impersonation_counts_attempts_and_checks() {
    let server = Server::start().await;
    let headers = [("impersonate-user", "zoe")];
    for user in [ADMIN, "alice"] {
        let answer = server
            .send(user, "GET /version", &headers, Value::Null)
            .await;
        assert_eq!(answer.code, if user == ADMIN { 200 } else { 403 });
    }
    let name = "apiserver_impersonation_";
    let found = scrape(&server, &[name]).await;
    for line in [
        "attempts_total{decision=\"allowed\",mode=\"user-info\"} 1",
        "attempts_total{decision=\"denied\",mode=\"\"} 1",
        "attempts_duration_seconds_count{decision=\"allowed\",mode=\"user-info\"} 1",
        "authorization_attempts_total{decision=\"allowed\",mode=\"user-info\"} 2",
        "authorization_attempts_total{decision=\"denied\",mode=\"user-info\"} 1",
        "authorization_attempts_total{decision=\"denied\",mode=\"legacy\"} 1",
        "authorization_attempts_duration_seconds_count{decision=\"denied\",mode=\"legacy\"} 1",
    ] {
        let line = format!("{name}{line}");
        assert!(found.contains(&line), "{line} in {found:#?}");
    }
}
