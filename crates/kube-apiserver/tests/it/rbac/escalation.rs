//! Nobody grants more than they have.

use super::*;

/// A server where ali may write roles and bindings, and read pods.
async fn server() -> Server {
    let server = Server::start().await;
    let rules = json!([
        rule(
            &["*"],
            "rbac.authorization.k8s.io",
            &["roles", "rolebindings"]
        ),
        rule(&["get", "list"], "", &["pods"]),
    ]);
    server.grant("default", "writer", rules, user("ali")).await;
    server
}

fn role(name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, kind: &str, role: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": user("ali"),
    })
}

/// A server where ali may do only what is granted, not every verb of the group.
async fn limited(verbs: &[&str], more: Value) -> Server {
    let server = Server::start().await;
    let resources = [
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
    ];
    let mut rules = vec![rule(verbs, "rbac.authorization.k8s.io", &resources)];
    rules.extend(more.as_array().cloned().unwrap_or_default());
    server.grant("", "writer", json!(rules), user("ali")).await;
    server
}

const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

#[tokio::test]
async fn a_role_may_have_what_its_writer_has() {
    let server = limited(&VERBS, json!([rule(&["get", "list"], "", &["pods"])])).await;
    let roles = format!("POST {RBAC}/namespaces/default/roles");
    let held = role("held", json!([rule(&["get"], "", &["pods"])]));
    assert_eq!(server.ask("ali", &roles, held).await.code, 201);
    let more = role(
        "more",
        json!([
            rule(&["list", "delete", "get", "create"], "", &["pods", "secrets"]),
            {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["b", "a"]},
        ]),
    );
    let refused = server.ask("ali dev", &roles, more).await;
    assert_eq!(refused.code, 403);
    let expected = [
        r#"roles.rbac.authorization.k8s.io "more" is forbidden: user "ali" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:"#,
        r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}"#,
        r#"{APIGroups:[""], Resources:["secrets"], Verbs:["list" "delete" "get" "create"]}"#,
        r#"{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}"#,
        r#"{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["b"], Verbs:["get"]}"#,
    ];
    assert_eq!(refused.message(), expected.join("\n"));
    assert_eq!(
        refused.json()["details"],
        json!({"name": "more", "group": "rbac.authorization.k8s.io", "kind": "roles"})
    );
}

#[tokio::test]
async fn patch_apply_and_put_are_checked_like_create() {
    let server = limited(&VERBS, json!([rule(&["get"], "", &["pods"])])).await;
    let all = format!("{RBAC}/namespaces/default/roles");
    let held = role("r", json!([rule(&["get"], "", &["pods"])]));
    assert_eq!(
        server
            .ask("ali", &format!("POST {all}"), held.clone())
            .await
            .code,
        201
    );
    let more = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "r"}, "rules": [rule(&["get"], "", &["secrets"])],
    });
    for method in ["PATCH", "PUT", "APPLY"] {
        let path = format!("{method} {all}/r?force=true&fieldManager=m");
        let path = match method {
            "APPLY" => path,
            _ => format!("{method} {all}/r"),
        };
        let refused = server.ask("ali", &path, more.clone()).await;
        assert_eq!(refused.code, 403, "{method}: {}", refused.text);
    }
    let mut new = more.clone();
    new["metadata"]["name"] = json!("new");
    for method in ["PUT", "APPLY"] {
        let options = if method == "APPLY" {
            "?fieldManager=m"
        } else {
            ""
        };
        let path = format!("{method} {all}/new{options}");
        let refused = server.ask("ali", &path, new.clone()).await;
        assert_eq!(refused.code, 403, "{method}: {}", refused.text);
    }
}

#[tokio::test]
async fn users_who_may_escalate_can_write_any_role() {
    let server = server().await;
    let roles = format!("POST {RBAC}/namespaces/default/roles");
    let more = role("more", json!([rule(&["*"], "*", &["*"])]));
    assert_eq!(server.ask("ali", &roles, more).await.code, 201);
}

