//! Printers of the `rbac.authorization.k8s.io` group. Roles and cluster roles print as the default.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    matches!(kind, "ClusterRoleBinding" | "RoleBinding").then_some(&BINDING)
}

static BINDING: Printer = Printer::new(
    &[
        NAME,
        text("Role", "The role that is granted."),
        AGE,
        text("Users", "The users who are granted the role.").wide(),
        text("Groups", "The groups that are granted the role.").wide(),
        text(
            "ServiceAccounts",
            "The service accounts that are granted the role.",
        )
        .wide(),
    ],
    binding,
);

fn binding(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| {
        let of_kind = |subject: &&Value| subject["kind"].text() == kind;
        let subjects = object["subjects"].items().iter().filter(of_kind);
        subjects.map(subject).collect::<Vec<_>>().join(", ")
    };
    row![
        fields::name(object),
        format!("{}/{}", role["kind"].text(), role["name"].text()),
        age::of(object, options),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

fn subject(subject: &Value) -> String {
    let name = subject["name"].text();
    match subject["kind"].text() {
        "ServiceAccount" => format!("{}/{name}", subject["namespace"].text()),
        _ => name.to_owned(),
    }
}
