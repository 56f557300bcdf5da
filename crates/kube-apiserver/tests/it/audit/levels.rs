//! Tests of the levels and settings: the fields that each records, and those that are never recorded.

use std::sync::Arc;

use kubewright_apiserver::{
    admission::{Attributes, Plugin},
    audit::{Level, Policy, Stage},
    boxed_async,
    request::RequestContext,
};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::Audited;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn policy(text: &str) -> Policy {
    let head = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n";
    Policy::parse(format!("{head}{text}")).expect("a policy")
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "b"}})
}

#[tokio::test]
async fn each_level_records_more() {
    for (level, request, response) in [
        (Level::Metadata, false, false),
        (Level::Request, true, false),
        (Level::RequestResponse, true, true),
    ] {
        let server =
            Audited::start(Policy::everything(level).without(Stage::RequestReceived)).await;
        server.admin(&format!("POST {MAPS}"), &map("m")).await;
        let events = server.take();
        let [event] = &events[..] else {
            panic!("{level:?}: {} events", events.len())
        };
        let objects = (
            event.request_object.is_some(),
            event.response_object.is_some(),
        );
        assert_eq!(objects, (request, response), "{level:?}");
        // Every level names the object that was sent.
        let name = event.object_ref.as_ref().map(|object| object.name.as_str());
        assert_eq!((name, event.code()), (Some("m"), 201), "{level:?}");
    }
}

#[tokio::test]
async fn requests_without_a_rule_are_not_recorded() {
    let server = Audited::start(policy(
        "rules: [{level: None, verbs: [list]}, {level: Metadata, resources: [{resources: [configmaps]}]}]",
    ))
    .await;
    server.admin(&format!("GET {MAPS}"), &Value::Null).await;
    server
        .admin("GET /api/v1/namespaces/default", &Value::Null)
        .await;
    assert!(server.take().is_empty());
    server
        .admin(&format!("GET {MAPS}/none"), &Value::Null)
        .await;
    assert_eq!(server.take().len(), 1);
}

