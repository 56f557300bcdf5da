//! Roles and bindings.

use kubewright_builtins::rules;
use serde_json::{Value, json};

use crate::{created, errors_of_create, named, updated};

const GROUP: &str = "rbac.authorization.k8s.io";

fn binding(role: &str) -> Value {
    json!({"metadata": named("b"), "roleRef": {"kind": "Role", "name": role}, "subjects": [
        {"kind": "User", "name": "u"},
        {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
    ]})
}

#[test]
fn the_group_of_roles_and_users_is_filled_in() {
    let stored = created(GROUP, "RoleBinding", binding("r"));
    assert_eq!(stored["roleRef"]["apiGroup"], GROUP);
    assert_eq!(stored["subjects"][0]["apiGroup"], GROUP);
    assert_eq!(stored["subjects"][1].get("apiGroup"), None);
}

#[test]
fn the_role_of_a_binding_stays() {
    let old = created(GROUP, "RoleBinding", binding("r"));
    let (_, errors) = updated(GROUP, "RoleBinding", &old, binding("other"));
    let expected = r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef"#;
    assert_eq!(errors, [expected]);
}

#[test]
fn a_rule_needs_verbs() {
    let role =
        json!({"metadata": named("r"), "rules": [{"apiGroups": [""], "resources": ["pods"]}]});
    let expected = ["rules[0].verbs: Required value: verbs must contain at least one value"];
    assert_eq!(errors_of_create(GROUP, "Role", role), expected);
}

#[test]
fn a_put_creates_roles_but_not_secrets() {
    assert!(rules(GROUP, "Role").allow_create_on_update);
    assert!(rules("coordination.k8s.io", "Lease").allow_create_on_update);
    assert!(!rules("", "Secret").allow_create_on_update);
    assert!(!rules("example.com", "Unknown").allow_create_on_update);
}
