//! Lists and watches of custom objects that grow when they are read.

use serde_json::json;

use crate::{
    custom_resources::{CRD, WIDGETS, at, cluster, simple, widget},
    http_client::Http,
};

/// A kind whose defaults, added after objects were stored, add this many bytes to each item of a list.
async fn growing(bytes: usize) -> (kubewright_testing::TestCluster, Http) {
    let items = |text: serde_json::Value| {
        let item = json!({"type": "object", "properties": {"text": text}});
        simple(json!({"items": {"type": "array", "items": item}}))
    };
    let (cluster, http) = cluster(items(json!({"type": "string"}))).await;
    for name in ["a", "b", "c"] {
        let spec = json!({"items": vec![json!({}); 50]});
        http.post(WIDGETS, widget(name, spec)).await.ok();
    }
    let after = items(json!({"type": "string", "default": "x".repeat(bytes)}));
    http.patch(CRD, json!({"spec": after["spec"]})).await.ok();
    (cluster, http)
}

#[tokio::test]
async fn an_object_that_its_defaults_make_too_large_does_not_hide_others() {
    let (_cluster, http) = growing(100_000).await;
    http.post(WIDGETS, widget("small", json!({}))).await.ok();
    let list = http.get(WIDGETS).await.ok();
    let names: Vec<&str> = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "small"]);
    let read = http.get(&at("a")).await.ok();
    let items = read["spec"]["items"].as_array().expect("items");
    let defaulted = items.iter().filter(|item| item["text"].is_string()).count();
    assert!((20..50).contains(&defaulted), "{defaulted} defaults fit");
    // It can be made smaller.
    http.patch(&at("a"), json!({"spec": {"items": []}}))
        .await
        .ok();
    http.delete(&at("b")).await.ok();
}

#[tokio::test]
async fn defaults_that_fit_are_all_served() {
    let (_cluster, http) = growing(50_000).await;
    let list = http.get(WIDGETS).await.ok();
    for widget in list["items"].as_array().expect("items") {
        let items = widget["spec"]["items"].as_array().expect("items");
        assert!(items.iter().all(|item| item["text"].is_string()));
    }
}