#[tokio::test]
async fn a_binding_needs_the_permissions_of_its_role_or_the_verb_bind() {
    let view = json!([rule(&["get"], "", &["pods"])]);
    let server = limited(&VERBS, view.clone()).await;
    let roles = format!("POST {RBAC}/namespaces/default/roles");
    server.admin(&roles, role("held", view)).await;
    let secrets = json!([rule(&["get"], "", &["secrets"])]);
    server.admin(&roles, role("more", secrets)).await;
    let all = format!("POST {RBAC}/namespaces/default/rolebindings");
    let held = server.ask("ali", &all, binding("a", "Role", "held")).await;
    assert_eq!(held.code, 201, "{}", held.text);
    let refused = server.ask("ali", &all, binding("b", "Role", "more")).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message(),
        "rolebindings.rbac.authorization.k8s.io \"b\" is forbidden: user \"ali\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}"
    );
    let missing = server.ask("ali", &all, binding("c", "Role", "none")).await;
    assert_eq!(missing.code, 404);
    assert_eq!(
        missing.message(),
        r#"rolebindings.rbac.authorization.k8s.io "none" not found"#
    );
    let mut bind = rule(&["bind"], "rbac.authorization.k8s.io", &["clusterroles"]);
    bind["resourceNames"] = json!(["view"]);
    server.grant("", "binder", json!([bind]), user("ali")).await;
    let cluster = format!("POST {RBAC}/clusterrolebindings");
    let view = binding("d", "ClusterRole", "view");
    assert_eq!(server.ask("ali", &cluster, view).await.code, 201);
    let edit = binding("e", "ClusterRole", "edit");
    assert_eq!(server.ask("ali", &cluster, edit).await.code, 403);
}

#[tokio::test]
async fn an_aggregated_role_needs_a_cluster_administrator() {
    let server = limited(&VERBS, json!([])).await;
    let roles = format!("POST {RBAC}/clusterroles");
    let mut aggregated = role("sum", json!(null));
    aggregated["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    let refused = server.ask("ali", &roles, aggregated.clone()).await;
    assert_eq!(
        refused.message(),
        r#"clusterroles.rbac.authorization.k8s.io "sum" is forbidden: must have cluster-admin privileges to use the aggregationRule"#
    );
    let everything = json!([rule(&["*"], "*", &["*"]), {"verbs": ["*"], "nonResourceURLs": ["*"]}]);
    server.grant("", "all", everything, user("eve")).await;
    assert_eq!(server.ask("eve", &roles, aggregated).await.code, 201);
}

#[tokio::test]
async fn the_garbage_collector_may_change_what_it_has_to() {
    let server = limited(&VERBS, json!([])).await;
    let all = format!("{RBAC}/namespaces/default/roles");
    let mut secret = role("r", json!([rule(&["get"], "", &["secrets"])]));
    secret["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.admin(&format!("POST {all}"), secret).await;
    let patch = |metadata: Value| json!({"metadata": metadata});
    let path = format!("PATCH {all}/r");
    let freed = server
        .ask("ali", &path, patch(json!({"finalizers": null})))
        .await;
    assert_eq!(freed.code, 200, "{}", freed.text);
    let labelled = server
        .ask("ali", &path, patch(json!({"labels": {"a": "b"}})))
        .await;
    assert_eq!(labelled.code, 403);
}

#[tokio::test]
async fn without_authorization_everybody_may_grant_everything() {
    let server = Server::of(KubeApiServer::builder()).await;
    let roles = format!("POST {RBAC}/clusterroles");
    let all = role("all", json!([rule(&["*"], "*", &["*"])]));
    assert_eq!(server.ask("ali", &roles, all).await.code, 201);
}

#[tokio::test]
async fn a_rule_that_stands_for_billions_is_refused_at_once() {
    let server = limited(&VERBS, json!([])).await;
    let many: Vec<String> = (0..2000).map(|i| format!("x{i}")).collect();
    let rules = json!([{"verbs": many, "apiGroups": many, "resources": many}]);
    let roles = format!("POST {RBAC}/clusterroles");
    let refused = server.ask("ali", &roles, role("huge", rules)).await;
    assert_eq!(refused.code, 403);
    assert!(refused.text.len() < 1000, "{} bytes", refused.text.len());
}
