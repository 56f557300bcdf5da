//! Requests that take a second permission: writes that create, and streams that a GET opens.

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test]
async fn an_apply_and_a_put_of_new_objects_take_the_permission_to_create() {
    let server = Server::start().await;
    let rules = json!([
        rule(&["patch"], "", &["configmaps"]),
        rule(&["update"], "coordination.k8s.io", &["leases"]),
    ]);
    server.grant("default", "writer", rules, user("ali")).await;
    let apply = format!("APPLY {MAPS}/x?fieldManager=m");
    let refused = server.ask("ali", &apply, map("x")).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message(),
        r#"configmaps "x" is forbidden: User "ali" cannot create resource "configmaps" in API group "" in the namespace "default""#
    );
    let lease = json!({"metadata": {"name": "l"}, "spec": {}});
    let refused = server
        .ask("ali", &format!("PUT {LEASES}/l"), lease.clone())
        .await;
    assert_eq!(
        refused.message(),
        r#"leases.coordination.k8s.io "l" is forbidden: User "ali" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default""#
    );
    let dry = format!("{apply}&dryRun=All");
    assert_eq!(server.ask("ali", &dry, map("x")).await.code, 403);
    assert_eq!(
        server
            .code("root system:masters", &format!("GET {MAPS}/x"))
            .await,
        404
    );

    // What exists is only changed.
    server.admin(&format!("POST {MAPS}"), map("x")).await;
    let lease = server.admin(&format!("POST {LEASES}"), lease).await;
    assert_eq!(server.ask("ali", &apply, map("x")).await.code, 200);
    let put = server.ask("ali", &format!("PUT {LEASES}/l"), lease).await;
    assert_eq!(put.code, 200, "{}", put.text);

    // An invalid object is invalid, whoever sends it.
    let mut invalid = map("y");
    invalid["data"] = json!({"a b": "c"});
    let apply = format!("APPLY {MAPS}/y?fieldManager=m");
    assert_eq!(server.ask("ali", &apply, invalid).await.code, 422);
}

#[tokio::test]
async fn a_permission_to_create_one_name_lets_an_apply_create_it() {
    let server = Server::start().await;
    let mut named = rule(&["patch", "create"], "", &["configmaps"]);
    named["resourceNames"] = json!(["x"]);
    server
        .grant("default", "writer", json!([named]), user("ali"))
        .await;
    let apply = format!("APPLY {MAPS}/x?fieldManager=m");
    assert_eq!(server.ask("ali", &apply, map("x")).await.code, 201);
    let post = server.ask("ali", &format!("POST {MAPS}"), map("x")).await;
    assert_eq!(post.code, 403, "a POST has no name");
}

#[tokio::test]
async fn a_get_of_a_stream_takes_the_permission_to_create() {
    let server = Server::start().await;
    let streams = ["pods/exec", "pods/attach", "pods/portforward"];
    let readers = json!([rule(&["get"], "", &streams)]);
    server
        .grant("default", "reader", readers, user("ali"))
        .await;
    let both = json!([rule(&["get", "create"], "", &streams)]);
    server.grant("default", "both", both, user("bob")).await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    server
        .admin("POST /api/v1/namespaces/default/pods", pod)
        .await;
    for stream in [
        "exec?command=ls&stdout=1",
        "attach?stdout=1",
        "portforward?ports=80",
    ] {
        let request = format!("GET /api/v1/namespaces/default/pods/p/{stream}");
        let refused = server.ask("ali", &request, Value::Null).await;
        assert_eq!(refused.code, 403, "{request}");
        assert_eq!(refused.message(), r#"pods "p" is forbidden: "#);
        assert_eq!(
            refused.json()["details"],
            json!({"name": "p", "kind": "pods"})
        );
        let allowed = server.ask("bob", &request, Value::Null).await;
        assert_eq!(allowed.message(), "pod p does not have a host assigned");
    }
}
