//! Findings about webhooks: those that can block their operator or the cluster.

use kubewright_machinery::labels::LabelSelector;
use kubewright_operator::{Model, WebhookModel};
use kubewright_scaffold::generate::{concerns_operator, has_rule_for};
use serde_json::Value;

use super::Finding;

/// The longest time limit that goes without a remark, in seconds: the default of the API server.
const LONG: u64 = 10;

/// The time limits that a server accepts, in seconds.
const ALLOWED: std::ops::RangeInclusive<u64> = 1..=30;

/// Resources that nodes and the control plane write all the time, or that everything else depends on.
const VITAL: [Vital; 8] = [
    Vital::of_cluster("", "namespaces"),
    Vital::of_cluster("", "nodes"),
    Vital::of_cluster("", "nodes/status"),
    Vital::namespaced("", "pods/binding"),
    Vital::namespaced("", "pods/status"),
    Vital::namespaced("", "serviceaccounts/token"),
    Vital::of_cluster("apiextensions.k8s.io", "customresourcedefinitions"),
    Vital::namespaced("coordination.k8s.io", "leases"),
];

/// A resource that a cluster needs.
struct Vital {
    group: &'static str,
    resource: &'static str,
    namespaced: bool,
}

impl Vital {
    const fn of_cluster(group: &'static str, resource: &'static str) -> Self {
        Self {
            group,
            resource,
            namespaced: false,
        }
    }

    const fn namespaced(group: &'static str, resource: &'static str) -> Self {
        Self {
            group,
            resource,
            namespaced: true,
        }
    }

    /// Reports whether a webhook reviews all objects of the resource.
    fn is_reviewed(&self, entry: &Value) -> bool {
        // A namespace selector is about the namespace of an object, which is itself for a namespace. Other objects without a
        // namespace are always selected.
        let restricting: &[&str] = match self.namespaced || self.resource == "namespaces" {
            true => &["namespaceSelector", "objectSelector"],
            false => &["objectSelector"],
        };
        has_rule_for(entry, self.group, self.resource, self.namespaced)
            && !is_restricted(entry, restricting)
    }
}

const BLOCKS_PODS: &str = "keeps every Pod of the cluster from starting while the operator is down";

/// Returns findings about each webhook of the operator of a project.
pub(in crate::commands) fn findings(model: &Model, project: &str) -> Vec<Finding> {
    let webhooks = model.webhooks.iter();
    webhooks.flat_map(|it| of_webhook(it, project)).collect()
}

/// Returns findings about a webhook of somebody else, in a configuration of the cluster: those that block others.
pub(super) fn of_cluster(configuration: &str, entry: &Value) -> Vec<Finding> {
    if entry["failurePolicy"] == "Ignore" {
        return Vec::new();
    }
    let name = entry["name"].as_str().unwrap_or_default();
    let finding = |found: &str| {
        let found = format!("{name} in {configuration} {found} while its server is down");
        let advice = "restrict its rules or selectors, or set its failurePolicy to Ignore";
        Finding::warning("webhook", found, advice)
    };
    let mut findings = Vec::new();
    if blocks_pods(entry) {
        findings.push(finding("keeps every Pod of the cluster from starting"));
    }
    if let Some(blocked) = blocks_cluster(entry) {
        findings.push(finding(&format!("stops all writes of {blocked}")));
    }
    findings
}

fn of_webhook(webhook: &WebhookModel, project: &str) -> Vec<Finding> {
    let entry = &webhook.webhook;
    let name = entry["name"].as_str().unwrap_or_default();
    let finding =
        |found: &str, advice: &str| Finding::warning("webhook", format!("{name} {found}"), advice);
    let mut findings = Vec::new();
    if entry["failurePolicy"] != "Ignore" {
        if blocks_pods(entry) {
            findings.push(finding(
                BLOCKS_PODS,
                "restrict it with Webhook::namespace_selector or object_selector, or let it fail open with FailurePolicy::Ignore",
            ));
        } else if has_rule_for(entry, "", "pods", true) && entry["namespaceSelector"].is_null() {
            findings.push(finding(
                "may keep the operator's own Pods from starting",
                "exclude the namespace of the operator with Webhook::namespace_selector",
            ));
        }
        if concerns_operator(entry) && selects_home(&entry["namespaceSelector"], project) {
            findings.push(finding(
                "reviews objects that the operator itself needs to start, so an operator that is down may stay down",
                &format!("exclude the namespace {project}-system with Webhook::namespace_selector"),
            ));
        }
        if let Some(blocked) = blocks_cluster(entry) {
            findings.push(finding(
                &format!("stops nodes or the control plane while the operator is down: it reviews all {blocked}"),
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

/// Reports whether a webhook that fails keeps all Pods from being created.
fn blocks_pods(entry: &Value) -> bool {
    has_rule_for(entry, "", "pods", true)
        && !is_restricted(entry, &["namespaceSelector", "objectSelector"])
}

/// Returns the resources that the cluster needs and whose writes fail with a webhook.
fn blocks_cluster(entry: &Value) -> Option<String> {
    let vital = VITAL.iter().filter(|vital| vital.is_reviewed(entry));
    let names: Vec<&str> = vital.map(|vital| vital.resource).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Reports whether a condition or one of some selectors restricts what a webhook reviews.
fn is_restricted(entry: &Value, selectors: &[&str]) -> bool {
    let conditions = entry["matchConditions"].as_array();
    let is_set = |selector: &&str| {
        let selector = entry[*selector].as_object().into_iter().flatten();
        selector
            .filter(|(_, requirements)| !is_empty(requirements))
            .count()
            > 0
    };
    selectors.iter().any(is_set) || conditions.is_some_and(|conditions| !conditions.is_empty())
}

fn is_empty(requirements: &Value) -> bool {
    match requirements {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        other => other.is_null(),
    }
}

#[cfg(test)]
mod tests;
