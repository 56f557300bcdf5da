//! Printers of the `rbac.authorization.k8s.io` group. Roles and cluster roles print as the default.

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
        let of_kind = |subject: &&Value| fields::text(&subject["kind"]) == kind;
        let subjects = fields::items(&object["subjects"]).iter().filter(of_kind);
        subjects.map(subject).collect::<Vec<_>>().join(", ")
    };
    row![
        fields::name(object),
        format!(
            "{}/{}",
            fields::text(&role["kind"]),
            fields::text(&role["name"])
        ),
        age::of(object, options),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

fn subject(subject: &Value) -> String {
    let name = fields::text(&subject["name"]);
    match fields::text(&subject["kind"]) {
        "ServiceAccount" => format!("{}/{name}", fields::text(&subject["namespace"])),
        _ => name.to_owned(),
    }
}
