//! `webhook`: the admission webhooks of Kubernetes' tests.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::{
    flags::Flags,
    http::{body, certificate, json as answer, serve_tls, text},
};
use crate::image::{Container, HttpBody};

/// The delay of `/always-allow-delay-5s`.
const DELAY: Duration = Duration::from_secs(5);

/// The label and the key of data that select the response for an object.
const MARK: &str = "webhook-e2e-test";

pub(super) async fn run(container: &Container, flags: &Flags<'_>) -> i32 {
    let sidecar = flags.get("sidecar-image").map(str::to_owned);
    let port = flags.port("port", 443);
    serve_tls(container, port, certificate(flags), move |request| {
        let sidecar = sidecar.clone();
        async move { handle(request, sidecar.as_deref()).await }
    })
    .await
}

async fn handle(request: Request<HttpBody>, sidecar: Option<&str>) -> Response<Bytes> {
    let path = request.uri().path().to_owned();
    if path == "/readyz" {
        return text(StatusCode::OK, "ok");
    }
    let review = match body(request).await {
        Some(body) => serde_json::from_slice::<Value>(&body),
        None => return text(StatusCode::BAD_REQUEST, "the request could not be read"),
    };
    let mut review = match review {
        Ok(review) => review,
        Err(error) => {
            let message = format!("Request could not be decoded: {error}");
            return text(StatusCode::BAD_REQUEST, message);
        }
    };
    let asked = review["request"].take();
    let mut response = match path.as_str() {
        "/always-deny" => denied("this webhook denies all requests"),
        "/always-allow-delay-5s" => {
            tokio::time::sleep(DELAY).await;
            allowed()
        }
        "/add-label" => add_label(&asked),
        "/pods" => pods(&asked).await,
        "/pods/attach" => attach(&asked),
        "/mutating-pods" => init_container(&asked),
        "/mutating-pods-sidecar" => add_sidecar(&asked, sidecar),
        "/configmaps" => data(
            &asked,
            "the configmap contains unwanted key and value",
            "the configmap cannot be deleted because it contains unwanted key and value",
        ),
        "/custom-resource" => data(
            &asked,
            "the custom resource contains unwanted data",
            "the custom resource cannot be deleted because it contains unwanted key and value",
        ),
        "/mutating-configmaps" | "/mutating-custom-resource" => stages(&asked),
        "/crd" => match asked["object"]["metadata"]["labels"][MARK] == "webhook-disallow" {
            true => denied("the crd contains unwanted label"),
            false => allowed(),
        },
        _ => return text(StatusCode::NOT_FOUND, "404 page not found\n"),
    };
    response["uid"] = asked["uid"].clone();
    let review = json!({
        "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
    });
    answer(StatusCode::OK, &review)
}

fn allowed() -> Value {
    json!({"allowed": true})
}

fn denied(message: &str) -> Value {
    json!({"allowed": false, "status": {"metadata": {}, "message": message}})
}

/// Denies with a reason, as some of the webhooks do in place of a message.
fn denied_for(reason: &str) -> Value {
    json!({"allowed": false, "status": {"metadata": {}, "reason": reason}})
}

fn patched(patch: &Value) -> Value {
    let patch = BASE64_STANDARD.encode(patch.to_string());
    json!({"allowed": true, "patch": patch, "patchType": "JSONPatch"})
}

fn add_label(asked: &Value) -> Value {
    let labels = &asked["object"]["metadata"]["labels"];
    let is_empty = labels.as_object().is_none_or(|labels| labels.is_empty());
    let path = "/metadata/labels/added-label";
    match labels["added-label"].as_str() {
        _ if is_empty => patched(&json!([
            {"op": "add", "path": "/metadata/labels", "value": {"added-label": "yes"}},
        ])),
        None => patched(&json!([{"op": "add", "path": path, "value": "yes"}])),
        Some("yes") => allowed(),
        Some(_) => patched(&json!([{"op": "replace", "path": path, "value": "yes"}])),
    }
}

