//! `status` and `scale` of custom kinds.

use serde_json::json;

use crate::http_client::APPLY;

use super::{WIDGETS, at, cluster, definition, version, widget};

fn with_subresources() -> serde_json::Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "phase": {"type": "string", "enum": ["Up", "Down"]}, "selector": {"type": "string"}}},
    }});
    let mut only = version("v1", true, schema);
    only["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}});
    definition(json!([only]))
}

#[tokio::test]
async fn status_and_spec_keep_to_themselves() {
    let (_cluster, http) = cluster(with_subresources()).await;
    let mut object = widget("one", json!({"replicas": 1}));
    object["status"] = json!({"phase": "Up"});
    let made = http.post(WIDGETS, object).await.ok();
    assert!(made.get("status").is_none());
    let status = format!("{}/status", at("one"));
    let changed = http
        .patch(
            &status,
            json!({"spec": {"replicas": 9}, "status": {"phase": "Up"}}),
        )
        .await
        .ok();
    assert_eq!(changed["spec"]["replicas"], 1);
    assert_eq!(changed["status"]["phase"], "Up");
    assert_eq!(changed["metadata"]["generation"], 1);
    let changed = http
        .patch(
            &at("one"),
            json!({"spec": {"replicas": 2}, "status": {"phase": "Down"}}),
        )
        .await
        .ok();
    assert_eq!(changed["status"]["phase"], "Up");
    assert_eq!(changed["metadata"]["generation"], 2);
    http.patch(&status, json!({"status": {"phase": "Sideways"}})).await.refused_with(
        422,
        "Widget.example.com \"one\" is invalid: status.phase: Unsupported value: \"Sideways\": supported values: \"Up\", \"Down\"",
    );
    http.post(&status, widget("one", json!({})))
        .await
        .refused_with(
            405,
            "create is not supported on resources of kind \"widgets.example.com\"",
        );
}

#[tokio::test]
async fn scale_reads_and_writes_where_the_definition_says() {
    let (_cluster, http) = cluster(with_subresources()).await;
    http.post(WIDGETS, widget("one", json!({"replicas": 2})))
        .await
        .ok();
    http.patch(
        &format!("{}/status", at("one")),
        json!({"status": {"replicas": 1, "selector": "app=x"}}),
    )
    .await
    .ok();
    let path = format!("{}/scale", at("one"));
    let scale = http.get(&path).await.ok();
    assert_eq!(
        (&scale["kind"], &scale["spec"]),
        (&json!("Scale"), &json!({"replicas": 2}))
    );
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "app=x"}));
    http.patch(&path, json!({"spec": {"replicas": 5}}))
        .await
        .ok();
    let parent = http.get(&at("one")).await.ok();
    assert_eq!(parent["spec"]["replicas"], 5);
    assert_eq!(parent["metadata"]["generation"], 2);
    http.post(WIDGETS, widget("bare", json!({}))).await.ok();
    let bare = http
        .get(&format!("{}/scale", at("bare")))
        .await
        .refused(500);
    assert_eq!(
        bare["message"],
        "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist"
    );
}

#[tokio::test]
async fn status_and_scale_are_applied_at_their_own_addresses() {
    let (_cluster, http) = cluster(with_subresources()).await;
    http.post(WIDGETS, widget("a", json!({"replicas": 1})))
        .await
        .ok();
    let apply = async |path: &str, body: serde_json::Value| {
        let path = format!("{}{path}", at("a"));
        http.send(http::Method::PATCH, &path, APPLY, body.to_string())
            .await
    };
    let mut object = widget("a", json!({"replicas": 9}));
    object["status"] = json!({"replicas": 1});
    let applied = apply("/status?fieldManager=s", object).await.ok();
    assert_eq!(applied["spec"], json!({"replicas": 1}));
    assert_eq!(applied["status"], json!({"replicas": 1}));
    let first = &applied["metadata"]["managedFields"][0];
    assert_eq!(first["subresource"], "status");
    assert_eq!(first["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
    let mut object = widget("a", json!({}));
    object["status"] = json!({"replicas": 7});
    let applied = apply("?fieldManager=s", object).await.ok();
    assert_eq!(applied["status"], json!({"replicas": 1}));
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 4},
    });
    apply("/scale?fieldManager=c", scale).await.refused_with(
        409,
        "Apply failed with 1 conflict: conflict with \"unknown\" using autoscaling/v1: .spec.replicas",
    );
}
