use kubewright_operator::{ControllerModel, KindModel};

use super::*;

/// An operator with a controller for captains that owns ConfigMaps, and rules for secrets and metrics.
fn model() -> Model {
    let kind = |group: &str, kind: &str, plural: &str| KindModel {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
    };
    let mut model = Model::new("crew");
    model.controllers = vec![ControllerModel {
        name: "captain".into(),
        main: Some(kind("crew.example.com", "Captain", "captains")),
        owns: Vec::new(),
        watches: vec![kind("", "ConfigMap", "configmaps")],
    }];
    model.rules = model.derived_rules();
    let token = DeclaredRule::new("", &["secrets"], &["get", "delete"]).namespace("vault");
    model
        .rules
        .extend([token, DeclaredRule::urls(&["/metrics"], &["get"])]);
    model
}

fn needed(verb: &str, group: &str, resource: &str, namespace: &str) -> Access {
    access(
        true,
        Permission::of_resource(verb, group, resource, "", namespace),
    )
}

fn access(allowed: bool, permission: Permission) -> Access {
    Access {
        user: "crew".into(),
        allowed,
        permission,
    }
}

fn rows(used: &[Access]) -> Vec<String> {
    rows_of(&model(), used)
}

fn rows_of(model: &Model, used: &[Access]) -> Vec<String> {
    let findings = compare(model, used);
    findings.iter().map(|it| it.cells().join(" | ")).collect()
}

#[test]
fn needed_permissions_without_a_grant_are_missing() {
    let rows = rows(&[
        needed("list", "", "nodes", ""),
        needed("get", "", "secrets", "vault"),
        needed("get", "", "secrets", "default"),
        access(true, Permission::of_path("get", "/debug")),
    ]);
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| row.starts_with("missing"))
        .collect();
    let expected = [
        "missing | /debug | get | ",
        "missing | nodes | list | ",
        "missing | secrets | get | ",
    ];
    assert_eq!(missing, expected);
}

#[test]
fn permissions_of_all_users_and_of_elections_are_not_missing() {
    let rows = rows(&[
        access(true, Permission::of_path("get", "/apis/apps/v1")),
        needed(
            "create",
            "authorization.k8s.io",
            "selfsubjectaccessreviews",
            "",
        ),
        needed("update", "coordination.k8s.io", "leases", "crew-system"),
    ]);
    assert!(
        !rows.iter().any(|row| row.starts_with("missing")),
        "{rows:?}"
    );
}

#[test]
fn unused_permissions_are_listed_with_their_origin() {
    let rows = rows(&[
        needed("watch", "crew.example.com", "captains", ""),
        needed("patch", "crew.example.com", "captains", "default"),
        needed("patch", "crew.example.com", "captains/status", "default"),
        needed("watch", "", "configmaps", ""),
        needed("get", "", "secrets", "vault"),
    ]);
    let expected = [
        "never used | /metrics | get | a rule of its own",
        "never used | configmaps | get | the kinds of its controllers",
        "never used | secrets | delete | a rule of its own",
        "never used | captains.crew.example.com | get, update | the kinds of its controllers",
        "never used | captains/status.crew.example.com | get, update | the kinds of its controllers",
        "never used | events.events.k8s.io | create, patch | the kinds of its controllers",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_rule_for_some_objects_leaves_others_missing() {
    let mut model = Model::new("crew");
    let token = DeclaredRule::new("", &["secrets"], &["get", "list"]);
    model.rules = vec![token.resource_names(&["token"])];
    let secrets = |verb: &str| Permission::of_resource(verb, "", "secrets", "", "vault");
    let rows = rows_of(
        &model,
        &[
            access(true, secrets("get")),
            access(false, secrets("get").named("token")),
            access(false, secrets("get").named("key")),
            access(false, secrets("get").named("seal")),
            access(false, secrets("list")),
            access(false, secrets("delete").named("old")),
        ],
    );
    let expected = [
        "missing | secrets \"key\", \"seal\" | get | ",
        "missing | secrets | delete, list | ",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn who_may_not_grant_a_permission_lacks_it() {
    let rule = |verbs: &[&str]| PolicyRule {
        verbs: verbs.iter().map(|&verb| verb.into()).collect(),
        api_groups: vec!["".into()],
        resources: vec!["pods".into()],
        ..PolicyRule::default()
    };
    let mut escalate =
        Permission::of_resource("escalate", "rbac.authorization.k8s.io", "roles", "", "shop");
    escalate.alternative = vec![rule(&["get", "list"])];
    let mut model = Model::new("crew");
    model.rules = vec![DeclaredRule::new("", &["pods"], &["get"])];
    let used = [
        access(false, escalate),
        access(true, Permission::of_resource("get", "", "pods", "", "shop")),
    ];
    assert_eq!(rows_of(&model, &used), ["missing | pods | list | "]);
    model.rules = vec![
        DeclaredRule::new("rbac.authorization.k8s.io", &["roles"], &["escalate"]),
        DeclaredRule::new("", &["pods"], &["get"]),
    ];
    assert_eq!(rows_of(&model, &used), [""; 0]);
}
