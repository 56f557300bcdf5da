use serde_json::json;

use super::*;

fn found(change: Value) -> Vec<String> {
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"], "apiVersions": ["v1"]});
    let mut entry = json!({
        "name": "vpod-v1.kb.io", "failurePolicy": "Fail", "sideEffects": "None", "rules": [rule],
        "namespaceSelector": {"matchLabels": {"crew": "yes"}},
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    let webhook = json!({"type": "validating", "path": "/validate--v1-pod", "webhook": entry});
    let model = Model {
        webhooks: vec![serde_json::from_value(webhook).unwrap()],
        ..Model::new("crew")
    };
    let findings = findings(&model, "crew");
    findings.into_iter().map(|finding| finding.found).collect()
}

#[test]
fn harmless_webhooks_are_accepted() {
    assert!(found(json!({})).is_empty());
    let captains = json!([{"apiGroups": ["crew.example.com"], "resources": ["captains"]}]);
    assert!(found(json!({"rules": captains, "namespaceSelector": null})).is_empty());
    assert!(found(json!({"failurePolicy": "Ignore", "namespaceSelector": null})).is_empty());
}

#[test]
fn webhooks_that_can_block_are_found() {
    let all = json!([{"apiGroups": ["*"], "resources": ["*/*"]}]);
    let open = json!({"namespaceSelector": null, "rules": all});
    assert_eq!(
        found(open),
        [
            "vpod-v1.kb.io keeps every Pod of the cluster from starting while the operator is down",
            "vpod-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all namespaces, nodes, \
             nodes/status, pods/binding, pods/status, serviceaccounts/token, customresourcedefinitions, leases",
        ]
    );
    let labelled =
        json!({"namespaceSelector": null, "objectSelector": {"matchLabels": {"a": "b"}}});
    assert_eq!(
        found(labelled),
        ["vpod-v1.kb.io may keep the operator's own Pods from starting"]
    );
    assert_eq!(
        found(json!({"sideEffects": null, "timeoutSeconds": 30})),
        [
            "vpod-v1.kb.io does not say that dry runs have no side effects, so they are rejected",
            "vpod-v1.kb.io may hold up requests for more than 10 seconds",
        ]
    );
}

#[test]
fn a_selector_that_includes_the_operator_is_found() {
    let expression = |operator: &str, namespace: &str| {
        json!({"namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": operator, "values": [namespace]},
        ]}})
    };
    let blocked = [
        "vpod-v1.kb.io reviews objects that the operator itself needs to start, so an operator that is down may stay down",
    ];
    assert_eq!(found(expression("NotIn", "kube-system")), blocked);
    assert_eq!(found(expression("In", "crew-system")), blocked);
    assert!(found(expression("NotIn", "crew-system")).is_empty());
    let mut open = expression("NotIn", "kube-system");
    open["failurePolicy"] = json!("Ignore");
    assert!(found(open).is_empty());
}

#[test]
fn webhooks_for_what_the_cluster_needs_are_found() {
    let heartbeats = json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}]);
    assert_eq!(
        found(json!({"rules": heartbeats, "namespaceSelector": null})),
        [
            "vpod-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all leases"
        ]
    );
    let of_pods = json!([{"apiGroups": [""], "resources": ["pods/*"]}]);
    assert_eq!(
        found(json!({"rules": of_pods, "namespaceSelector": null})),
        [
            "vpod-v1.kb.io keeps every Pod of the cluster from starting while the operator is down",
            "vpod-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all pods/binding, pods/status",
        ]
    );
    let scale = json!([{"apiGroups": ["*"], "resources": ["*/scale"]}]);
    assert!(found(json!({"rules": scale, "namespaceSelector": null})).is_empty());
}

#[test]
fn a_time_limit_that_clusters_reject_is_found() {
    assert_eq!(
        found(json!({"timeoutSeconds": 31})),
        ["vpod-v1.kb.io has a time limit of 31 seconds, which clusters reject"]
    );
    assert!(found(json!({"timeoutSeconds": 10})).is_empty());
}

#[test]
fn a_namespace_selector_does_not_restrict_objects_of_the_cluster() {
    let stops = |resources: &str| {
        format!(
            "vpod-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all {resources}"
        )
    };
    let nodes = json!([{"apiGroups": [""], "resources": ["nodes"], "scope": "Cluster"}]);
    assert_eq!(found(json!({"rules": nodes})), [stops("nodes")]);
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "scope": "*"}]);
    let selected = found(json!({"rules": all}));
    assert!(
        selected.contains(&stops("nodes, customresourcedefinitions")),
        "{selected:?}"
    );
    let namespaced = json!([{"apiGroups": ["*"], "resources": ["*"], "scope": "Namespaced"}]);
    assert!(found(json!({"rules": namespaced})).is_empty());
    let namespaces = json!([{"apiGroups": [""], "resources": ["namespaces"]}]);
    assert!(found(json!({"rules": namespaces})).is_empty());
    let labelled = json!({"rules": nodes, "objectSelector": {"matchLabels": {"a": "b"}}});
    assert!(found(labelled).is_empty());
}

#[test]
fn an_empty_selector_restricts_nothing() {
    let empty = json!({"namespaceSelector": {"matchLabels": {}, "matchExpressions": []}});
    let blocked = format!("vpod-v1.kb.io {BLOCKS_PODS}");
    assert!(found(empty).contains(&blocked));
}

#[test]
fn webhooks_of_others_that_block_the_cluster_are_found() {
    let found = |entry: &Value| -> Vec<String> {
        let findings = of_cluster("guard", entry);
        findings.into_iter().map(|finding| finding.found).collect()
    };
    let mut entry = json!({
        "name": "all.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 30,
        "rules": [{"apiGroups": [""], "resources": ["pods", "nodes"]}],
    });
    assert_eq!(
        found(&entry),
        [
            "all.example.com in guard keeps every Pod of the cluster from starting while its server is down",
            "all.example.com in guard stops all writes of nodes while its server is down",
        ]
    );
    entry["failurePolicy"] = json!("Ignore");
    assert!(found(&entry).is_empty());
}
