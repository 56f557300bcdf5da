//! Requests that one user makes as another, with permissions for it and without.

use kubewright_serve::Server as Listening;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;

const WHO: &str = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
const AUTHENTICATION: &str = "authentication.k8s.io";

impl Server {
    /// Sends a request as a user who wants to be another.
    async fn acting(&self, user: &str, request: &str, headers: &[(&str, &str)]) -> Answer {
        let body = match request.starts_with("POST") {
            true => json!({}),
            false => Value::Null,
        };
        self.send(user, request, headers, body).await
    }
}

#[tokio::test]
async fn a_refusal_names_the_first_permission_that_is_missing() {
    let server = Server::start().await;
    let cases = [
        (
            "GET /api/v1/namespaces/default/pods",
            "bob",
            r#"pods is forbidden: User "ali" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default""#,
        ),
        (
            "GET /api/v1/namespaces/default/pods/p",
            "bob",
            r#"pods "p" is forbidden: User "ali" cannot impersonate-on:user-info:get resource "pods" in API group "" in the namespace "default""#,
        ),
        (
            "GET /metrics",
            "bob",
            r#"forbidden: User "ali" cannot impersonate-on:user-info:get path "/metrics""#,
        ),
        (
            "GET /api/v1/nodes",
            "system:serviceaccount:default:other",
            r#"nodes is forbidden: User "ali" cannot impersonate-on:serviceaccount:list resource "nodes" in API group "" at the cluster scope"#,
        ),
        (
            "GET /api/v1/nodes",
            "system:node:n1",
            r#"nodes is forbidden: User "ali" cannot impersonate-on:arbitrary-node:list resource "nodes" in API group "" at the cluster scope"#,
        ),
        (
            "GET /api/v1/nodes",
            "system:node:N_1",
            r#"nodes is forbidden: User "ali" cannot impersonate-on:user-info:list resource "nodes" in API group "" at the cluster scope"#,
        ),
    ];
    for (request, name, message) in cases {
        let answer = server
            .acting("ali", request, &[("impersonate-user", name)])
            .await;
        assert_eq!(answer.code, 403, "{request} as {name}");
        assert_eq!(answer.message(), message);
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
    let in_group = [
        ("impersonate-user", "system:serviceaccount:default:other"),
        ("impersonate-group", "g"),
    ];
    let answer = server.acting("ali", "GET /api/v1/nodes", &in_group).await;
    assert_eq!(
        answer.message(),
        r#"serviceaccounts "other" is forbidden: User "ali" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default""#
    );
    let nobody = [("impersonate-user", "bob")];
    let answer = server.acting("", "GET /api/v1/nodes", &nobody).await;
    assert!(
        answer
            .message()
            .contains(r#"User "system:anonymous" cannot impersonate-on"#)
    );
}

#[tokio::test]
async fn impersonated_groups_or_uids_without_a_user_are_a_bad_request() {
    let server = Server::start().await;
    for user in ["root system:masters", "ali", ""] {
        for header in [
            ("impersonate-group", "system:masters"),
            ("impersonate-uid", "u"),
            ("impersonate-extra-scopes", "a"),
        ] {
            let answer = server.acting(user, "GET /api/v1/nodes", &[header]).await;
            assert_eq!(answer.code, 400, "{user}: {header:?}");
            assert!(
                answer
                    .message()
                    .ends_with("without impersonating a user name")
            );
            assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        }
    }
    // Without a name there is nobody else to be.
    for header in [("impersonate-user", ""), ("impersonate-odd", "root")] {
        let answer = server.acting("ali", WHO, &[header]).await;
        assert_eq!(answer.json()["status"]["userInfo"]["username"], "ali");
    }
}

#[tokio::test]
async fn a_request_has_the_permissions_of_the_user_it_is_made_as() {
    let server = Server::start().await;
    let rules = json!([rule(&["list"], "", &["pods"])]);
    server.grant("default", "bob", rules, user("bob")).await;
    let root = "root system:masters";
    let pods = "GET /api/v1/namespaces/default/pods";
    let as_bob = [("impersonate-user", "bob")];
    assert_eq!(server.acting(root, pods, &as_bob).await.code, 200);
    let answer = server.acting(root, "GET /api/v1/nodes", &as_bob).await;
    assert_eq!(
        answer.message(),
        r#"nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope"#
    );
    // The groups of the administrator are left behind, those that the request names are not.
    let in_group = [as_bob[0], ("impersonate-group", "system:masters")];
    let answer = server.acting(root, "GET /api/v1/nodes", &in_group).await;
    assert_eq!(answer.code, 200);
    let answer = server.acting(root, WHO, &in_group).await;
    assert_eq!(
        answer.json()["status"]["userInfo"],
        json!({"username": "bob", "groups": ["system:masters", "system:authenticated"]})
    );
}

#[tokio::test]
async fn roles_allow_impersonation_by_the_legacy_verb() {
    let server = Server::start().await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["g"], "verbs": ["impersonate"]},
        {"apiGroups": [AUTHENTICATION], "resources": ["userextras/scopes"], "resourceNames": ["a"], "verbs": ["impersonate"]},
    ]);
    server.grant("", "actor", rules, user("ali")).await;
    let bob = ("impersonate-user", "bob");
    let code = async |headers: &[(&str, &str)]| server.acting("ali", WHO, headers).await.code;
    assert_eq!(code(&[bob]).await, 201);
    assert_eq!(code(&[bob, ("impersonate-group", "g")]).await, 201);
    assert_eq!(code(&[bob, ("impersonate-extra-scopes", "a")]).await, 201);
    let refused = [
        (
            ("impersonate-group", "h"),
            r#"groups "h" is forbidden: User "ali" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
        ),
        (
            ("impersonate-uid", "u"),
            r#"uids.authentication.k8s.io "u" is forbidden: User "ali" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
        (
            ("impersonate-extra-scopes", "c"),
            r#"userextras.authentication.k8s.io "c" is forbidden: User "ali" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
    ];
    for (header, message) in refused {
        let answer = server.acting("ali", WHO, &[bob, header]).await;
        assert_eq!(answer.message(), message);
    }
}

#[tokio::test]
async fn roles_allow_single_requests_as_single_users_by_the_new_verbs() {
    let server = Server::start().await;
    let rules = json!([
        {"apiGroups": [AUTHENTICATION], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:user-info:list"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["impersonate-on:user-info:get"]},
    ]);
    server.grant("", "actor", rules, user("ali")).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let cases = [
        (
            format!("GET {maps}"),
            "carol",
            r#"users.authentication.k8s.io "carol" is forbidden: User "ali" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
        (
            format!("GET {maps}"),
            "bob",
            r#"configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "default""#,
        ),
        (
            format!("GET {maps}/x"),
            "bob",
            r#"configmaps "x" is forbidden: User "ali" cannot impersonate-on:user-info:get resource "configmaps" in API group "" in the namespace "default""#,
        ),
        (
            "GET /metrics".to_owned(),
            "bob",
            r#"forbidden: User "bob" cannot get path "/metrics""#,
        ),
    ];
    for (request, name, message) in cases {
        let answer = server
            .acting("ali", &request, &[("impersonate-user", name)])
            .await;
        assert_eq!(answer.message(), message, "{request} as {name}");
    }
}

#[tokio::test]
async fn a_socket_answers_as_the_server_in_process_does() {
    let server = Server::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = server.0.server().clone();
    let serving = Listening::new(listener).serve(service, std::future::pending());
    let serving = tokio::spawn(serving);
    let pods = "GET /api/v1/namespaces/default/pods";
    for user in ["root system:masters", "ali"] {
        let as_bob = [("impersonate-user", "bob"), ("impersonate-group", "dev")];
        let expected = server.acting(user, pods, &as_bob).await;
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let request = format!(
            "{pods} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-test-user: {user}\r\n\
             Impersonate-User: bob\r\nImpersonate-Group: dev\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("a write");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains(&expected.text), "{answer}");
    }
    serving.abort();
}

#[tokio::test]
async fn the_server_impersonates_only_with_the_permissions_of_the_user() {
    let server = Server::start().await;
    let root = UserInfo {
        name: "root".into(),
        groups: vec!["system:masters".into()],
        ..UserInfo::default()
    };
    let code = async |user: Option<&str>| {
        let mut request = Request::get("/api/v1/nodes");
        if let Some(user) = user {
            request = request.header("impersonate-user", user);
        }
        let request = request.body(Body::empty()).unwrap();
        let server = server.0.server();
        server
            .handle_as(Arc::new(root.clone()), request)
            .await
            .status()
            .as_u16()
    };
    assert_eq!(code(None).await, 200);
    assert_eq!(code(Some("bob")).await, 403);
}
