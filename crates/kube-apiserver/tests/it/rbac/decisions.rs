//! Requests that roles allow, and the answers to others.

use std::sync::Arc;

use kubewright_apiserver::auth::{Attributes, Authorizer, Decision};
use kubewright_apiserver::boxed_async;

use super::*;

#[tokio::test]
async fn permissions_count_from_the_answer_that_grants_them_to_the_one_that_takes_them() {
    let server = Server::start().await;
    let pods = "GET /api/v1/namespaces/default/pods";
    for i in 0..20 {
        assert_eq!(server.code("ali", pods).await, 403);
        let rules = json!([rule(&["list"], "", &["pods"])]);
        server.grant("default", "r", rules, user("ali")).await;
        assert_eq!(server.code("ali", pods).await, 200, "round {i}");
        assert_eq!(server.code("ali", "GET /api/v1/pods").await, 403);
        let prefix = format!("{RBAC}/namespaces/default");
        let kind = ["roles", "rolebindings"][i % 2];
        server
            .admin(&format!("DELETE {prefix}/{kind}/r"), Value::Null)
            .await;
        assert_eq!(server.code("ali", pods).await, 403, "round {i}");
        let kind = ["rolebindings", "roles"][i % 2];
        server
            .admin(&format!("DELETE {prefix}/{kind}/r"), Value::Null)
            .await;
    }
}

