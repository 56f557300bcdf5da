//! Requests that few clients send: odd paths, headers, options and bodies.

use http::Method;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, MAPS, MERGE, TABLE, map};

#[tokio::test]
async fn accept_headers_are_read_by_the_router_first() {
    const AVAILABLE: &str = "406: Not Acceptable\n\nAvailable representations: application/json";
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for accept in ["application/foo", "application/*", "foo"] {
        let status = http.get_as(MAPS, accept).await.refused(406);
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with(AVAILABLE), "{accept}: {message}");
        assert_eq!(status["details"], json!({}));
        http.get_as("/version", accept)
            .await
            .refused_with(406, AVAILABLE);
    }
    let only = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let status = http
        .get_as("/apis", "application/foo")
        .await
        .refused_with(406, only);
    assert_eq!(status["details"], Value::Null);
    http.get_as(MAPS, "application/json;as=Foo;v=v1;g=meta.k8s.io")
        .await
        .refused_with(406, only);
    // A failure has no other form, so a client that wants nothing else gets plain, indented JSON.
    let missing = http.get_as(&format!("{MAPS}/none"), TABLE).await;
    missing.refused(404);
    assert!(missing.body.starts_with(b"{\n  \"kind\": \"Status\""));
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_not_found() {
    const MISSING: &str = "the server could not find the requested resource";
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for path in [
        "/version/x",
        "/api/v1/namespaces/default/namespaces",
        "/api/v1/namespaces/default/pods/p/log/x",
        "/api/v1/watch/namespaces/default/pods/p/status",
        "/apis/authorization.k8s.io/v1/localsubjectaccessreviews",
    ] {
        http.get(path).await.refused_with(404, MISSING);
    }
    let finalize = "/api/v1/namespaces/default/finalize";
    http.send(Method::PATCH, finalize, MERGE, "{}")
        .await
        .refused(405);
}

#[tokio::test]
async fn options_are_read_as_in_go() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.get(&format!("{MAPS}/a?export=true"))
        .await
        .refused_with(
            400,
            "the export parameter, deprecated since v1.14, is no longer supported",
        );
    http.get(&format!("{MAPS}?limit="))
        .await
        .refused_with(400, "strconv.ParseInt: parsing \"\": invalid syntax");
    http.get(&format!("{MAPS}?limit=%zz")).await.ok();
    http.delete_with(&format!("{MAPS}/a"), json!([])).await.refused_with(
        400,
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
    );
    let options = json!({"apiVersion": "a/b/c", "kind": "DeleteOptions"});
    http.delete_with(&format!("{MAPS}/a"), options)
        .await
        .refused_with(400, "unexpected GroupVersion string: a/b/c");
    let rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    http.post(rules, json!({}))
        .await
        .refused_with(400, "no namespace on request");
}

#[tokio::test]
async fn two_slashes_are_not_one() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for path in ["//api/v1", "//version", "/apis//v1/pods", "/apis//apps/v1"] {
        let answer = http.get(path).await;
        assert_eq!(
            (answer.code, answer.message().trim()),
            (404, "404 page not found"),
            "{path}"
        );
    }
    for path in [
        "/api//v1",
        "/api/v1//namespaces",
        "/apis/apps//v1/deployments",
    ] {
        let status = http.get(path).await.refused(404);
        let message = "the server could not find the requested resource";
        assert_eq!(status["message"], message, "{path}");
    }
    for (namespace, key) in [(".", "/configmaps/."), ("%2e%2e", "/configmaps/..")] {
        http.get(&format!("/api/v1/namespaces/{namespace}/configmaps"))
            .await
            .refused_with(500, &format!("invalid key: \"{key}\""));
    }
    // A namespace that is empty is none.
    http.post(MAPS, map("a")).await.ok();
    let maps = http.get("/api/v1/namespaces//configmaps").await;
    assert_eq!(maps.names(), ["a"]);
}

#[tokio::test]
async fn a_timeout_that_is_over_at_once_is_a_timeout() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.get(&format!("{MAPS}?timeout=1ns")).await.refused(504);
    http.get(&format!("{MAPS}?timeout=1s")).await.ok();
}

#[tokio::test]
async fn the_body_of_a_delete_is_not_a_status() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let body = json!({"apiVersion": "v1", "kind": "Status"});
    http.delete_with(&format!("{MAPS}/a"), body)
        .await
        .refused_with(
            400,
            "converting (v1.Status) to (v1.DeleteOptions): unknown conversion",
        );
}

#[tokio::test]
async fn an_eviction_may_be_of_the_older_version() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let pods = "/api/v1/namespaces/default/pods";
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    http.post(pods, pod).await.ok();
    let eviction =
        json!({"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}});
    let answer = http.post(&format!("{pods}/p/eviction"), eviction).await;
    assert_eq!(
        (answer.code, &answer.ok()["status"]),
        (201, &json!("Success"))
    );
}
