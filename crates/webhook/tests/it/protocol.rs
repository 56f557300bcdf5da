//! Bodies, paths and panics: responses are those of controller-runtime.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_metrics::Registry;
use kubewright_webhook::{Admission, AdmissionResponse, Webhook, WebhookError, Webhooks};
use serde_json::{Value, json};

use crate::captain::{MUTATE, VALIDATE, ask, captain, post, review, webhooks};

/// Posts a body that is not a review, and returns the status of the response.
async fn refused(body: impl Into<bytes::Bytes>, content_type: &str) -> Value {
    let (code, answer) = post(&webhooks(), VALIDATE, body, content_type).await;
    assert_eq!(code, 200);
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["response"]["allowed"], false);
    assert_eq!(answer["response"]["uid"], "");
    assert!(answer.get("kind").is_none());
    answer["response"]["status"].take()
}

#[tokio::test]
async fn bodies_that_are_not_reviews_are_errors_in_a_review() {
    for (body, content_type, code, message) in [
        ("", "application/json", 400, "request body is empty"),
        ("", "text/plain", 400, "request body is empty"),
        (
            "{}",
            "application/json; charset=utf-8",
            400,
            "contentType=application/json; charset=utf-8, expected application/json",
        ),
        (
            "{",
            "application/json",
            400,
            "couldn't get version/kind; json parse error: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        assert_eq!(
            refused(body, content_type).await,
            json!({"metadata": {}, "message": message, "code": code})
        );
    }
    let large = refused(vec![b' '; 7 << 20], "application/json").await;
    assert_eq!(
        (&large["code"], &large["message"]),
        (
            &json!(413),
            &json!("request entity is too large; limit is 7340032 bytes")
        )
    );
    let fits = refused(vec![b' '; (7 << 20) - 1], "application/json").await;
    assert_eq!(fits["code"], 400);
}

#[tokio::test]
async fn v1beta1_reviews_have_v1beta1_responses() {
    let mut review = review("CREATE", Some(captain(json!({"ship": "a"}))), None);
    review["apiVersion"] = json!("admission.k8s.io/v1beta1");
    assert_eq!(ask(&webhooks(), VALIDATE, &review).await["allowed"], true);
}

#[tokio::test]
async fn objects_of_other_kinds_are_bad_requests() {
    let status = async |review: &Value| ask(&webhooks(), VALIDATE, review).await["status"].take();
    let mut other = review("CREATE", Some(captain(json!({}))), None);
    other["request"]["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(
        status(&other).await,
        json!({
            "metadata": {}, "code": 400,
            "message": "unable to decode apps/v1, Kind=Deployment into crew.example.com/v1, Kind=Captain",
        })
    );
    // Without a kind in the review, the kind of the object is used.
    let mut pod = captain(json!({}));
    pod["kind"] = json!("Mate");
    let mut other = review("CREATE", Some(pod), None);
    other["request"].as_object_mut().unwrap().remove("kind");
    let message = status(&other).await["message"].take();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("unable to decode crew.example.com/v1, Kind=Mate")
    );
    let missing = status(&review("UPDATE", Some(captain(json!({"ship": "a"}))), None)).await;
    assert_eq!(missing["message"], "there is no content to decode");
    let wrong = status(&review(
        "CREATE",
        Some(captain(json!({"mates": "many"}))),
        None,
    ))
    .await;
    assert_eq!(wrong["code"], 400);
    let unknown = status(&review("EXPLODE", None, None)).await;
    assert_eq!(unknown["message"], "unknown operation \"EXPLODE\"");
}

#[tokio::test]
async fn objects_that_are_not_json_are_bad_requests() {
    let whole = review("CREATE", Some(json!("HERE")), None).to_string();
    for object in [r#"{"metadata" {}}"#, r#"{"spec":{]]}"#, "{'a':1}", "[1 2]"] {
        let body = whole.replace("\"HERE\"", object);
        for path in [VALIDATE, MUTATE] {
            let (_, answer) = post(&webhooks(), path, body.clone(), "application/json").await;
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            let status = &answer["response"]["status"];
            let message = status["message"].as_str().unwrap();
            assert_eq!(status["code"], 400, "{object}");
            assert!(
                message.starts_with("couldn't get version/kind; json parse error: "),
                "{object}: {message}"
            );
        }
    }
    // Whitespace and unusual spellings of keys do not matter.
    let pretty = json!({"HERE": captain(json!({"ship": "a", "mates": 30}))});
    let pretty = serde_json::to_string_pretty(&pretty).unwrap();
    let body = whole.replace("\"object\":\"HERE\"", "\"HERE\":0");
    for key in ["object", "\\u006fbject"] {
        let member = pretty.trim_matches(['{', '}']).replace("HERE", key);
        let body = body.replace("\"HERE\":0", &member);
        let (_, answer) = post(&webhooks(), VALIDATE, body, "application/json").await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["response"]["status"]["code"], 422, "{answer}");
    }
}