async fn pods(asked: &Value) -> Value {
    let pod = &asked["object"];
    let mark = pod["metadata"]["labels"][MARK].as_str();
    if mark == Some("wait-forever") {
        std::future::pending::<()>().await;
    }
    let mut reasons = Vec::new();
    if mark == Some("webhook-disallow") {
        reasons.push("the pod contains unwanted label;");
    }
    for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        if name.contains("webhook-disallow") {
            reasons.push("the pod contains unwanted container name;");
        }
    }
    match reasons.is_empty() {
        true => allowed(),
        false => denied(&reasons.join(" ")),
    }
}

fn attach(asked: &Value) -> Value {
    let options = &asked["object"];
    let is_refused = asked["name"] == "to-be-attached-pod"
        && asked["subResource"] == "attach"
        && options["stdin"] == true
        && options["container"] == "container1";
    match is_refused {
        true => denied("attaching to pod 'to-be-attached-pod' is not allowed"),
        false => allowed(),
    }
}

fn has_container(pod: &Value, list: &str, name: &str) -> bool {
    let mut containers = pod["spec"][list].as_array().into_iter().flatten();
    containers.any(|container| container["name"] == name)
}

fn init_container(asked: &Value) -> Value {
    let (pod, name) = (&asked["object"], "webhook-added-init-container");
    if pod["metadata"]["name"] != "webhook-to-be-mutated"
        || has_container(pod, "initContainers", name)
    {
        return allowed();
    }
    let added = json!([{"image": "webhook-added-image", "name": name, "resources": {}}]);
    patched(&json!([{"op": "add", "path": "/spec/initContainers", "value": added}]))
}

fn add_sidecar(asked: &Value, image: Option<&str>) -> Value {
    let name = "webhook-added-sidecar";
    let Some(image) = image else {
        return denied("No image specified by the sidecar-image parameter");
    };
    if has_container(&asked["object"], "containers", name) {
        return allowed();
    }
    let added = json!({"image": image, "name": name, "resources": {}});
    patched(&json!([{"op": "add", "path": "/spec/containers/-", "value": added}]))
}

/// Denies objects whose data request it.
fn data(asked: &Value, unwanted: &str, kept: &str) -> Value {
    let operation = asked["operation"].as_str().unwrap_or_default();
    let object = match operation {
        "DELETE" => &asked["oldObject"],
        _ => &asked["object"],
    };
    match (object["data"][MARK].as_str(), operation) {
        (Some("webhook-disallow"), "CREATE" | "UPDATE") => denied_for(unwanted),
        (Some("webhook-nondeletable"), "DELETE") => denied_for(kept),
        _ => allowed(),
    }
}

/// Adds the next of two keys.
fn stages(asked: &Value) -> Value {
    let data = &asked["object"]["data"];
    let add = |stage: &str| {
        let path = format!("/data/mutation-stage-{stage}");
        patched(&json!([{"op": "add", "path": path, "value": "yes"}]))
    };
    if data["mutation-stage-1"] == "yes" {
        add("2")
    } else if data["mutation-start"] == "yes" {
        add("1")
    } else {
        allowed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(response: &Value) -> Value {
        let patch = BASE64_STANDARD.decode(response["patch"].as_str().unwrap());
        serde_json::from_slice(&patch.unwrap()).unwrap()
    }

    #[test]
    fn stages_follow_each_other() {
        let ask = |data: Value| stages(&json!({"object": {"data": data}}));
        assert_eq!(ask(json!({})), allowed());
        let first = ask(json!({"mutation-start": "yes"}));
        assert_eq!(patch(&first)[0]["path"], "/data/mutation-stage-1");
        let second = ask(json!({"mutation-start": "yes", "mutation-stage-1": "yes"}));
        assert_eq!(patch(&second)[0]["path"], "/data/mutation-stage-2");
    }

    #[test]
    fn deletions_are_judged_by_the_old_object() {
        let asked = json!({
            "operation": "DELETE", "oldObject": {"data": {MARK: "webhook-nondeletable"}},
        });
        assert_eq!(data(&asked, "unwanted", "kept"), denied_for("kept"));
    }

    #[tokio::test]
    async fn all_reasons_against_a_pod_are_given() {
        let pod = json!({
            "metadata": {"labels": {MARK: "webhook-disallow"}},
            "spec": {"containers": [{"name": "webhook-disallow"}]},
        });
        let expected = "the pod contains unwanted label; the pod contains unwanted container name;";
        assert_eq!(pods(&json!({"object": pod})).await, denied(expected));
    }
}
