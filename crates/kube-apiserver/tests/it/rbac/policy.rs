//! The roles and bindings of a new cluster.

use std::sync::Arc;

use kubewright_kube_apiserver::FIRST_REVISION;
use kubewright_rbac::{PolicyKind, policy};
use kubewright_store::MemoryStore;

use super::*;

fn path(kind: PolicyKind, namespace: &str) -> String {
    match namespace {
        "" => format!("{RBAC}/{}", kind.resource()),
        namespace => format!("{RBAC}/namespaces/{namespace}/{}", kind.resource()),
    }
}

#[tokio::test]
async fn the_policy_is_stored_as_requests_would_have_stored_it() {
    let with = Server::start().await;
    let without = Server::of(KubeApiServer::builder()).await;
    for object in policy() {
        let all = path(object.kind, object.namespace);
        let one = format!("GET {all}/{}", object.name);
        let mut stored = with.admin(&one, Value::Null).await;
        let mut value = object.to_value();
        let rules = match value["aggregationRule"].is_null() {
            true => None,
            false => Some(std::mem::replace(&mut value["rules"], Value::Null)),
        };
        without
            .admin(
                &format!("POST {all}?fieldManager=kube-apiserver"),
                value.clone(),
            )
            .await;
        if let Some(rules) = rules {
            let apply = json!({
                "apiVersion": value["apiVersion"], "kind": value["kind"],
                "metadata": {"name": object.name}, "rules": rules,
            });
            let manager = "clusterrole-aggregation-controller";
            let path = format!(
                "APPLY {all}/{}?force=true&fieldManager={manager}",
                object.name
            );
            without.admin(&path, apply).await;
        }
        let mut expected = without.admin(&one, Value::Null).await;
        for object in [&mut stored, &mut expected] {
            let metadata = &mut object["metadata"];
            for field in ["uid", "resourceVersion", "creationTimestamp"] {
                assert!(!metadata[field].is_null(), "{field}");
                metadata[field] = Value::Null;
            }
            for entry in metadata["managedFields"].as_array_mut().unwrap() {
                entry["time"] = Value::Null;
            }
        }
        assert_eq!(stored, expected, "{}", object.name);
    }
}

#[tokio::test]
async fn clusters_without_rbac_have_no_roles() {
    let server = Server::of(KubeApiServer::builder()).await;
    let roles = server
        .admin(&format!("GET {RBAC}/clusterroles"), Value::Null)
        .await;
    assert_eq!(roles["items"], json!([]));
}

#[tokio::test]
async fn roles_can_be_selected_by_their_labels_from_the_start() {
    let server = Server::start().await;
    let path = format!(
        "GET {RBAC}/clusterroles?labelSelector=rbac.authorization.k8s.io/aggregate-to-edit%3Dtrue"
    );
    let roles = server.admin(&path, Value::Null).await;
    let names = roles["items"].as_array().unwrap().iter();
    let names: Vec<&str> = names
        .filter_map(|role| role["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["system:aggregate-to-edit", "view"]);
}

#[tokio::test]
async fn a_restart_adds_missing_rules_and_removes_none() {
    let store = MemoryStore::starting_at(FIRST_REVISION);
    let start = async || {
        let builder = KubeApiServer::builder()
            .authorization([AuthorizationMode::Rbac])
            .store(Arc::new(store.clone()));
        Server::of(builder).await
    };
    let first = start().await;
    let role = |name: &str| format!("{RBAC}/clusterroles/{name}");
    let binding = |name: &str| format!("{RBAC}/clusterrolebindings/{name}");
    let extra = json!({"rules": [rule(&["get"], "example.com", &["extras"])]});
    first
        .admin(
            &format!("PATCH {}", role("system:basic-user")),
            extra.clone(),
        )
        .await;
    let mut protected = extra;
    protected["metadata"]["annotations"] =
        json!({"rbac.authorization.kubernetes.io/autoupdate": "false"});
    first
        .admin(&format!("PATCH {}", role("system:discovery")), protected)
        .await;
    first
        .admin(&format!("DELETE {}", role("view")), Value::Null)
        .await;
    first
        .admin(
            &format!("PATCH {}", binding("system:basic-user")),
            json!({"subjects": user("ali")}),
        )
        .await;
    first
        .admin(&format!("DELETE {}", binding("cluster-admin")), Value::Null)
        .await;
    let other = json!({
        "metadata": {"name": "cluster-admin"},
        "roleRef": {"kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io"},
    });
    first
        .admin(&format!("POST {RBAC}/clusterrolebindings"), other)
        .await;
    drop(first);

    let second = start().await;
    let get = async |path: String| second.admin(&format!("GET {path}"), Value::Null).await;
    let basic = get(role("system:basic-user")).await;
    assert_eq!(basic["rules"][0]["resources"], json!(["extras"]));
    assert!(basic["rules"].as_array().unwrap().len() > 1);
    let discovery = get(role("system:discovery")).await;
    assert_eq!(discovery["rules"].as_array().unwrap().len(), 1);
    assert!(!get(role("view")).await["rules"].is_null());
    let subjects = &get(binding("system:basic-user")).await["subjects"];
    assert_eq!(subjects[0]["name"], "ali");
    assert_eq!(subjects[1]["name"], "system:authenticated");
    let admin = get(binding("cluster-admin")).await;
    assert_eq!(admin["roleRef"]["name"], "cluster-admin");

    let before = second.0.store().current().await.unwrap();
    let third = start().await;
    assert_eq!(
        third.0.store().current().await.unwrap(),
        before,
        "a second restart writes nothing"
    );
}
