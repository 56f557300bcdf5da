//! Findings about the webhooks of an operator: those that can block the operator or the cluster.

use kubewright_operator::{Model, WebhookModel};
use serde_json::Value;

use super::Finding;

/// The longest time limit that goes without a remark, in seconds: the default of the API server.
const LONG: u64 = 10;

/// Returns findings about each webhook.
pub(super) fn findings(model: &Model) -> Vec<Finding> {
    model.webhooks.iter().flat_map(of_webhook).collect()
}

fn of_webhook(webhook: &WebhookModel) -> Vec<Finding> {
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
    if !matches!(entry["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
        findings.push(finding(
            "does not say that dry runs have no side effects, so they are rejected",
            "declare them with Webhook::side_effects",
        ));
    }
    if entry["timeoutSeconds"]
        .as_u64()
        .is_some_and(|seconds| seconds > LONG)
    {
        findings.push(finding(
            "may hold up requests for more than 10 seconds",
            "set a shorter Webhook::timeout",
        ));
    }
    findings
}

/// Reports whether a webhook is called for a resource.
fn has_rule_for(entry: &Value, group: &str, resource: &str) -> bool {
    let rules = entry["rules"].as_array().into_iter().flatten();
    let lists = |rule: &Value, list: &str, name: &str| {
        let items = rule[list].as_array().into_iter().flatten();
        let mut items = items.filter_map(Value::as_str);
        items.any(|item| matches!(item, "*" | "*/*") || item == name)
    };
    let mut rules = rules.filter(|rule| rule["scope"] != "Cluster");
    rules.any(|rule| lists(rule, "apiGroups", group) && lists(rule, "resources", resource))
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
        let findings = findings(&model);
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
                "vpod-v1.kb.io keeps every Pod of the cluster from starting while the operator is down"
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
}
