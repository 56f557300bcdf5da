//! The permissions that controllers and webhooks need, derived from the kinds they watch and own.
//!
//! A controller may read and update the kind that it reconciles, with its status and finalizers; it has full access to the kinds
//! that it owns, and read access to those that it only watches. Every controller may create events.

use crate::{
    model::{ControllerModel, KindModel, Model, PolicyRule, WebhookType},
    names::WebhookNames,
};

const READ: [&str; 3] = ["get", "list", "watch"];
const UPDATE: [&str; 5] = ["get", "list", "patch", "update", "watch"];
const FULL: [&str; 7] = [
    "create", "delete", "get", "list", "patch", "update", "watch",
];

/// Returns the permissions of these controllers; none if there are no controllers.
pub(crate) fn rules(controllers: &[ControllerModel]) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for controller in controllers {
        if let Some(main) = &controller.main {
            rules.push(rule(main, "", &UPDATE));
            rules.push(rule(main, "/status", &["get", "patch", "update"]));
            rules.push(rule(main, "/finalizers", &["update"]));
        }
        rules.extend(controller.owns.iter().map(|kind| rule(kind, "", &FULL)));
        rules.extend(controller.watches.iter().map(|kind| rule(kind, "", &READ)));
    }
    if !controllers.is_empty() {
        rules.push(PolicyRule::new(
            "events.k8s.io",
            &["events"],
            &["create", "patch"],
        ));
    }
    rules
}

/// Returns the permissions to store the certificates of webhooks in a Secret, and to write `caBundle`s.
pub(crate) fn webhook_rules(model: &Model, namespace: &str, service: &str) -> Vec<PolicyRule> {
    if !model.serves_webhooks() {
        return Vec::new();
    }
    let names = WebhookNames::of(service);
    let change = |group: &str, resource: &str, names: &[&str]| {
        PolicyRule::new(group, &[resource], &["get", "update"]).resource_names(names)
    };
    let mut rules = vec![
        PolicyRule::new("", &["secrets"], &["create"]).namespace(namespace),
        change("", "secrets", &[&names.secret]).namespace(namespace),
    ];
    for (type_, resource, name) in [
        (
            WebhookType::Mutating,
            "mutatingwebhookconfigurations",
            &names.mutating,
        ),
        (
            WebhookType::Validating,
            "validatingwebhookconfigurations",
            &names.validating,
        ),
    ] {
        if model.webhooks.iter().any(|webhook| webhook.type_ == type_) {
            rules.push(change("admissionregistration.k8s.io", resource, &[name]));
        }
    }
    if !model.conversions.is_empty() {
        let crds: Vec<&str> = model.conversions.iter().map(String::as_str).collect();
        let resource = "customresourcedefinitions";
        rules.push(change("apiextensions.k8s.io", resource, &crds));
    }
    rules
}

fn rule(kind: &KindModel, subresource: &str, verbs: &[&str]) -> PolicyRule {
    let resource = format!("{}{subresource}", kind.plural);
    PolicyRule::new(&kind.group, &[&resource], verbs)
}
