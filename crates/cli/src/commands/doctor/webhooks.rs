//! Findings about the webhooks of an operator: those that can block the operator or the cluster.

use kubewright_machinery::labels::LabelSelector;
use kubewright_operator::{Model, WebhookModel};
use kubewright_scaffold::generate::concerns_operator;
use serde_json::Value;

use super::Finding;

/// The longest time limit that goes without a remark, in seconds: the default of the API server.
const LONG: u64 = 10;

/// The time limits that a server accepts, in seconds.
const ALLOWED: std::ops::RangeInclusive<u64> = 1..=30;

/// Resources that nodes and the control plane write all the time, or that everything else depends on.
const VITAL: [(&str, &str); 8] = [
    ("", "namespaces"),
    ("", "nodes"),
    ("", "nodes/status"),
    ("", "pods/binding"),
    ("", "pods/status"),
    ("", "serviceaccounts/token"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("coordination.k8s.io", "leases"),
];

/// Returns findings about each webhook of the operator of a project.
pub(super) fn findings(model: &Model, project: &str) -> Vec<Finding> {
    let webhooks = model.webhooks.iter();
    webhooks.flat_map(|it| of_webhook(it, project)).collect()
}

fn of_webhook(webhook: &WebhookModel, project: &str) -> Vec<Finding> {
    let entry = &webhook.webhook;
    let name = entry["name"].as_str().unwrap_or_default();
    let finding =
        |found: &str, advice: &str| Finding::warning("webhook", format!("{name} {found}"), advice);
    let mut findings = Vec::new();
    if entry["failurePolicy"] != "Ignore" && has_rule_for(entry, "", "pods") {
        if !is_restricted(entry) {
            findings.push(finding(
                "keeps every Pod of the cluster from starting while the operator is down",
                "restrict it with Webhook::namespace_selector or object_selector, or let it fail open with FailurePolicy::Ignore",
            ));
        } else if entry["namespaceSelector"].is_null() {
            findings.push(finding(
                "may keep the operator's own Pods from starting",
                "exclude the namespace of the operator with Webhook::namespace_selector",
            ));
        }
    }
    if entry["failurePolicy"] != "Ignore" {
        if concerns_operator(entry) && selects_home(&entry["namespaceSelector"], project) {
            findings.push(finding(
                "reviews objects that the operator itself needs to start, so an operator that is down may stay down",
                &format!("exclude the namespace {project}-system with Webhook::namespace_selector"),
            ));
        }
        let vital: Vec<&str> = VITAL
            .into_iter()
            .filter(|(group, resource)| {
                !is_restricted(entry) && has_rule_for(entry, group, resource)
            })
            .map(|(_, resource)| resource)
            .collect();
        if !vital.is_empty() {
            findings.push(finding(
                &format!("stops nodes or the control plane while the operator is down: it reviews all {}", vital.join(", ")),
                "name the resources it is for, restrict it with a selector, or let it fail open with FailurePolicy::Ignore",
            ));
        }
    }
    if !matches!(entry["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
        findings.push(finding(
            "does not say that dry runs have no side effects, so they are rejected",
            "declare them with Webhook::side_effects",
        ));
    }
    match entry["timeoutSeconds"].as_u64() {
        Some(seconds) if !ALLOWED.contains(&seconds) => findings.push(finding(
            &format!("has a time limit of {seconds} seconds, which clusters reject"),
            "set a Webhook::timeout from 1 to 30 seconds",
        )),
        Some(seconds) if seconds > LONG => findings.push(finding(
            "may hold up requests for more than 10 seconds",
            "set a shorter Webhook::timeout",
        )),
        _ => {}
    }
    findings
}

/// Reports whether a selector selects the namespace of the operator. Without one, `generate` excludes that namespace.
fn selects_home(selector: &Value, project: &str) -> bool {
    if selector.is_null() {
        return false;
    }
    let name = format!("{project}-system");
    // Those that the generated namespace has.
    let label = |key: &str| match key {
        "kubernetes.io/metadata.name" => Some(name.as_str()),
        "app.kubernetes.io/name" => Some(project),
        "pod-security.kubernetes.io/enforce" => Some("restricted"),
        _ => None,
    };
    LabelSelector::from_label_selector(selector).is_ok_and(|selector| selector.matches(label))
}

/// Reports whether a webhook is called for a resource.
fn has_rule_for(entry: &Value, group: &str, resource: &str) -> bool {
    let rules = entry["rules"].as_array().into_iter().flatten();
    let lists = |rule: &Value, list: &str, name: &str| {
        let items = rule[list].as_array().into_iter().flatten();
        let mut items = items.filter_map(Value::as_str);
        items.any(|item| covers(item, name))
    };
    let mut rules = rules.filter(|rule| rule["scope"] != "Cluster");
    rules.any(|rule| lists(rule, "apiGroups", group) && lists(rule, "resources", resource))
}

/// Reports whether an item of a rule stands for a group or resource. `*` stands for no subresource.
fn covers(item: &str, name: &str) -> bool {
    let (resource, subresource) = name.split_once('/').unwrap_or((name, ""));
    match item.split_once('/') {
        None => item == name || (item == "*" && subresource.is_empty()),
        Some(("*", "*")) => true,
        Some((all, "*")) => all == resource && !subresource.is_empty(),
        Some(("*", all)) => all == subresource,
        Some(_) => item == name,
    }
}

fn is_restricted(entry: &Value) -> bool {
    let conditions = entry["matchConditions"].as_array();
    ["namespaceSelector", "objectSelector"]
        .iter()
        .any(|selector| {
            entry[*selector]
                .as_object()
                .is_some_and(|it| !it.is_empty())
        })
        || conditions.is_some_and(|conditions| !conditions.is_empty())
}

#[cfg(test)]
mod tests {
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
    fn a_webhook_that_blocks_nobody_is_fine() {
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
    fn a_selector_that_lets_the_operator_in_is_found() {
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
                "vpod-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all pods/binding, pods/status"
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
}