#[tokio::test]
async fn a_panic_is_contained_and_counted() {
    let (webhooks, registry) = (webhooks(), Registry::new());
    webhooks.register_metrics(&registry);
    let object = captain(json!({"mates": 101}));
    let response = ask(&webhooks, MUTATE, &review("CREATE", Some(object), None)).await;
    assert_eq!(
        response["status"],
        json!({"metadata": {}, "message": "panic: the ship sinks [recovered]", "code": 500})
    );
    let object = captain(json!({"mates": 1}));
    let next = ask(&webhooks, MUTATE, &review("CREATE", Some(object), None)).await;
    assert_eq!(next["allowed"], true);
    let text = registry.encode();
    for line in [
        "controller_runtime_webhook_panics_total 1",
        "controller_runtime_conversion_webhook_panics_total 0",
        "controller_runtime_webhook_requests_total{webhook=\"/mutate-crew-example-com-v1-captain\",code=\"200\"} 2",
        "controller_runtime_webhook_requests_total{webhook=\"/validate-crew-example-com-v1-captain\",code=\"500\"} 0",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/mutate-crew-example-com-v1-captain\"} 0",
        "controller_runtime_webhook_latency_seconds_count{webhook=\"/mutate-crew-example-com-v1-captain\"} 2",
        "controller_runtime_webhook_latency_seconds_bucket{webhook=\"/validate-crew-example-com-v1-captain\",le=\"1e-08\"} 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let (code, body) = post(&webhooks(), "/validate", "{}", "application/json").await;
    assert_eq!((code, &*body), (404, b"404 page not found\n".as_slice()));
}

#[test]
fn paths_must_be_valid_and_distinct() {
    let hook =
        |path: &str| Webhook::validating(path, |_: &Admission<'_>| AdmissionResponse::allowed());
    let build = |paths: &[&str]| {
        let builder = paths.iter().fold(Webhooks::builder(), |builder, path| {
            builder.webhook(hook(path))
        });
        builder.build().err()
    };
    assert_eq!(build(&["/", "/a/b-c_d"]), None);
    assert_eq!(
        build(&["/a", "/a"]),
        Some(WebhookError::Duplicate("/a".into()))
    );
    for path in ["", "a", "/a/", "//", "/a b", "/ä"] {
        assert_eq!(
            build(&[path]),
            Some(WebhookError::Path(path.into())),
            "{path}"
        );
    }
}

#[tokio::test]
async fn handlers_handle_any_kind() {
    let webhooks = Webhooks::builder()
        .webhook(Webhook::validating(
            "/any",
            |ctx: &Admission<'_>| match ctx.object() {
                Some(object) => AdmissionResponse::denied(object.get().len().to_string()),
                None => AdmissionResponse::allowed().audit_annotation("empty", "true"),
            },
        ))
        .build()
        .unwrap();
    let mut exec = review("CONNECT", Some(json!({"a": 1})), None);
    let denied = ask(&webhooks, "/any", &exec).await;
    assert_eq!(denied["status"]["message"], "7");
    exec["request"]["object"] = Value::Null;
    let allowed = ask(&webhooks, "/any", &exec).await;
    assert_eq!(allowed["auditAnnotations"]["empty"], "true");
}

#[tokio::test]
async fn times_of_reviews_are_those_of_the_clock() {
    let webhooks = webhooks();
    webhooks.set_clock(Arc::new(|| Timestamp::UNIX_EPOCH));
    let review = review("CREATE", Some(captain(json!({"ship": "a"}))), None);
    ask(&webhooks, VALIDATE, &review).await;
    let recent = &webhooks.debug_reviews()["recent"][0];
    assert_eq!(recent["end"], "1970-01-01T00:00:00Z");
}
