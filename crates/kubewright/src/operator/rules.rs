//! The permissions that controllers need, from what they watch and own.
//!
//! The kind a controller is for: read, changed, its status and finalizers kept. What it owns: everything. What it only
//! watches: read. And events about all of them.

use super::model::{ControllerModel, KindModel, RuleModel};

const READ: [&str; 3] = ["get", "list", "watch"];
const CHANGE: [&str; 5] = ["get", "list", "patch", "update", "watch"];
const OWN: [&str; 7] = [
    "create", "delete", "get", "list", "patch", "update", "watch",
];

/// What these controllers need; nothing if there are none.
pub(super) fn of_controllers(controllers: &[ControllerModel]) -> Vec<RuleModel> {
    let mut rules = Vec::new();
    for controller in controllers {
        if let Some(main) = &controller.main {
            rules.push(on(main, "", &CHANGE));
            rules.push(on(main, "/status", &["get", "patch", "update"]));
            rules.push(on(main, "/finalizers", &["update"]));
        }
        rules.extend(controller.owns.iter().map(|kind| on(kind, "", &OWN)));
        rules.extend(controller.watches.iter().map(|kind| on(kind, "", &READ)));
    }
    if !controllers.is_empty() {
        rules.push(RuleModel::new(
            "events.k8s.io",
            &["events"],
            &["create", "patch"],
        ));
    }
    rules
}

fn on(kind: &KindModel, subresource: &str, verbs: &[&str]) -> RuleModel {
    let resource = format!("{}{subresource}", kind.plural);
    RuleModel::new(&kind.group, &[&resource], verbs)
}
