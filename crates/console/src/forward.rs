//! Forwards requests to the cluster.

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts,
};
use http_body_util::BodyExt;
use kubewright_serve::BoxError;
use serde_json::Value;

use crate::{
    answer::{self, Body},
    api_path::ApiPath,
    secrets::{self, Content},
};

/// The request header that asks for the values of a single Secret. It is forwarded to a server with a ledger, which records the
/// request.
const REVEAL: HeaderName = HeaderName::from_static("kubewright-reveal");

/// Request headers that are forwarded. The console supports no impersonation.
const PASSED: [HeaderName; 2] = [header::ACCEPT, header::CONTENT_TYPE];

/// The maximum size of a response that is buffered to mask it.
const LARGEST: usize = 64 << 20;

/// The name of this client.
const USER_AGENT: &str = concat!("kubewright-console/", env!("CARGO_PKG_VERSION"));

/// Forwards a request. Secrets in the response are masked, unless the request asks for the values of a single one.
pub(crate) async fn forward(client: &kube::Client, parts: Parts, body: Bytes) -> Response<Body> {
    let Some(path) = ApiPath::parse(parts.uri.path()) else {
        return answer::failure(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "the path is ambiguous: write it without dot segments, empty segments and encoded percent signs",
        );
    };
    if let Some(refusal) = refusal(&path, &parts, &body) {
        return refusal;
    }
    let content = path.content();
    let is_revealed = reveals(&path, &parts);
    let is_masked = path.needs_mask() && !is_revealed;
    if is_revealed {
        tracing::info!(
            path = parts.uri.path(),
            "the values of a Secret are shown in the console"
        );
    }
    let is_recorded = is_revealed && has_ledger(client).await;
    let mut request = Request::new(kube::client::Body::from(body));
    *request.method_mut() = parts.method;
    *request.uri_mut() = target(&parts.uri);
    for name in PASSED {
        if let Some(value) = parts.headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let accept = HeaderValue::from_static("application/json");
    request
        .headers_mut()
        .entry(header::ACCEPT)
        .or_insert(accept);
    if is_recorded {
        let revealed = HeaderValue::from_static("true");
        request.headers_mut().insert(REVEAL, revealed);
    }
    let agent = HeaderValue::from_static(USER_AGENT);
    request.headers_mut().insert(header::USER_AGENT, agent);
    match client.send(request).await {
        Ok(response) if is_masked => masked(response, content).await,
        Ok(response) => passed(response),
        Err(error) => unreachable(&error),
    }
}

/// Gets a masked document from the cluster. Errors of the cluster are returned as their `Status`.
pub(crate) async fn get(client: &kube::Client, path: &str) -> (StatusCode, Value) {
    let request = Request::get(path).body(());
    let Ok(request) = request else {
        let message = format!("{path:?} is no path");
        return (
            StatusCode::BAD_REQUEST,
            answer::status(StatusCode::BAD_REQUEST, "BadRequest", &message),
        );
    };
    let response = forward(client, request.into_parts().0, Bytes::new()).await;
    let code = response.status();
    let read = answer::read(response.into_body(), LARGEST).await;
    let parsed = read
        .map_err(|e| e.to_string())
        .and_then(|body| serde_json::from_slice(&body).map_err(|e| e.to_string()));
    match parsed {
        Ok(value) => (code, value),
        Err(message) => {
            let code = if code.is_success() {
                StatusCode::BAD_GATEWAY
            } else {
                code
            };
            (code, answer::status(code, "BadGateway", &message))
        }
    }
}

/// Gets a document from the cluster, or returns `None` if it does not exist.
pub(crate) async fn get_json(client: &kube::Client, path: &str) -> Option<Value> {
    let (code, value) = get(client, path).await;
    code.is_success().then_some(value)
}

/// Returns whether the cluster has a ledger. Other servers get no headers of ours.
async fn has_ledger(client: &kube::Client) -> bool {
    let request = Request::get("/kubewright/v1").body(kube::client::Body::empty());
    match request.map(|request| client.send(request)) {
        Ok(sent) => sent
            .await
            .is_ok_and(|response| response.status().is_success()),
        Err(_) => false,
    }
}

/// Reports whether a request asks for the values of a single Secret.
fn reveals(path: &ApiPath, parts: &Parts) -> bool {
    let asked = parts.headers.get(REVEAL);
    path.is_one_secret()
        && parts.method == Method::GET
        && asked.is_some_and(|value| value == "true")
}

/// Rejects requests that the console does not forward.
fn refusal(path: &ApiPath, parts: &Parts, body: &[u8]) -> Option<Response<Body>> {
    let refuse = |code, reason, message: &str| Some(answer::failure(code, reason, message));
    if path.is_watch() || is_watch(parts.uri.query().unwrap_or_default()) {
        return refuse(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "the console passes on no watch: subscribe with a stream",
        );
    }
    if path.is_stream() {
        return refuse(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "the console passes on no streams of pods: use kubectl",
        );
    }
    let accept = parts.headers.get(header::ACCEPT);
    if accept.is_some_and(|accept| !is_json(accept)) {
        return refuse(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            "the console serves JSON only",
        );
    }
    if path.content() == Content::Secrets && !body.is_empty() {
        let Ok(document) = serde_json::from_slice(body) else {
            return refuse(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                "a Secret must be written as JSON",
            );
        };
        if secrets::is_masked(&document) {
            return refuse(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                "the Secret has masked values: reveal them before you edit it",
            );
        }
    }
    None
}

fn is_watch(query: &str) -> bool {
    let mut pairs = query.split('&');
    pairs.any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        name == "watch" && !matches!(value, "0" | "false" | "f" | "F" | "FALSE" | "False")
    })
}

