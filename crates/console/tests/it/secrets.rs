//! Values of Secrets do not leave the server unless one asks for those of one Secret.

use http::{HeaderValue, Method};
use serde_json::{Value, json};

use crate::scene::{Scene, read};

/// The value as it is stored: base64 of `hunter2`.
const VALUE: &str = "aHVudGVyMg==";

const PATH: &str = "/api/v1/namespaces/default/secrets";

async fn scene() -> Scene {
    let scene = Scene::start().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": format!("{{\"data\":{{\"password\":\"{VALUE}\"}}}}")}},
        "data": {"password": VALUE},
    });
    let created = scene.create(PATH, secret).await;
    assert_masked(&created);
    scene
}

fn assert_masked(answer: &Value) {
    let text = answer.to_string();
    assert!(!text.contains(VALUE) && !text.contains("hunter2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_masked_in_every_form() {
    let scene = scene().await;
    for path in [
        PATH.to_owned(),
        format!("{PATH}/s"),
        "/api/v1/secrets".into(),
        "/api/v1/secrets?limit=1".into(),
        format!("/{PATH}/s"),
    ] {
        let (code, answer) = scene.get(&path).await;
        assert!(
            code == 200 || path.starts_with("//"),
            "{path}: {code} {answer}"
        );
        assert_masked(&answer);
    }
    let (_, one) = scene.get(&format!("{PATH}/s")).await;
    assert_eq!(one["data"], json!({"password": "(masked)"}));
    for form in [
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ] {
        let mut request = scene.request(Method::GET, &format!("{PATH}?includeObject=Object"), None);
        request
            .headers_mut()
            .insert("accept", HeaderValue::from_static(form));
        let (code, answer) = read(scene.send(request).await).await;
        assert_eq!(code, 200, "{answer}");
        assert_masked(&answer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_secret_is_revealed_on_request() {
    let scene = scene().await;
    let reveal = async |method: Method, path: &str| {
        let mut request = scene.request(method, path, None);
        request
            .headers_mut()
            .insert("kubewright-reveal", HeaderValue::from_static("true"));
        read(scene.send(request).await).await.1
    };
    let shown = reveal(Method::GET, &format!("{PATH}/s")).await;
    assert_eq!(shown["data"]["password"], VALUE);
    assert_masked(&reveal(Method::GET, PATH).await);
    assert_masked(&reveal(Method::GET, "/api/v1/secrets").await);
    // Only the request that showed the values is in the ledger.
    let (_, requests) = scene.get("/kubewright/v1/requests?resource=secrets").await;
    let requests = requests["items"].as_array().unwrap();
    let reads = requests.iter().filter(|request| request["verb"] == "get");
    let reads: Vec<&Value> = reads.collect();
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert_eq!(reads[0]["name"], "s", "{reads:?}");
    assert_eq!(reads[0]["code"], 200, "{reads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn encoded_paths_reveal_no_values() {
    let scene = scene().await;
    for path in [
        "/api/v1/namespaces/default/%73ecrets/s",
        "/api/v1/namespaces/default/%73%65crets",
        "/api/v1/namespaces/default%2Fsecrets/s",
        "/api/v1/%73ecrets",
    ] {
        let (code, answer) = scene.get(path).await;
        assert_eq!(code, 200, "{path}: {answer}");
        assert_masked(&answer);
    }
    for path in [
        "/api/v1/namespaces/default/%2573ecrets/s",
        "/api/v1/namespaces/default/pods/../secrets/s",
        "/api/v1/namespaces/default/pods/%2e%2e/secrets/s",
        "/api/v1/namespaces/default//secrets/s",
        "/api/v1/%77atch/secrets",
    ] {
        let (code, answer) = scene.get(path).await;
        assert_eq!(code, 400, "{path}: {answer}");
        assert_masked(&answer);
    }
    let (_, masked) = scene.get(&format!("{PATH}/s")).await;
    let encoded = "/api/v1/namespaces/default/%73ecrets/s";
    let (code, refused) = scene.call(Method::PUT, encoded, Some(&masked)).await;
    assert_eq!(code, 422, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_value_is_never_written() {
    let scene = scene().await;
    let (_, masked) = scene.get(&format!("{PATH}/s")).await;
    let (code, refused) = scene
        .call(Method::PUT, &format!("{PATH}/s"), Some(&masked))
        .await;
    assert_eq!(code, 422, "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("reveal"),
        "{refused}"
    );
    // The labels of a Secret can be changed without its values.
    let mut request = scene.request(
        Method::PATCH,
        &format!("{PATH}/s"),
        Some(&json!({"metadata": {"labels": {"a": "b"}}})),
    );
    request.headers_mut().insert(
        "content-type",
        HeaderValue::from_static("application/merge-patch+json"),
    );
    let (code, answer) = read(scene.send(request).await).await;
    assert_eq!(code, 200, "{answer}");
    assert_masked(&answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_masked() {
    let scene = scene().await;
    let (mut lines, tab) = scene.stream().await;
    scene
        .subscribe(
            &tab,
            json!([
                {"id": "one", "type": "poll", "path": format!("{PATH}/s")},
                {"id": "all", "type": "table", "path": "/api/v1/secrets", "limit": 50},
            ]),
        )
        .await;
    let (mut one, mut all) = (false, false);
    while !(one && all) {
        let message = lines.next().await.unwrap();
        assert_masked(&message);
        one |= message["id"] == "one" && message["code"] == 200;
        all |= message["id"] == "all" && message["total"] == 1;
    }
}
