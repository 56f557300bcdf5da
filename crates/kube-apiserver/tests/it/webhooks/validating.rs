//! Denials, failures and their policies.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::ServiceHandler;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{GROUP, MUTATING, Scene, VALIDATING, allow, deny, respond, rule, said_by};
use crate::http_client::{MAPS, map};

#[tokio::test]
async fn a_denial_is_answered_with_its_status() {
    let scene = Scene::new().await;
    scene.serve("a", |review| {
        let status = json!({"code": 422, "reason": "Invalid", "message": "too many",
            "details": {"kind": "Map", "causes": [{"field": "data", "message": "2"}]}});
        respond(
            review,
            json!({"allowed": false, "status": status, "warnings": ["think again"]}),
        )
    });
    scene
        .register(VALIDATING, "a", json!({"failurePolicy": "Ignore"}))
        .await;
    let denied = scene.http.post(MAPS, map("m")).await;
    let status = denied.refused_with(
        422,
        "admission webhook \"a.example.com\" denied the request: too many",
    );
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "data");
    assert_eq!(denied.warnings(), ["299 - \"think again\""]);
}

#[tokio::test]
async fn the_first_denial_in_order_is_the_answer() {
    let scene = Scene::new().await;
    let last = scene.serve("c", deny);
    scene.serve("b", deny);
    scene.serve("a", allow);
    for name in ["c", "b", "a"] {
        scene.register(VALIDATING, name, json!({})).await;
    }
    for i in 0..5 {
        let denied = scene.http.post(MAPS, map(&format!("m{i}"))).await;
        denied.refused_with(
            403,
            "admission webhook \"b.example.com\" denied the request: no",
        );
    }
    assert_eq!(last.lock().len(), 5);
}

/// Warns with its name, after another webhook has been called.
struct Warn {
    name: &'static str,
    after: Option<Arc<Notify>>,
    before: Option<Arc<Notify>>,
}

#[boxed_async]
impl ServiceHandler for Warn {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        if let Some(other) = &self.after {
            other.notified().await;
        }
        if let Some(other) = &self.before {
            other.notify_one();
        }
        let review: Value = serde_json::from_slice(request.body()).map_err(|e| e.to_string())?;
        let answer = respond(&review, json!({"allowed": true, "warnings": [self.name]}));
        answer.map(|body| Response::new(body.into()))
    }
}

#[tokio::test]
async fn warnings_are_in_the_order_of_the_webhooks_and_not_of_their_answers() {
    let scene = Scene::new().await;
    let answered = Arc::new(Notify::new());
    let services = scene.cluster.services();
    for (name, after, before) in [
        ("a", Some(answered.clone()), None),
        ("b", None, Some(answered)),
    ] {
        let handler = Warn {
            name,
            after,
            before,
        };
        services.set_handler("test", name, 443, Arc::new(handler));
        scene.register(VALIDATING, name, json!({})).await;
    }
    let made = scene.http.post(MAPS, map("m")).await;
    assert_eq!(made.warnings(), ["299 - \"a\"", "299 - \"b\""]);
}

#[tokio::test]
async fn failures_follow_the_policy() {
    let scene = Scene::new().await;
    scene.serve("a", |_| Err("connection refused".to_owned()));
    scene
        .register(VALIDATING, "a", json!({"timeoutSeconds": 3}))
        .await;
    let failed = scene.http.post(MAPS, map("m")).await;
    let text = "failed calling webhook \"a.example.com\": failed to call webhook: Post \
                \"https://a.test.svc:443/review?timeout=3s\": connection refused";
    let status = failed.refused_with(500, &format!("Internal error occurred: {text}"));
    assert_eq!(status["reason"], "InternalError");
    assert_eq!(status["details"]["causes"][0]["message"], text);
    let ignored =
        json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    let one = format!("{GROUP}/{VALIDATING}/a");
    let media = "application/json-patch+json";
    let body = ignored.to_string();
    scene
        .http
        .send(http::Method::PATCH, &one, media, body)
        .await
        .ok();
    scene.http.post(MAPS, map("m")).await.ok();
    let metrics = scene.http.get("/metrics").await.body;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    let open =
        "apiserver_admission_webhook_fail_open_count{name=\"a.example.com\",type=\"validating\"} 1";
    assert!(metrics.contains(open), "{metrics}");
    assert!(metrics.contains(
        "apiserver_admission_webhook_rejection_count{error_type=\"calling_webhook_error\""
    ));
}

#[tokio::test]
async fn services_that_are_not_there_have_the_words_of_kube_apiserver() {
    let scene = Scene::new().await;
    scene.register(VALIDATING, "nobody", json!({})).await;
    let failed = scene.http.post(MAPS, map("m")).await;
    assert!(said_by(&failed).ends_with("?timeout=10s\": service \"nobody\" not found"));
}

