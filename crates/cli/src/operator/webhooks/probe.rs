//! Asks a cluster to call this machine, to learn whether it can: one that runs in a container or a virtual machine cannot,
//! although its own address is on this machine.

use std::{convert::Infallible, time::Duration};

use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration, core::v1::ConfigMap,
};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use kubewright_serve::{Server, Tls};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};

use super::endpoint::Endpoint;
use crate::cluster::one_line;

/// The time that a cluster has to notice the webhook.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between two requests.
const EVERY: Duration = Duration::from_millis(100);

/// The maximum size of a review.
const MAX_REVIEW: usize = 1 << 20;

/// The label of the object that is reviewed.
const LABEL: &str = "kubewright.dev/probe";

/// The response to a review, which is returned as part of an error.
const CALLED: &str = "kubewright was called";

/// Calls this machine through the cluster. Returns why that does not work, if so.
pub(super) async fn unreachable(client: &Client, endpoint: &Endpoint) -> Option<String> {
    let listener = match TcpListener::bind(endpoint.address).await {
        Ok(listener) => listener,
        Err(error) => return Some(error.to_string()),
    };
    let made = &endpoint.made;
    let tls = match Tls::from_pem(made.certificate_pem.as_bytes(), made.key_pem.as_bytes()) {
        Ok(tls) => tls,
        Err(error) => return Some(error.to_string()),
    };
    let server = Server::new(listener).tls(tls);
    let service = tower::service_fn(answer);
    tokio::select! {
        () = server.serve(service, std::future::pending()) => None,
        found = ask(client, endpoint) => found,
    }
}

/// Rejects every review.
async fn answer<B>(request: Request<B>) -> Result<Response<Full<bytes::Bytes>>, Infallible>
where
    B: BodyExt,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let body = Limited::new(request.into_body(), MAX_REVIEW)
        .collect()
        .await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": false,
            "status": {"code": 403, "message": CALLED},
        },
    });
    let mut response = Response::new(Full::from(answer.to_string()));
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

/// Registers a webhook for one object, tries to create that object without storing it, and removes the webhook.
async fn ask(client: &Client, endpoint: &Endpoint) -> Option<String> {
    let (id, name) = (id(endpoint), name(endpoint));
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = json!({
        "metadata": {"name": name},
        "webhooks": [{
            "name": "probe.kubewright.dev",
            "admissionReviewVersions": ["v1"],
            "clientConfig": endpoint.client_config("/probe"),
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": 3,
            "objectSelector": {"matchLabels": {LABEL: id}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
            }],
        }],
    });
    let made = match serde_json::from_value(configuration) {
        Ok(configuration) => api.create(&PostParams::default(), &configuration).await,
        Err(error) => return Some(error.to_string()),
    };
    if let Err(error) = made {
        return Some(one_line(&error));
    }
    let found = called(client, &id).await;
    remove(client, endpoint).await;
    found
}

/// Removes the webhook. Left behind, it would concern no object.
pub(super) async fn remove(client: &Client, endpoint: &Endpoint) {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let _ = api.delete(&name(endpoint), &DeleteParams::default()).await;
}

fn id(endpoint: &Endpoint) -> String {
    format!("{}-{}", std::process::id(), endpoint.address.port())
}

fn name(endpoint: &Endpoint) -> String {
    format!("kubewright-probe-{}", id(endpoint))
}

async fn called(client: &Client, id: &str) -> Option<String> {
    let object = json!({"metadata": {"generateName": "kubewright-probe-", "labels": {LABEL: id}}});
    let object: ConfigMap = serde_json::from_value(object).unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let how = PostParams {
        dry_run: true,
        field_manager: None,
    };
    let until = Instant::now() + PATIENCE;
    loop {
        match maps.create(&how, &object).await {
            Err(kube::Error::Api(status)) if status.message.contains(CALLED) => return None,
            Err(error) => return Some(one_line(&error)),
            Ok(_) if Instant::now() > until => {
                return Some("it did not call a webhook within 10 s".to_owned());
            }
            // API servers learn of webhooks a little later.
            Ok(_) => tokio::time::sleep(EVERY).await,
        }
    }
}
