//! Several versions of a custom kind.

use http::Method;
use serde_json::json;

use super::{CRD, WIDGETS, at, cluster, definition, spec, version, widget};
use crate::http_client::{APPLY, JSON_PATCH};

const V2: &str = "/apis/example.com/v2/namespaces/default/widgets";

fn two() -> serde_json::Value {
    let with = |name: &str| spec(json!({"a": {"type": "string"}, name: {"type": "string"}}));
    definition(json!([
        version("v1", true, with("one")),
        version("v2", false, with("two"))
    ]))
}

#[tokio::test]
async fn versions_differ_in_name_and_in_what_their_schemas_know() {
    let (_cluster, http) = cluster(two()).await;
    http.post(WIDGETS, widget("x", json!({"a": "1", "one": "1"})))
        .await
        .ok();
    let seen = http.get(&format!("{V2}/x")).await.ok();
    assert_eq!(
        (&seen["apiVersion"], &seen["spec"]),
        (&json!("example.com/v2"), &json!({"a": "1"}))
    );
    let mut events = http.watch(V2, "").await;
    assert_eq!(
        events.next().await.unwrap()["object"]["apiVersion"],
        "example.com/v2"
    );
    http.patch(&format!("{V2}/x"), json!({"spec": {"a": "2"}}))
        .await
        .ok();
    // Writing through a version that does not know a field loses it.
    assert_eq!(http.get(&at("x")).await.ok()["spec"], json!({"a": "2"}));
    let list = http.get(V2).await.ok();
    assert_eq!(list["items"][0]["apiVersion"], "example.com/v2");
}

#[tokio::test]
async fn a_stored_version_is_given_up_in_steps() {
    let (_cluster, http) = cluster(two()).await;
    http.post(WIDGETS, widget("x", json!({"a": "1"})))
        .await
        .ok();
    let swap = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    let crd = http
        .send(Method::PATCH, CRD, JSON_PATCH, swap.to_string())
        .await
        .ok();
    assert_eq!(crd["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(http.get(&format!("{V2}/x")).await.ok()["spec"]["a"], "1");
    let remove = json!([{"op": "remove", "path": "/spec/versions/0"}]).to_string();
    let refused = http
        .send(Method::PATCH, CRD, JSON_PATCH, remove.clone())
        .await
        .refused(422);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("v1 was previously a storage version")
    );
    http.patch(
        &format!("{V2}/x"),
        json!({"metadata": {"labels": {"a": "b"}}}),
    )
    .await
    .ok();
    http.patch(
        &format!("{CRD}/status"),
        json!({"status": {"storedVersions": ["v2"]}}),
    )
    .await
    .ok();
    http.send(Method::PATCH, CRD, JSON_PATCH, remove).await.ok();
    assert_eq!(http.get(WIDGETS).await.code, 404);
    assert_eq!(http.get(&format!("{V2}/x")).await.ok()["spec"]["a"], "1");
}

#[tokio::test]
async fn an_owner_in_a_version_that_is_gone_fails_an_apply() {
    let mut crd = two();
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["spec"]["versions"][1]["storage"] = json!(true);
    let (_cluster, http) = cluster(crd).await;
    let apply = async |version: &str, manager: &str| {
        let mut object = widget("x", json!({"a": "1"}));
        object["apiVersion"] = json!(format!("example.com/{version}"));
        let path = format!(
            "/apis/example.com/{version}/namespaces/default/widgets/x?fieldManager={manager}"
        );
        http.send(Method::PATCH, &path, APPLY, object.to_string())
            .await
    };
    apply("v1", "old").await.ok();
    let remove = json!([{"op": "remove", "path": "/spec/versions/0"}]).to_string();
    http.send(Method::PATCH, CRD, JSON_PATCH, remove).await.ok();
    for manager in ["old", "new"] {
        apply("v2", manager).await.refused_with(
            500,
            "request to convert CR to an invalid group/version: example.com/v1",
        );
    }
    // As in kube-apiserver, other writes lose the owners.
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = http.patch(&format!("{V2}/x"), label).await.ok();
    assert_eq!(labelled["metadata"].get("managedFields"), None);
    apply("v2", "new").await.ok();
}

#[tokio::test]
async fn a_deprecated_version_says_where_to_go() {
    let mut old = version("v1beta1", false, spec(json!({})));
    old["deprecated"] = json!(true);
    let (_cluster, http) = cluster(definition(json!([
        version("v1", true, spec(json!({}))),
        old
    ])))
    .await;
    let answer = http
        .get("/apis/example.com/v1beta1/namespaces/default/widgets")
        .await;
    assert_eq!(
        answer.warnings(),
        ["299 - \"example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget\""]
    );
    assert!(http.get(WIDGETS).await.warnings().is_empty());
}