fn is_json(accept: &HeaderValue) -> bool {
    let text = accept.to_str().unwrap_or("none");
    text.split(',').all(|one| {
        let essence = one.split(';').next().unwrap_or_default().trim();
        matches!(essence, "application/json" | "*/*")
    })
}

/// Returns the path and the query of a URL.
fn target(uri: &http::Uri) -> http::Uri {
    let path = uri.path_and_query().cloned();
    path.map_or_else(|| http::Uri::from_static("/"), http::Uri::from)
}

fn passed(response: Response<kube::client::Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let body = body.map_err(BoxError::from).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    for name in [header::CONTENT_TYPE, header::WARNING, header::RETRY_AFTER] {
        for value in parts.headers.get_all(&name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
}

async fn masked(response: Response<kube::client::Body>, content: Content) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let read = match answer::read(body, LARGEST).await {
        Ok(body) => body,
        Err(error) => return unreachable(&error),
    };
    let Ok(mut value) = serde_json::from_slice::<Value>(&read) else {
        // A response that cannot be parsed cannot be masked.
        let message = "the cluster did not answer with JSON";
        let code = match parts.status.is_success() {
            true => StatusCode::BAD_GATEWAY,
            false => parts.status,
        };
        return answer::failure(code, "BadGateway", message);
    };
    secrets::mask(&mut value, content);
    let mut response = answer::json_response(parts.status, &value);
    for value in parts.headers.get_all(header::WARNING) {
        response
            .headers_mut()
            .append(header::WARNING, value.clone());
    }
    response
}

fn unreachable(error: &dyn std::error::Error) -> Response<Body> {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    let message = format!("the cluster cannot be reached: {inner}");
    answer::failure(StatusCode::BAD_GATEWAY, "BadGateway", &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_are_detected_in_every_spelling() {
        for query in [
            "watch",
            "watch=1",
            "watch=true",
            "a=b&watch=true",
            "%77atch=1",
            "watch=",
        ] {
            assert!(is_watch(query), "{query}");
        }
        for query in ["", "watch=false", "watch=0", "watcher=1"] {
            assert!(!is_watch(query), "{query}");
        }
    }
}
