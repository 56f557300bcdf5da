//! Rules for every request: methods, limits, options, metrics, and the size of responses.

use std::io::Read;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Request};
use kubewright_apiserver::Body;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{APPLY, Http, JSON, MAPS, MERGE, TABLE, map, map_with};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[tokio::test]
async fn metrics_tell_applies_and_dry_runs_apart() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let path = format!("{MAPS}/a?fieldManager=test&dryRun=All");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    http.send(Method::PATCH, &path, APPLY, object.to_string())
        .await
        .ok();
    let text = String::from_utf8(http.get("/metrics").await.body.to_vec()).unwrap();
    let line = r#"apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="APPLY",version="v1"} 1"#;
    assert!(text.lines().any(|l| l == line), "{text}");
}

#[tokio::test]
async fn metrics_count_running_watches() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let line = |n: u64| {
        format!(
            r#"apiserver_longrunning_requests{{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"}} {n}"#
        )
    };
    let text = || async { String::from_utf8(http.get("/metrics").await.body.to_vec()).unwrap() };
    let (first, second) = (http.watch(MAPS, "").await, http.watch(MAPS, "").await);
    assert!(text().await.contains(&line(2)));
    drop(first);
    assert!(text().await.contains(&line(1)));
    drop(second);
    assert!(!text().await.contains(&line(1)));
}

#[tokio::test]
async fn an_invalid_timeout_is_a_bad_request_everywhere() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for path in [
        MAPS,
        "/healthz",
        "/api",
        "/no/such/path",
        &format!("{MAPS}/a/b"),
    ] {
        http.get(&format!("{path}?timeout=5")).await.refused_with(
            400,
            "invalid timeout specified in the request URL - time: missing unit in duration \"5\"",
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_times_out_everywhere() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let (pod, core) = ("/api/v1/namespaces/default/pods/a", "/api/v1/namespaces");
    for (method, path) in [
        (Method::POST, MAPS.to_owned()),
        (Method::PUT, format!("{MAPS}/a")),
        (Method::PATCH, format!("{MAPS}/a")),
        (Method::DELETE, format!("{MAPS}/a")),
        (Method::PUT, format!("{pod}/status")),
        (Method::POST, format!("{pod}/eviction")),
        (Method::POST, format!("{pod}/binding")),
        (Method::PUT, format!("{core}/default/finalize")),
        (
            Method::POST,
            format!("{core}/default/serviceaccounts/default/token"),
        ),
        (
            Method::PUT,
            "/apis/apps/v1/namespaces/default/deployments/a/scale".to_owned(),
        ),
        (
            Method::PATCH,
            "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval".to_owned(),
        ),
    ] {
        let first = stream::iter([Ok(Bytes::from_static(b"{"))]);
        let request = Request::builder()
            .method(&method)
            .uri(&path)
            .header(
                "content-type",
                if method == Method::PATCH { MERGE } else { JSON },
            )
            .body(Body::stream(first.chain(stream::pending())))
            .unwrap();
        let answer = http.call(request).await;
        assert_eq!(answer.code, 504, "{method} {path}: {}", answer.message());
    }
}

#[tokio::test]
async fn an_empty_dry_run_is_invalid() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let path = format!("{MAPS}/a?dryRun=");
    let body = map("a").to_string();
    for (method, path, media, options) in [
        (
            Method::POST,
            &format!("{MAPS}?dryRun="),
            JSON,
            "CreateOptions",
        ),
        (Method::PUT, &path, JSON, "UpdateOptions"),
        (Method::PATCH, &path, MERGE, "PatchOptions"),
    ] {
        http.send(method, path, media, body.clone()).await.refused_with(
            422,
            &format!("{options}.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"\"]: supported values: \"All\""),
        );
    }
    http.delete(&path).await.refused_with(
        422,
        "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"\"]: supported values: \"All\"",
    );
}

#[tokio::test]
async fn a_dry_run_creates_objects_with_a_resource_version() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let object = json!({"metadata": {"name": "a", "resourceVersion": "5"}});
    let created = http
        .post(&format!("{MAPS}?dryRun=All"), object.clone())
        .await;
    assert_eq!(created.code, 201, "{}", created.message());
    assert_eq!(created.json()["metadata"]["resourceVersion"], "5");
    http.post(MAPS, object).await.refused_with(
        500,
        "resourceVersion should not be set on objects to be created",
    );
}

#[tokio::test]
async fn methods_are_those_of_the_path() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for path in [
        "/version",
        "/version/",
        "/api",
        "/api/v1",
        "/apis/apps/v1",
        MAPS,
    ] {
        let headers = http.send(Method::HEAD, path, JSON, "").await;
        assert_eq!((headers.code, headers.body.len()), (405, 0), "{path}");
        for method in [Method::OPTIONS, Method::PATCH] {
            let status = http.send(method, path, JSON, "").await.refused_with(
                405,
                "the server does not allow this method on the requested resource",
            );
            assert_eq!(status["details"], json!({}), "{path}");
        }
    }
    for path in [
        "/",
        "/apis",
        "/apis/",
        "/apis/apps",
        "/metrics",
        "/livez",
        "/openapi/v3",
    ] {
        assert_eq!(
            http.send(Method::POST, path, JSON, "").await.code,
            200,
            "{path}"
        );
    }
    http.send(Method::POST, "/api/v9", JSON, "")
        .await
        .refused(404);
}

