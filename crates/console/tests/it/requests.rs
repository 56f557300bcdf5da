//! Requests that are passed on, and those that are not.

use http::{HeaderValue, Method};
use serde_json::json;

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn requests_reach_the_cluster_as_they_are() {
    let scene = Scene::start().await;
    let created = scene.config_map("m").await;
    assert_eq!(
        created["metadata"]["managedFields"][0]["manager"],
        "kubewright-console"
    );
    let (code, list) = scene
        .get("/api/v1/namespaces/default/configmaps?labelSelector=a%3Db")
        .await;
    assert_eq!((code, &list["items"]), (200, &json!([])));
    let (code, missing) = scene
        .get("/api/v1/namespaces/default/configmaps/none")
        .await;
    assert_eq!((code, &missing["reason"]), (404, &json!("NotFound")));
    let mut stale = created;
    stale["metadata"]["resourceVersion"] = "1".into();
    let (code, conflict) = scene
        .call(
            Method::PUT,
            "/api/v1/namespaces/default/configmaps/m",
            Some(&stale),
        )
        .await;
    assert_eq!((code, &conflict["reason"]), (409, &json!("Conflict")));
    let options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
    let (code, _) = scene
        .call(
            Method::DELETE,
            "/api/v1/namespaces/default/configmaps/m",
            Some(&options),
        )
        .await;
    assert_eq!(code, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing() {
    let scene = Scene::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let path = "/api/v1/namespaces/default/configmaps/m?fieldManager=console&dryRun=All";
    let mut request = scene.request(Method::PATCH, path, Some(&object));
    request.headers_mut().insert(
        "content-type",
        HeaderValue::from_static("application/apply-patch+yaml"),
    );
    assert_eq!(scene.code(request).await, 201);
    let (code, _) = scene.get("/api/v1/namespaces/default/configmaps/m").await;
    assert_eq!(code, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_impersonated_through_the_console() {
    let scene = Scene::start().await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let mut request = scene.request(Method::POST, path, Some(&review));
    request
        .headers_mut()
        .insert("impersonate-user", HeaderValue::from_static("mallory"));
    let (code, answer) = crate::scene::read(scene.send(request).await).await;
    assert_eq!(code, 201, "{answer}");
    assert_ne!(answer["status"]["userInfo"]["username"], "mallory");
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_and_streams_of_pods_are_refused() {
    let scene = Scene::start().await;
    for path in [
        "/api/v1/pods?watch=true",
        "/api/v1/watch/pods",
        "/api/v1/secrets?%77atch=1",
        "/api/v1/namespaces/default/pods/web/exec?command=sh",
        "/api/v1/namespaces/default/pods/web/proxy/admin",
    ] {
        let (code, answer) = scene.get(path).await;
        assert_eq!(code, 400, "{path}: {answer}");
    }
    let mut protobuf = scene.request(Method::GET, "/api/v1/secrets", None);
    protobuf.headers_mut().insert(
        "accept",
        HeaderValue::from_static("application/vnd.kubernetes.protobuf"),
    );
    assert_eq!(scene.code(protobuf).await, 406);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_says_what_the_cluster_is() {
    let scene = Scene::start().await;
    let (code, session) = scene.get("/kubewright/v1/console/session").await;
    assert_eq!(code, 200);
    assert_eq!(
        (&session["title"], &session["local"]),
        (&json!("test"), &json!(true))
    );
    assert!(
        session["version"]["gitVersion"]
            .as_str()
            .unwrap()
            .starts_with("v1."),
        "{session}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_have_the_number_of_their_objects() {
    let scene = Scene::start().await;
    for n in 0..3 {
        scene.config_map(&format!("m{n}")).await;
    }
    let (_, before) = scene.get("/api/v1/configmaps").await;
    let (code, kinds) = scene.get("/kubewright/v1/console/kinds").await;
    assert_eq!(code, 200);
    let kinds = kinds["kinds"].as_array().unwrap();
    let maps = kinds
        .iter()
        .find(|kind| kind["resource"] == "configmaps")
        .unwrap();
    assert_eq!(maps["count"], before["items"].as_array().unwrap().len());
    assert_eq!(maps["path"], "/api/v1/configmaps");
    assert!(maps["shortNames"].to_string().contains("cm"));
    assert!(
        kinds
            .iter()
            .any(|kind| kind["group"] == "apps" && kind["resource"] == "deployments")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pasted_text_is_parsed_by_the_server() {
    let scene = Scene::start().await;
    let (code, parsed) = scene
        .call(
            Method::POST,
            "/kubewright/v1/console/parse",
            Some(&json!({"text": "a: yes\n---\nb: [1]\n"})),
        )
        .await;
    assert_eq!(
        (code, parsed),
        (200, json!({"objects": [{"a": true}, {"b": [1]}]}))
    );
    let (code, refused) = scene
        .call(
            Method::POST,
            "/kubewright/v1/console/parse",
            Some(&json!({"text": "a: ["})),
        )
        .await;
    assert_eq!(code, 400, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_the_server_are_sums() {
    let scene = Scene::start().await;
    let metrics = "/kubewright/v1/console/metrics";
    let (mut stream, tab) = scene.stream().await;
    scene
        .subscribe(&tab, json!([{"id": "m", "type": "poll", "path": metrics}]))
        .await;
    // Rates begin with the second sample.
    let lists = |message: &serde_json::Value| {
        let lines = message["body"]["lines"].as_array()?;
        let number = lines.iter().position(|line| {
            line["title"] == "apiserver_request_total" && line["line"] == "LIST"
        })?;
        message["body"]["samples"][0][1][number].as_f64()
    };
    // A request between any two messages: not every sample becomes a message.
    let mut rate = None;
    while rate <= Some(0.0) {
        scene.get("/api/v1/pods").await;
        let message = stream.until(|_| true).await;
        assert_eq!(message["code"], 200, "{message}");
        rate = lists(&message);
    }
    let (code, history) = scene.get(&format!("{metrics}/history")).await;
    assert_eq!(code, 200);
    assert!(history["samples"].as_array().unwrap().len() >= 2);
}
