use serde_json::{Value, json};

use super::*;

fn put(index: &mut Index, kind: PolicyKind, path: &str, object: Value) {
    index.put(kind, &path.into(), &object.to_string().into());
}

fn role(verbs: &[&str]) -> Value {
    json!({"rules": [{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]})
}

fn binding(role: (&str, &str), subjects: Value) -> Value {
    json!({"roleRef": {"kind": role.0, "name": role.1}, "subjects": subjects})
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    }
}

/// Returns the verbs that a user has in a namespace, and the missing roles.
fn verbs(index: &Index, user: &UserInfo, namespace: &str) -> String {
    let (rules, missing) = index.rules_for(user, namespace);
    let rules = rules.iter().flat_map(|rules| rules.iter());
    let verbs = rules.flat_map(|rule| rule.verbs.clone());
    let missing = missing.iter().map(ToString::to_string);
    verbs.chain(missing).collect::<Vec<_>>().join(" ")
}

#[test]
fn cluster_bindings_come_first_then_those_of_the_namespace_by_name() {
    let mut index = Index::default();
    for name in ["a", "b", "c", "d"] {
        put(&mut index, PolicyKind::ClusterRole, name, role(&[name]));
    }
    let me = json!([{"kind": "User", "name": "me"}]);
    let all = json!([{"kind": "Group", "name": "all"}, {"kind": "User", "name": "me"}]);
    let cluster = ("ClusterRole", "b");
    put(
        &mut index,
        PolicyKind::ClusterRoleBinding,
        "z",
        binding(cluster, me.clone()),
    );
    let cluster = ("ClusterRole", "a");
    put(
        &mut index,
        PolicyKind::ClusterRoleBinding,
        "y",
        binding(cluster, all.clone()),
    );
    let local = ("ClusterRole", "d");
    put(
        &mut index,
        PolicyKind::RoleBinding,
        "shop/b",
        binding(local, me),
    );
    let local = ("ClusterRole", "c");
    put(
        &mut index,
        PolicyKind::RoleBinding,
        "shop/a",
        binding(local, all),
    );
    let me = user("me", &["all"]);
    assert_eq!(verbs(&index, &me, "shop"), "a b c d");
    assert_eq!(verbs(&index, &me, "other"), "a b");
    assert_eq!(verbs(&index, &me, ""), "a b");
    assert_eq!(verbs(&index, &user("you", &["all"]), "shop"), "a c");
    assert_eq!(verbs(&index, &user("you", &[]), "shop"), "");
}

#[test]
fn service_accounts_are_users_of_their_namespace() {
    let mut index = Index::default();
    put(&mut index, PolicyKind::ClusterRole, "r", role(&["get"]));
    let account = |namespace: Option<&str>| {
        let subject = json!({"kind": "ServiceAccount", "name": "web", "namespace": namespace});
        let mut subject = subject;
        if namespace.is_none() {
            subject.as_object_mut().unwrap().remove("namespace");
        }
        binding(("ClusterRole", "r"), json!([subject]))
    };
    put(
        &mut index,
        PolicyKind::RoleBinding,
        "shop/own",
        account(None),
    );
    put(
        &mut index,
        PolicyKind::RoleBinding,
        "data/foreign",
        account(Some("shop")),
    );
    put(
        &mut index,
        PolicyKind::ClusterRoleBinding,
        "nobody",
        account(None),
    );
    let web = user("system:serviceaccount:shop:web", &[]);
    assert_eq!(verbs(&index, &web, "shop"), "get");
    assert_eq!(verbs(&index, &web, "data"), "get");
    assert_eq!(verbs(&index, &web, ""), "");
    let other = user("system:serviceaccount:data:web", &[]);
    assert_eq!(verbs(&index, &other, "data"), "");
    assert_eq!(verbs(&index, &user("web", &[]), "shop"), "");
}