#[tokio::test]
async fn a_refusal_names_user_verb_resource_and_scope() {
    let server = Server::start().await;
    let cases = [
        (
            "GET /api/v1/namespaces/default/pods/p",
            r#"pods "p" is forbidden: User "ali" cannot get resource "pods" in API group "" in the namespace "default""#,
            json!({"name": "p", "kind": "pods"}),
        ),
        (
            "GET /apis/apps/v1/deployments",
            r#"deployments.apps is forbidden: User "ali" cannot list resource "deployments" in API group "apps" at the cluster scope"#,
            json!({"group": "apps", "kind": "deployments"}),
        ),
        (
            "POST /api/v1/namespaces/default/pods/p/eviction",
            r#"pods "p" is forbidden: User "ali" cannot create resource "pods/eviction" in API group "" in the namespace "default""#,
            json!({"name": "p", "kind": "pods"}),
        ),
        (
            "GET /metrics",
            r#"forbidden: User "ali" cannot get path "/metrics""#,
            json!({}),
        ),
    ];
    for (request, message, details) in cases {
        let answer = server.ask("ali", request, Value::Null).await;
        assert_eq!(answer.code, 403, "{request}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        let status = answer.json();
        assert_eq!(status["message"], message);
        assert_eq!(status["reason"], "Forbidden");
        assert_eq!(status["details"], details);
    }
}

#[tokio::test]
async fn a_role_that_does_not_exist_is_named_in_the_refusal() {
    let server = Server::start().await;
    let bind = |name: &str, role: &str, kind: &str| {
        json!({
            "metadata": {"name": name},
            "roleRef": {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": user("ali"),
        })
    };
    let all = format!("POST {RBAC}/clusterrolebindings");
    server.admin(&all, bind("a", "none", "ClusterRole")).await;
    let pods = "GET /api/v1/namespaces/default/pods";
    let message = server.ask("ali", pods, Value::Null).await.message();
    let refused = r#"pods is forbidden: User "ali" cannot list resource "pods" in API group "" in the namespace "default""#;
    assert_eq!(
        message,
        format!(r#"{refused}: RBAC: clusterrole.rbac.authorization.k8s.io "none" not found"#)
    );
    let local = format!("POST {RBAC}/namespaces/default/rolebindings");
    server.admin(&local, bind("b", "gone", "Role")).await;
    let message = server.ask("ali", pods, Value::Null).await.message();
    assert_eq!(
        message,
        format!(
            r#"{refused}: RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "gone" not found]"#
        )
    );
}

#[tokio::test]
async fn missing_roles_are_named_once_and_in_the_order_of_the_bindings() {
    let server = Server::start().await;
    let bind = |name: &str, role: &str, subject: Value| {
        json!({
            "metadata": {"name": name},
            "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": [subject],
        })
    };
    let ali = || json!({"kind": "User", "name": "ali"});
    let dev = || json!({"kind": "Group", "name": "dev"});
    let all = format!("POST {RBAC}/clusterrolebindings");
    let local = format!("POST {RBAC}/namespaces/default/rolebindings");
    for (path, binding) in [
        (&local, bind("a", "none-1", ali())),
        (&local, bind("z", "none-2", ali())),
        (&local, bind("m", "none-3", dev())),
        (&local, bind("b", "none-1", dev())),
        (&all, bind("y", "none-4", ali())),
        (&all, bind("x", "none-5", dev())),
    ] {
        server.admin(path, binding).await;
    }
    let pods = "GET /api/v1/namespaces/default/pods";
    let message = server.ask("ali dev", pods, Value::Null).await.message();
    let missing = |n: u8| format!(r#"clusterrole.rbac.authorization.k8s.io "none-{n}" not found"#);
    let expected = [5, 4, 1, 3, 2].map(missing).join(", ");
    assert!(
        message.ends_with(&format!(": RBAC: [{expected}]")),
        "{message}"
    );
}

#[tokio::test]
async fn names_and_subresources_are_permissions_of_their_own() {
    let server = Server::start().await;
    let mut named = rule(&["get", "list", "delete"], "", &["configmaps"]);
    named["resourceNames"] = json!(["mine"]);
    let rules = json!([named, rule(&["get"], "", &["pods/log"])]);
    server.grant("default", "r", rules, user("ali")).await;
    let at = "/api/v1/namespaces/default";
    for (request, code) in [
        (format!("GET {at}/configmaps/mine"), 404),
        (format!("GET {at}/configmaps/yours"), 403),
        (format!("GET {at}/configmaps"), 403),
        (
            format!("GET {at}/configmaps?fieldSelector=metadata.name%3Dmine"),
            200,
        ),
        (
            format!("DELETE {at}/configmaps?fieldSelector=metadata.name%3Dmine"),
            403,
        ),
        (format!("GET {at}/pods/p/log"), 404),
        (format!("GET {at}/pods/p"), 403),
    ] {
        assert_eq!(server.code("ali", &request).await, code, "{request}");
    }
}

#[tokio::test]
async fn a_role_of_ten_thousand_rules_decides_like_any_other() {
    let server = Server::start().await;
    let kind = |i: usize| format!("kind{i}");
    let rules: Vec<Value> = (0..10_000)
        .map(|i| rule(&["list"], "example.com", &[&kind(i)]))
        .collect();
    let path = "/apis/example.com/v1/namespaces/default";
    server
        .grant("default", "large", json!(rules), user("ali"))
        .await;
    let code = async |i: usize| server.code("ali", &format!("GET {path}/{}", kind(i))).await;
    // Allowed, but there is no such resource.
    assert_eq!(code(0).await, 404);
    assert_eq!(code(9_999).await, 404);
    assert_eq!(code(10_000).await, 403);

    let writer = json!([rule(&["create"], "rbac.authorization.k8s.io", &["roles"])]);
    for name in ["ali", "bob"] {
        server
            .grant("default", name, writer.clone(), user(name))
            .await;
    }
    let copy = json!({"metadata": {"name": "copy"}, "rules": rules});
    let create = format!("POST {RBAC}/namespaces/default/roles");
    let refused = server.ask("bob", &create, copy.clone()).await;
    assert_eq!(refused.code, 403);
    assert!(refused.message().contains("not currently held:"));
    assert_eq!(server.ask("ali", &create, copy).await.code, 201);
}

#[tokio::test]
async fn masters_are_allowed_everything_and_strangers_the_version() {
    let server = Server::start().await;
    assert_eq!(server.code("x system:masters", "GET /metrics").await, 200);
    for (path, code) in [
        ("/version", 200),
        ("/healthz", 200),
        ("/api", 403),
        ("/metrics", 403),
    ] {
        let request = format!("GET {path}");
        assert_eq!(server.code("", &request).await, code, "{path}");
    }
    assert_eq!(
        server.code("ali", "GET /api").await,
        200,
        "every user may discover"
    );
}

#[tokio::test]
async fn bindings_of_others_give_nothing() {
    let server = Server::start().await;
    let rules = json!([rule(&["*"], "*", &["*"])]);
    server
        .grant(
            "kube-public",
            "r",
            rules,
            json!([{"kind": "ServiceAccount", "name": "web"}]),
        )
        .await;
    let account = "system:serviceaccount:kube-public:web";
    let secrets = "GET /api/v1/namespaces/kube-public/secrets";
    assert_eq!(server.code(account, secrets).await, 200);
    assert_eq!(
        server
            .code("system:serviceaccount:default:web", secrets)
            .await,
        403
    );
    assert_eq!(
        server
            .code(account, "GET /api/v1/namespaces/default/secrets")
            .await,
        403
    );
}

/// Fails about one resource.
struct Broken;

#[boxed_async]
impl Authorizer for Broken {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        match attributes.resource() {
            Some(resource) if resource.resource == "secrets" => {
                Decision::no_opinion("").with_error("the policy server <a> is down")
            }
            Some(resource) if resource.resource == "nodes" => Decision::deny("no nodes"),
            _ => Decision::no_opinion("nobody home"),
        }
    }
}

#[tokio::test]
async fn authorizers_are_asked_in_order() {
    let modes = [
        AuthorizationMode::Custom(Arc::new(Broken)),
        AuthorizationMode::Rbac,
    ];
    let server = Server::of(KubeApiServer::builder().authorization(modes)).await;
    let rules = json!([rule(&["list"], "", &["pods", "nodes"])]);
    server.grant("", "r", rules, user("ali")).await;
    assert_eq!(server.code("ali", "GET /api/v1/pods").await, 200);
    let denied = server.ask("ali", "GET /api/v1/nodes", Value::Null).await;
    assert!(denied.message().ends_with(": no nodes"), "{}", denied.text);
    let open = server.ask("ali", "GET /api/v1/events", Value::Null).await;
    assert!(open.message().ends_with(": nobody home"), "{}", open.text);
    let broken = server
        .ask("ali", "GET /api/v1/secrets?limit=1", Value::Null)
        .await;
    assert_eq!(broken.code, 500);
    assert_eq!(broken.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        broken.text,
        "Internal Server Error: \"/api/v1/secrets?limit=1\": the policy server &lt;a&gt; is down\n"
    );
}
