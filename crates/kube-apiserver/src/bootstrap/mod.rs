//! The objects that a cluster has from the start.

mod kubernetes_service;
mod service_cidr;
mod trust;

use std::sync::Arc;

use http::{Method, Request, StatusCode, header};
use kubewright_apiserver::{ApiServer, Body, request::UserInfo};
use kubewright_machinery::{Status, status};
use serde_json::Value;

pub(crate) use kubernetes_service::KubernetesService;
pub(crate) use trust::Trust;

/// The most that is read of an answer.
const ANSWER_LIMIT: usize = 1024 * 1024;

/// Creates an object as the server itself. One that exists already is left as it is.
pub(crate) async fn create(server: &ApiServer, path: &str, object: &Value) -> Result<(), Status> {
    send(server, Method::POST, path, "application/json", object)
        .await
        .map(drop)
}

/// Sends a request as the server itself. The answer is `None` where the object exists already.
pub(crate) async fn send(
    server: &ApiServer,
    method: Method,
    path: &str,
    media: &'static str,
    object: &Value,
) -> Result<Option<Value>, Status> {
    let user = Arc::new(UserInfo {
        name: "system:apiserver".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..UserInfo::default()
    });
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, media)
        .header(header::USER_AGENT, "kube-apiserver")
        .body(Body::from(object.to_string()))
        .map_err(status::internal)?;
    let response = server.handle_as(user, request).await;
    let code = response.status();
    if code == StatusCode::CONFLICT {
        return Ok(None);
    }
    let body = response.into_body().collect_up_to(ANSWER_LIMIT).await;
    let body = body
        .ok()
        .flatten()
        .ok_or_else(|| status::internal("an answer of the server could not be read"))?;
    let answer: Value = serde_json::from_slice(&body).map_err(status::internal)?;
    if !code.is_success() {
        return Err(status::internal(format!(
            "{path} could not be prepared: {code}: {}",
            answer["message"]
        )));
    }
    Ok(Some(answer))
}
