//! Addresses of pages.

use http::{HeaderValue, Method};

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn every_address_leads_to_the_page_that_reads_it() {
    let scene = Scene::start().await;
    for path in [
        "/",
        "/o/pods",
        "/o/deployments.apps/default/web?tab=yaml",
        "/runs/a/b/1",
        "/anything",
    ] {
        let response = scene.send(scene.request(Method::GET, path, None)).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(
            response.headers()["content-type"],
            "text/html; charset=utf-8"
        );
    }
    let (code, _) = scene.get("/app/none.js").await;
    assert_eq!(code, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_compressed_for_those_who_ask() {
    let scene = Scene::start().await;
    let mut request = scene.request(Method::GET, "/app/style.css", None);
    request
        .headers_mut()
        .insert("accept-encoding", HeaderValue::from_static("gzip, br"));
    let response = scene.send(request).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let plain = scene
        .send(scene.request(Method::GET, "/app/style.css", None))
        .await;
    assert!(!plain.headers().contains_key("content-encoding"));
    assert_eq!(plain.headers()["content-type"], "text/css; charset=utf-8");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_only_read() {
    let scene = Scene::start().await;
    let (code, _) = scene
        .call(Method::POST, "/", Some(&serde_json::json!({})))
        .await;
    assert_eq!(code, 405);
}