#[test]
fn a_role_is_that_of_the_bindings_namespace() {
    let mut index = Index::default();
    put(&mut index, PolicyKind::Role, "shop/r", role(&["get"]));
    let me = || json!([{"kind": "User", "name": "me"}]);
    for namespace in ["shop", "data"] {
        let path = format!("{namespace}/b");
        let object = binding(("Role", "r"), me());
        put(&mut index, PolicyKind::RoleBinding, &path, object);
    }
    let me = user("me", &[]);
    assert_eq!(verbs(&index, &me, "shop"), "get");
    assert_eq!(
        verbs(&index, &me, "data"),
        r#"role.rbac.authorization.k8s.io "r" not found"#
    );
}

#[test]
fn a_changed_or_removed_binding_leaves_nothing_behind() {
    let mut index = Index::default();
    put(&mut index, PolicyKind::ClusterRole, "r", role(&["get"]));
    let to = |name: &str| {
        let subjects = json!([{"kind": "User", "name": name}, {"kind": "User", "name": name}]);
        binding(("ClusterRole", "r"), subjects)
    };
    let kind = PolicyKind::RoleBinding;
    put(&mut index, kind, "shop/b", to("ali"));
    assert_eq!(verbs(&index, &user("ali", &[]), "shop"), "get");
    put(&mut index, kind, "shop/b", to("eve"));
    assert_eq!(verbs(&index, &user("ali", &[]), "shop"), "");
    assert_eq!(verbs(&index, &user("eve", &[]), "shop"), "get");
    index.remove(kind, "shop/b");
    index.remove(kind, "shop/b");
    index.remove(kind, "nowhere/b");
    assert_eq!(verbs(&index, &user("eve", &[]), "shop"), "");
    assert!(index.bindings.is_empty());
    index.remove(PolicyKind::ClusterRole, "r");
    assert!(index.cluster_roles.is_empty());
}

#[test]
fn objects_that_cannot_be_decoded_grant_nothing() {
    let mut index = Index::default();
    index.put(PolicyKind::ClusterRole, &"r".into(), &Bytes::from("{"));
    index.put(
        PolicyKind::ClusterRoleBinding,
        &"b".into(),
        &Bytes::from("["),
    );
    let object = binding(
        ("ClusterRole", "r"),
        json!([{"kind": "User", "name": "me"}]),
    );
    put(&mut index, PolicyKind::ClusterRoleBinding, "c", object);
    put(
        &mut index,
        PolicyKind::ClusterRoleBinding,
        "d",
        json!({"subjects": null}),
    );
    assert_eq!(verbs(&index, &user("me", &[]), ""), "");
}

#[test]
fn a_grant_says_what_allowed_a_request() {
    let mut index = Index::default();
    let subjects = json!([
        {"kind": "User", "name": "me"},
        {"kind": "Group", "name": "all"},
        {"kind": "ServiceAccount", "name": "web"},
    ]);
    put(
        &mut index,
        PolicyKind::RoleBinding,
        "shop/b",
        binding(("Role", "r"), subjects.clone()),
    );
    put(
        &mut index,
        PolicyKind::ClusterRoleBinding,
        "c",
        binding(("ClusterRole", "s"), subjects),
    );
    let reason = |name: &str, groups: &[&str], namespace: &str| {
        let user = user(name, groups);
        let last = index.grants(&user, namespace).last();
        last.map(|grant| grant.to_string()).unwrap_or_default()
    };
    assert_eq!(
        reason("me", &[], "shop"),
        r#"RBAC: allowed by RoleBinding "b/shop" of Role "r" to User "me""#
    );
    assert_eq!(
        reason("x", &["all"], "shop"),
        r#"RBAC: allowed by RoleBinding "b/shop" of Role "r" to Group "all""#
    );
    assert_eq!(
        reason("system:serviceaccount:shop:web", &[], "shop"),
        r#"RBAC: allowed by RoleBinding "b/shop" of Role "r" to ServiceAccount "web/shop""#
    );
    assert_eq!(
        reason("me", &[], ""),
        r#"RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "s" to User "me""#
    );
}
