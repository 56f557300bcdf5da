//! The exported file: what it contains, and what it must not.

use http::Method;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::scene::Scene;

/// Returns the data of an exported file.
fn recorded(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"recorded\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

async fn exported(cluster: &TestCluster) -> String {
    kubewright_console::export(cluster.client(), "test")
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_have_their_tables_and_their_history() {
    let scene = Scene::start().await;
    scene.config_map("sky").await;
    let path = "/api/v1/namespaces/default/configmaps/sky";
    let mut request = scene.request(Method::PATCH, path, Some(&json!({"data": {"k": "w"}})));
    let merge = http::HeaderValue::from_static("application/merge-patch+json");
    request.headers_mut().insert("content-type", merge);
    assert_eq!(scene.code(request).await, 200);
    let html = exported(scene.cluster()).await;
    let recorded = recorded(&html);
    let rows = recorded["tables"]["/api/v1/configmaps"]["rows"]
        .as_array()
        .unwrap();
    assert!(
        rows.iter().any(|row| row["key"] == "default/sky"),
        "{rows:?}"
    );
    let answers = &recorded["answers"];
    assert_eq!(answers[path]["data"]["k"], "w");
    let about = "name=sky&namespace=default&resource=configmaps";
    let history = &answers[format!("/kubewright/v1/history?{about}")]["items"];
    assert_eq!(history[1]["summary"], "data.k \"v\" -> \"w\"");
    assert_eq!(history[0]["object"]["data"]["k"], "v");
    assert!(answers[format!("/kubewright/v1/timeline?{about}")].is_object());
    assert!(
        answers["/kubewright/v1/requests"]["items"]
            .as_array()
            .unwrap()
            .len()
            >= 2
    );
    assert!(answers["/kubewright/v1/console/session"]["ledger"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_loads_nothing_and_has_no_values_of_secrets() {
    let scene = Scene::start().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "chart"}, "stringData": {"treasure": "isla-nublar"}});
    scene
        .create("/api/v1/namespaces/default/secrets", secret)
        .await;
    let html = exported(scene.cluster()).await;
    for value in ["isla-nublar", "aXNsYS1udWJsYXI"] {
        assert!(!html.contains(value), "{value}");
    }
    let token = scene.token();
    assert!(
        !html.contains(token),
        "the token of a console is in the file"
    );
    for load in ["src=\"http", "src=\"/", "href=\"/", "href=\"http"] {
        let pages = html.split("id=\"recorded\"").next().unwrap();
        assert!(!pages.contains(load), "{load}");
    }
    assert!(html.contains("default-src 'none'"));
}