#[tokio::test]
async fn webhooks_are_notified_of_dry_runs() {
    let scene = Scene::new().await;
    let seen = scene.serve("a", allow);
    scene
        .register(VALIDATING, "a", json!({"sideEffects": "NoneOnDryRun"}))
        .await;
    scene
        .http
        .post(&format!("{MAPS}?dryRun=All"), map("m"))
        .await
        .ok();
    let request = seen.lock()[0]["request"].clone();
    assert_eq!(request["dryRun"], true);
    assert_eq!(request["options"]["dryRun"], json!(["All"]));
}

#[tokio::test]
async fn webhooks_do_not_see_the_configuration_of_admission() {
    let scene = Scene::new().await;
    scene.serve("a", deny);
    let all = json!({"rules": [rule("*", "*/*")]});
    scene.register(VALIDATING, "a", all).await;
    scene.http.post(MAPS, map("m")).await.refused(403);
    scene.register(MUTATING, "other", json!({})).await;
    scene
        .http
        .delete(&format!("{GROUP}/{VALIDATING}/a"))
        .await
        .ok();
    scene
        .http
        .delete(&format!("{GROUP}/{MUTATING}/other"))
        .await
        .ok();
    scene.http.post(MAPS, map("m")).await.ok();
}

#[tokio::test]
async fn selectors_narrow_what_is_seen() {
    let scene = Scene::new().await;
    scene.serve("a", deny);
    let selector = json!({"matchLabels": {"guarded": "yes"}});
    scene
        .register(VALIDATING, "a", json!({"namespaceSelector": selector}))
        .await;
    scene.http.post(MAPS, map("m")).await.ok();
    let namespace = json!({"metadata": {"name": "guarded", "labels": {"guarded": "yes"}}});
    scene.http.post("/api/v1/namespaces", namespace).await.ok();
    let guarded = "/api/v1/namespaces/guarded/configmaps";
    scene.http.post(guarded, map("m")).await.refused(403);
}

#[tokio::test]
async fn match_conditions_decide() {
    let scene = Scene::new().await;
    scene.serve("a", deny);
    let conditions = json!([
        {"name": "named", "expression": "object.metadata.name.startsWith('guarded')"},
        {"name": "create", "expression": "request.operation == 'CREATE'"},
        {"name": "user", "expression": "authorizer.group('').resource('pods').check('list').allowed()"},
    ]);
    scene
        .register(VALIDATING, "a", json!({"matchConditions": conditions}))
        .await;
    scene.http.post(MAPS, map("free")).await.ok();
    scene.http.post(MAPS, map("guarded")).await.refused(403);
    scene.serve("b", allow);
    let failing = json!([{"name": "fails", "expression": "object.data.none == 'a'"}]);
    scene
        .register(MUTATING, "b", json!({"matchConditions": failing}))
        .await;
    let refused = scene.http.post(MAPS, map("m")).await;
    refused.refused_with(
        403,
        "configmaps \"m\" is forbidden: expression 'object.data.none == 'a'' resulted in error: no such key: data",
    );
    let one = format!("{GROUP}/{MUTATING}/b");
    scene.http.delete(&one).await.ok();
    let ignored = json!({"matchConditions": failing, "failurePolicy": "Ignore"});
    scene.register(MUTATING, "b", ignored).await;
    scene.http.post(MAPS, map("m")).await.ok();
}

#[tokio::test]
async fn a_thousand_configurations_are_bearable() {
    let scene = Scene::new().await;
    let seen = scene.serve("h", allow);
    let webhook = json!({
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "test", "name": "h"}},
        "rules": [rule("", "configmaps")],
    });
    for i in 0..1000 {
        let object = json!({"metadata": {"name": format!("c{i}")}, "webhooks": [webhook]});
        scene
            .http
            .post(&format!("{GROUP}/{VALIDATING}"), object)
            .await
            .ok();
    }
    scene.http.post(MAPS, map("m")).await.ok();
    assert_eq!(seen.lock().len(), 1000);
    scene
        .http
        .post("/api/v1/namespaces/default/secrets", map("s"))
        .await
        .ok();
    assert_eq!(seen.lock().len(), 1000);
}

#[tokio::test]
async fn annotations_of_webhooks_are_audited() {
    let scene = Scene::new().await;
    let audit = scene.cluster.audit();
    scene.serve("a", |review| {
        respond(
            review,
            json!({"allowed": true, "auditAnnotations": {"why": "because"}}),
        )
    });
    scene.serve("b", |_| Err("down".to_owned()));
    scene.register(MUTATING, "a", json!({})).await;
    scene
        .register(VALIDATING, "b", json!({"failurePolicy": "Ignore"}))
        .await;
    scene.http.post(MAPS, map("m")).await.ok();
    let events = audit.events();
    let event = events
        .iter()
        .rfind(|event| event.is("create", "configmaps"))
        .expect("an event");
    let annotations: Value = serde_json::to_value(&event.annotations).expect("plain data");
    assert_eq!(annotations["a.example.com/why"], "because");
    assert_eq!(
        annotations["mutation.webhook.admission.k8s.io/round_0_index_0"],
        r#"{"configuration":"a","webhook":"a.example.com","mutated":false}"#
    );
    assert_eq!(
        annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"],
        "b.example.com"
    );
}