#[tokio::test]
async fn a_watch_of_what_cannot_be_listed_is_not_allowed() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let status = http.get(&format!("{REVIEWS}?watch=1")).await.refused_with(
        405,
        "the server does not allow this method on the requested resource",
    );
    assert_eq!(status["details"], json!({}));
    let status = http
        .get("/api/v1/componentstatuses?watch=1")
        .await
        .refused_with(
            405,
            "watch is not supported on resources of kind \"componentstatuses\"",
        );
    assert_eq!(status["details"], json!({"kind": "componentstatuses"}));
}

#[tokio::test]
async fn bodies_of_versions_that_are_not_served_are_known() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for (path, api_version, kind, expected) in [
        (
            "apps/v1/namespaces/default/deployments",
            "extensions/v1beta1",
            "Deployment",
            "apps/v1",
        ),
        (
            "events.k8s.io/v1/namespaces/default/events",
            "v1",
            "Event",
            "events.k8s.io/v1",
        ),
        (
            "batch/v1/namespaces/default/cronjobs",
            "batch/v1beta1",
            "CronJob",
            "batch/v1",
        ),
    ] {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        http.post(&format!("/apis/{path}"), object).await.refused_with(
            400,
            &format!("the API version in the data ({api_version}) does not match the expected API version ({expected})"),
        );
    }
    let object = json!({"apiVersion": "foo/v1", "kind": "Deployment", "metadata": {"name": "a"}});
    http.post("/apis/apps/v1/namespaces/default/deployments", object).await.refused_with(
        400,
        "Deployment in version \"v1\" cannot be handled as a Deployment: no kind \"Deployment\" is registered for version \"foo/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
    );
}

#[tokio::test]
async fn kinds_without_a_table_are_not_acceptable_as_tables() {
    const MESSAGE: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    });
    let request = Request::post(REVIEWS)
        .header("content-type", JSON)
        .header("accept", TABLE)
        .body(Body::from(review.to_string()));
    let status = http.call(request.unwrap()).await.refused_with(406, MESSAGE);
    assert_eq!(status["details"], Value::Null);
    let pod = "/api/v1/namespaces/default/pods/x";
    http.get_as(&format!("{pod}/resize"), TABLE)
        .await
        .refused_with(406, MESSAGE);
    http.get_as(&format!("{pod}/status"), TABLE)
        .await
        .refused(404);
    let claim = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/x/status";
    http.get_as(claim, TABLE).await.refused_with(406, MESSAGE);
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_accept_it() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let value = "kubernetes ".repeat(3000);
    for name in ["a", "b", "c", "d"] {
        http.post(MAPS, map_with(name, &value)).await.ok();
    }
    let get = |path: String, encoding: &'static str| {
        let request = Request::get(path)
            .header("accept-encoding", encoding)
            .body(Body::empty());
        http.call(request.unwrap())
    };
    let list = get(MAPS.to_owned(), "gzip").await;
    assert_eq!(list.headers["content-encoding"], "gzip");
    assert_eq!(list.headers["vary"], "Accept-Encoding");
    assert_eq!(list.headers["content-type"], JSON);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*list.body)
        .read_to_string(&mut text)
        .unwrap();
    let plain = get(MAPS.to_owned(), "identity").await;
    assert_eq!(plain.headers.get("content-encoding"), None);
    assert_eq!(text.as_bytes(), &*plain.body);
    for small in [format!("{MAPS}/a"), format!("{MAPS}?limit=2")] {
        let answer = get(small, "gzip").await;
        assert_eq!(answer.headers.get("content-encoding"), None);
        assert_eq!(answer.headers.get("vary"), None);
        answer.ok();
    }
    let watch = get(format!("{MAPS}?watch=1&timeoutSeconds=1"), "gzip").await;
    assert_eq!(watch.headers.get("content-encoding"), None);
    assert!(watch.body.len() > 128 * 1024);
}

#[tokio::test]
async fn two_budgets_for_one_pod_are_a_failure_without_a_reason() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    http.post(pods, pod).await.ok();
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    http.patch(&format!("{pods}/p/status"), running).await.ok();
    for name in ["one", "two"] {
        let budget = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1},
        });
        http.post(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            budget,
        )
        .await
        .ok();
    }
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let status = http.post(&format!("{pods}/p/eviction"), eviction).await.refused_with(
        500,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
    assert_eq!(status["reason"], Value::Null);
}

#[tokio::test]
async fn conversations_with_pods_need_a_container_and_a_node() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, containers: Value| json!({"metadata": {"name": name}, "spec": {"containers": containers}});
    let (a, b) = (
        json!({"name": "a", "image": "i"}),
        json!({"name": "b", "image": "i"}),
    );
    http.post(pods, pod("one", json!([a]))).await.ok();
    http.post(pods, pod("two", json!([a, b]))).await.ok();
    assert_eq!(http.get(&format!("{pods}/one/log")).await.code, 204);
    for (path, message) in [
        (
            "two/log",
            "a container name must be specified for pod two, choose one of: [a b]",
        ),
        (
            "one/log?container=x",
            "container x is not valid for pod one",
        ),
        (
            "one/exec?container=x",
            "container x is not valid for pod one",
        ),
        ("one/exec", "pod one does not have a host assigned"),
        ("two/portforward", "pod two does not have a host assigned"),
        ("one:80/proxy/x", "address not allowed"),
    ] {
        http.get(&format!("{pods}/{path}"))
            .await
            .refused_with(400, message);
    }
    for (path, kind) in [("binding", "Binding"), ("eviction", "Eviction")] {
        http.post(&format!("{pods}/one/{path}"), json!({}))
            .await
            .refused_with(
                400,
                &format!("name in URL does not match name in {kind} object"),
            );
    }
}