#[tokio::test]
async fn managed_fields_are_left_out_where_the_policy_says_so() {
    let rule = "omitManagedFields: true\nrules: [{level: RequestResponse}]";
    let server = Audited::start(policy(rule)).await;
    let (_, created) = server.admin(&format!("POST {MAPS}"), &map("m")).await;
    assert!(created["metadata"]["managedFields"].is_array());
    server.admin(&format!("GET {MAPS}"), &Value::Null).await;
    server.admin(&format!("PUT {MAPS}/m"), &created).await;
    for event in server.take() {
        let line = event.to_json();
        assert!(!line.contains("managedFields"), "{line}");
        assert!(line.contains(r#""data":{"a":"b"}"#), "{line}");
    }
}

#[tokio::test]
async fn responses_are_recorded_as_json_in_every_encoding() {
    let server = Audited::start(policy("rules: [{level: RequestResponse}]")).await;
    server.admin(&format!("POST {MAPS}"), &map("m")).await;
    for path in [format!("{MAPS}/m"), MAPS.to_owned(), format!("{MAPS}/none")] {
        let (_, plain) = server.admin(&format!("GET {path}"), &Value::Null).await;
        for (name, value) in [
            ("accept", "application/json"),
            ("accept", "application/vnd.kubernetes.protobuf"),
            ("accept", "application/yaml"),
            ("user-agent", "curl/8"),
        ] {
            server.take();
            let headers = [("authorization", "Bearer tok"), (name, value)];
            server.send(&format!("GET {path}"), &headers, "").await;
            let event = server.take().pop().expect("an event");
            assert_eq!(
                event.response_value().as_ref(),
                Some(&plain),
                "{value} {path}"
            );
            assert!(!event.to_json().contains('\n'), "{value}");
        }
    }
}

#[tokio::test]
async fn a_list_that_is_streamed_is_recorded_when_it_has_been_read() {
    let server = Audited::start(policy("rules: [{level: RequestResponse}]")).await;
    let long = "x".repeat(100_000);
    for i in 0..20 {
        let mut map = map(&format!("m{i}"));
        map["data"]["long"] = json!(long);
        server.admin(&format!("POST {MAPS}"), &map).await;
    }
    server.take();
    let headers = [("authorization", "Bearer tok")];
    let answer = server.answer(&format!("GET {MAPS}"), &headers, "").await;
    assert!(server.take().is_empty(), "the answer is not complete");
    let body = answer.into_body().collect_up_to(8 << 20).await;
    let body = body.expect("the answer ends").expect("the answer is short");
    let event = server.take().pop().expect("an event");
    assert!(
        event.response_object.as_deref() == Some(&body[..]),
        "the event has another list"
    );
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_marked() {
    let server = Audited::start(policy("rules: [{level: RequestResponse}]")).await;
    let long = "x".repeat(1_000_000);
    for i in 0..12 {
        let mut map = map(&format!("m{i}"));
        map["data"]["long"] = json!(long);
        server.admin(&format!("POST {MAPS}"), &map).await;
    }
    server.take();
    server.admin(&format!("GET {MAPS}"), &Value::Null).await;
    let event = server.take().pop().expect("an event");
    assert_eq!(event.response_object, None);
    assert_eq!(event.annotations["audit.k8s.io/truncated"], "true");
}

#[tokio::test]
async fn no_event_contains_credentials() {
    let server = Audited::start(Policy::everything(Level::RequestResponse)).await;
    let secret = "tok-that-nobody-knows";
    let bearer = format!("Bearer {secret}");
    let protocol = format!("base64url.bearer.authorization.k8s.io.{secret}");
    for headers in [
        [("authorization", bearer.as_str()), ("accept", "*/*")],
        [
            ("sec-websocket-protocol", protocol.as_str()),
            ("upgrade", "websocket"),
        ],
        [("authorization", "Basic dG9rLXRoYXQ="), ("cookie", secret)],
    ] {
        server.send(&format!("GET {MAPS}"), &headers, "").await;
    }
    server.admin("GET /version", &Value::Null).await;
    let events = server.take();
    assert!(events.len() > 3);
    for event in events {
        let line = event.to_json();
        for text in [secret, "Bearer", "Basic", "dG9r"] {
            assert!(!line.contains(text), "{line}");
        }
    }
}

#[tokio::test]
async fn a_patch_that_is_not_json_leaves_the_event_without_it() {
    let server = Audited::start(policy("rules: [{level: Request}]")).await;
    let headers = [
        ("authorization", "Bearer tok"),
        ("content-type", "application/apply-patch+yaml"),
    ];
    let path = format!("PATCH {MAPS}/m?fieldManager=f");
    for (body, recorded) in [
        ("apiVersion: v1\nkind: ConfigMap\n", None),
        (
            "{ \"apiVersion\": \"v1\",\n \"kind\": \"ConfigMap\" }",
            Some(json!({"apiVersion": "v1", "kind": "ConfigMap"})),
        ),
    ] {
        server.send(&path, &headers, body).await;
        let event = server.take().pop().expect("an event");
        assert_eq!(event.request_value(), recorded, "{body}");
        assert!(!event.to_json().contains('\n'));
    }
}

/// A plugin with a mistake.
struct Careless;

#[boxed_async]
impl Plugin for Careless {
    async fn mutate(
        &self,
        cx: &RequestContext,
        _: &Attributes<'_>,
        _: Option<&mut Value>,
    ) -> Result<(), Status> {
        assert!(cx.info.name != "m", "the plugin is careless");
        Ok(())
    }
}

#[tokio::test]
async fn a_panic_is_a_stage_of_its_own() {
    let builder = KubeApiServer::builder().plugin(Arc::new(Careless));
    let server = Audited::of(builder, Policy::everything(Level::Metadata)).await;
    server.admin(&format!("POST {MAPS}"), &map("m")).await;
    server.take();
    let (code, _) = server.admin(&format!("PUT {MAPS}/m"), &map("m")).await;
    assert_eq!(code, 500);
    let events = server.take();
    let stages: Vec<Stage> = events.iter().map(|event| event.stage).collect();
    assert_eq!(stages, [Stage::RequestReceived, Stage::Panic]);
    let status = events[1].response_status.as_ref().expect("a status");
    assert_eq!(status.message, "APIServer panic'd: the plugin is careless");
}

#[tokio::test]
async fn a_watch_starts_and_completes_when_the_client_goes_away() {
    let server = Audited::start(policy("rules: [{level: RequestResponse}]")).await;
    let headers = [("authorization", "Bearer tok")];
    let watch = server
        .answer(&format!("GET {MAPS}?watch=1"), &headers, "")
        .await;
    let stages = |server: &Audited| -> Vec<Stage> {
        server.take().iter().map(|event| event.stage).collect()
    };
    assert_eq!(stages(&server), [Stage::ResponseStarted]);
    drop(watch);
    assert_eq!(stages(&server), [Stage::ResponseComplete]);
}
