//! Requests of kubelets under the authorizer and the admission plugin of nodes.

use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const N1: &str = "system:node:n1 system:nodes";

async fn start() -> Server {
    let modes = [AuthorizationMode::Node, AuthorizationMode::Rbac];
    let restriction = "NodeRestriction".parse().expect("a plugin");
    let builder = KubeApiServer::builder()
        .authorization(modes)
        .enable_admission_plugins([restriction]);
    Server::of(builder).await
}

async fn cluster() -> Server {
    let server = start().await;
    for name in ["s1", "s2"] {
        let secret = json!({"metadata": {"name": name}});
        server.admin(&format!("POST {SECRETS}"), secret).await;
    }
    for (pod, node, secret) in [("p1", "n1", "s1"), ("p2", "n2", "s2")] {
        let pod = json!({
            "metadata": {"name": pod},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "secret": {"secretName": secret}}],
            },
        });
        server.admin(&format!("POST {PODS}"), pod).await;
    }
    server
}

#[tokio::test]
async fn a_node_gets_the_secrets_of_its_pods_from_their_creation_to_their_end() {
    let server = cluster().await;
    let secret = |name: &str| format!("GET {SECRETS}/{name}");
    assert_eq!(server.code(N1, &secret("s1")).await, 200);
    let refused = server.ask(N1, &secret("s2"), Value::Null).await;
    assert_eq!(
        refused.message(),
        r#"secrets "s2" is forbidden: User "system:node:n1" cannot get resource "secrets" in API group "" in the namespace "default": no relationship found between node 'n1' and this object"#
    );
    assert_eq!(server.code(N1, &format!("GET {SECRETS}")).await, 403);
    let by_name = format!("GET {SECRETS}?fieldSelector=metadata.name%3Ds1");
    assert_eq!(server.code(N1, &by_name).await, 200);
    let now = json!({"gracePeriodSeconds": 0});
    server.admin(&format!("DELETE {PODS}/p1"), now).await;
    assert_eq!(server.code(N1, &secret("s1")).await, 403);
    // Without the group, it is a user like any other.
    assert_eq!(server.code("system:node:n2", &secret("s2")).await, 403);
}

#[tokio::test]
async fn a_node_registers_itself_and_reports_about_its_pods() {
    let server = cluster().await;
    let node = |name: &str| json!({"metadata": {"name": name}});
    let created = server.ask(N1, "POST /api/v1/nodes", node("n1")).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let refused = server.ask(N1, "POST /api/v1/nodes", node("n2")).await;
    assert_eq!(
        refused.message(),
        r#"nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2""#
    );
    let status = json!({"status": {"phase": "Running"}});
    let report = |pod: &str| format!("PATCH {PODS}/{pod}/status");
    let reported = server.ask(N1, &report("p1"), status.clone()).await;
    assert_eq!(reported.code, 200, "{}", reported.text);
    assert_eq!(server.ask(N1, &report("p2"), status).await.code, 403);
    let list = |node: &str| format!("GET /api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
    let listed = server.ask(N1, &list("n1"), Value::Null).await.json();
    assert_eq!(listed["items"][0]["metadata"]["name"], "p1");
    assert_eq!(server.code(N1, &list("n2")).await, 403);
    let evict = |pod: &str| format!("POST {PODS}/{pod}/eviction");
    let eviction = |pod: &str| json!({"metadata": {"name": pod}});
    assert_eq!(server.ask(N1, &evict("p2"), eviction("p2")).await.code, 403);
    let evicted = server.ask(N1, &evict("p1"), eviction("p1")).await;
    assert_eq!(evicted.code, 201, "{}", evicted.text);
    let rules = json!({"spec": {"namespace": "default"}});
    let review = "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let mut user = N1.to_owned();
    user.push_str(" system:authenticated");
    let review = server.ask(&user, review, rules).await.json();
    assert_eq!(review["status"]["incomplete"], true, "{review}");
    assert_eq!(
        review["status"]["evaluationError"],
        "node authorizer does not support user rule resolution"
    );
}

/// Answers of kube-apiserver 1.36.4 with `--authorization-mode=Node,RBAC` and NodeRestriction to the node `n1`.
const RECORDED: &str = include_str!("recorded_nodes.json");

#[tokio::test]
async fn a_node_gets_the_answers_of_kube_apiserver() {
    let server = start().await;
    let steps: Vec<Value> = serde_json::from_str(RECORDED).expect("recorded answers");
    assert!(steps.len() > 80);
    let mut uids: Vec<(&str, String)> = Vec::new();
    for step in &steps {
        let request = step["request"].as_str().expect("a request");
        let user = match step["admin"].as_bool() {
            Some(true) => "root system:masters",
            _ => N1,
        };
        let mut body = step["body"].to_string();
        for (name, uid) in &uids {
            body = body.replace(name, uid);
        }
        let body = serde_json::from_str(&body).expect("JSON");
        let answer = server.ask(user, request, body).await;
        assert_eq!(answer.code, step["code"], "{request}: {}", answer.text);
        if let Some(message) = step["message"].as_str() {
            let mut given = answer.message();
            for (name, uid) in &uids {
                given = given.replace(uid, name);
            }
            assert_eq!(given, message, "{request}");
        }
        if answer.code == 201 && request.starts_with("POST") && !answer.text.is_empty() {
            let object = answer.json();
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            match (object["kind"].as_str(), object["metadata"]["name"].as_str()) {
                (Some("Node"), Some("n1")) => uids.push(("<uid n1>", uid.to_owned())),
                (Some("Pod"), Some("p1")) => uids.push(("<uid p1>", uid.to_owned())),
                _ => {}
            }
        }
    }
}
