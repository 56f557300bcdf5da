//! The permissions that controllers need, derived from the kinds they watch and own.
//!
//! A controller reads and updates the kind it is for, with its status and finalizers; it has full access to the kinds it
//! owns, and read access to the kinds it only watches. Every controller may create events.

use crate::model::{ControllerModel, KindModel, PolicyRule};

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

fn rule(kind: &KindModel, subresource: &str, verbs: &[&str]) -> PolicyRule {
    let resource = format!("{}{subresource}", kind.plural);
    PolicyRule::new(&kind.group, &[&resource], verbs)
}
