//! The condition `Available` of an APIService: whether its service exists and its server answers.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Request, header};
use kubewright_apiserver::{Body, request::UserInfo};
use kubewright_machinery::{go, json::Read};
use serde_json::Value;
use tokio::time::timeout;

use super::{Aggregation, headers, index::ApiService};
use crate::{
    admission::stored::Stored,
    outgoing::{Endpoint, ForwardError, SERVICE_NAME, ServicePort, not_upgraded},
};

/// The time limit of one attempt.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of a check.
const WATCHDOG: Duration = Duration::from_secs(6);
/// The attempts of one check.
const ATTEMPTS: usize = 5;
/// The maximum size of a discovery document, in bytes.
const MAX_DOCUMENT: usize = 4 << 20;

/// The reason of the condition of a group version that this server serves itself.
pub(super) const LOCAL: &str = "Local";

/// The condition `Available`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Condition {
    fn failed(reason: &'static str, message: String) -> Self {
        Self {
            status: "False",
            reason,
            message,
        }
    }

    /// Returns the condition of a group version that this server serves itself.
    pub(super) fn local() -> Self {
        Self {
            status: "True",
            reason: LOCAL,
            message: "Local APIServices are always available".to_owned(),
        }
    }

    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// Checks the server of an APIService.
pub(super) async fn check(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Condition {
    if let Some(port) = endpoint.service()
        && !aggregation.outgoing.knows(port)
        && let Some(condition) = check_service(aggregation, port).await
    {
        return condition;
    }
    let path = format!("/apis/{}/{}", service.group, service.version);
    let origin = aggregation.outgoing.origin_of(endpoint).await;
    let url = format!("{origin}{path}");
    let failure = match timeout(WATCHDOG, attempts(aggregation, endpoint, &url, &path)).await {
        Ok(Ok(())) => {
            return Condition {
                status: "True",
                reason: "Passed",
                message: "all checks passed".to_owned(),
            };
        }
        Ok(Err(failure)) => failure,
        Err(_) => format!("timed out waiting for {url}"),
    };
    let message = format!("failing or missing response from {url}: {failure}");
    Condition::failed("FailedDiscoveryCheck", message)
}

/// Asks a server for a path a few times. Returns the last failure if every attempt fails.
async fn attempts(
    aggregation: &Aggregation,
    endpoint: &Endpoint,
    url: &str,
    path: &str,
) -> Result<(), String> {
    let mut failure = String::new();
    for _ in 0..ATTEMPTS {
        let answer = get(aggregation, endpoint, path, Asked::default());
        match timeout(TIMEOUT, answer).await {
            Ok(Ok(answer)) if answer.is_success => return Ok(()),
            Ok(Ok(answer)) => failure = format!("bad status from {url}: {}", answer.code),
            Ok(Err(e)) => failure = format!("Get {}: {e}", go::quote(url)),
            // Others would take as long.
            Err(_) => return Err(format!("timed out waiting for {url}")),
        }
    }
    Err(failure)
}

/// The conditions of a request of the aggregator itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Asked<'a> {
    /// The media types (default: JSON).
    pub(super) accept: Option<&'static str>,
    /// The tag of the document that is known; the answer is then 304 if it has not changed.
    pub(super) known: Option<&'a HeaderValue>,
}

/// An answer to a request of the aggregator itself.
pub(super) struct Answer {
    pub(super) is_success: bool,
    pub(super) code: u16,
    pub(super) content_type: String,
    pub(super) etag: Option<HeaderValue>,
    pub(super) body: bytes::Bytes,
}

/// Sends a request of the aggregator itself.
///
/// # Errors
///
/// Returns the message of Go's client if there is no response, or it is too large.
pub(super) async fn get(
    aggregation: &Aggregation,
    endpoint: &Endpoint,
    path: &str,
    asked: Asked<'_>,
) -> Result<Answer, String> {
    let user = Arc::new(UserInfo {
        name: "system:kube-aggregator".into(),
        groups: vec!["system:masters".into()],
        ..UserInfo::default()
    });
    let origin = endpoint.origin();
    let host = origin.strip_prefix("https://").unwrap_or(origin);
    let request = Request::get(path)
        .header(header::HOST, host)
        .header(header::USER_AGENT, "kube-aggregator");
    let mut request = request.body(Body::empty()).map_err(|e| e.to_string())?;
    let accept = HeaderValue::from_static(asked.accept.unwrap_or("application/json"));
    request.headers_mut().insert(header::ACCEPT, accept);
    if let Some(etag) = asked.known {
        let headers = request.headers_mut();
        headers.insert(header::IF_NONE_MATCH, etag.clone());
    }
    headers::set_user(request.headers_mut(), &user)?;
    // A server that forwards this to us again would make us probe ourselves.
    headers::mark(request.headers_mut(), &aggregation.mark);
    let answer = aggregation.outgoing.forward(endpoint, &user, request).await;
    let (parts, body) = match answer {
        Ok(answer) => answer.into_parts(),
        Err(ForwardError::Tls(e) | ForwardError::Unresolved(e) | ForwardError::Unreachable(e)) => {
            return Err(e);
        }
        Err(ForwardError::NotUpgraded(code)) => return Err(not_upgraded(code)),
    };
    let body = body.collect_up_to(MAX_DOCUMENT).await;
    let body = body.map_err(|e| e.to_string())?;
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    Ok(Answer {
        is_success: parts.status.is_success(),
        code: parts.status.as_u16(),
        content_type: content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        etag: parts.headers.get(header::ETAG).cloned(),
        body: body.ok_or_else(|| format!("the response is larger than {MAX_DOCUMENT} bytes"))?,
    })
}

/// Checks the Service object and its endpoints. Returns `None` if they are in order.
async fn check_service(aggregation: &Aggregation, wanted: &ServicePort) -> Option<Condition> {
    let stored = Stored(aggregation.environment.store.clone());
    let ServicePort {
        namespace,
        name,
        port,
    } = wanted;
    let place = format!("service/{name} in {}", go::quote(namespace));
    let unknown = |reason: &'static str, e: &str| Condition {
        status: "Unknown",
        reason,
        message: format!("{place} cannot be checked due to: {e}"),
    };
    let service: Value = match stored.get("services", &format!("{namespace}/{name}")).await {
        Ok(Some(service)) => service,
        Ok(None) => {
            let message = format!("{place} is not present");
            return Some(Condition::failed("ServiceNotFound", message));
        }
        Err(e) => return Some(unknown("ServiceAccessError", &e.message)),
    };
    if service["spec"]["type"].text_or("ClusterIP") != "ClusterIP" {
        return None;
    }
    let ports = service["spec"]["ports"].items();
    let Some(found) = ports.iter().find(|p| p["port"].int() == i64::from(*port)) else {
        let message = format!("{place} is not listening on port {port}");
        return Some(Condition::failed("ServicePortError", message));
    };
    let collection = "discovery.k8s.io/endpointslices";
    let slices: Vec<Value> = match stored.list(collection, format!("{namespace}/")).await {
        Ok(slices) => slices,
        Err(e) => return Some(unknown("EndpointsAccessError", &e.message)),
    };
    let of_service = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == name.as_str();
    let mut slices = slices.iter().filter(of_service).peekable();
    if slices.peek().is_none() {
        let message = format!("cannot find endpointslices for {place}");
        return Some(Condition::failed("EndpointsNotFound", message));
    }
    let port_name = found["name"].text();
    let serves = |slice: &Value| {
        let ports = slice["ports"].items();
        let has_port = ports.iter().any(|port| port["name"].text() == port_name);
        let ready = |e: &Value| e["conditions"]["ready"].as_bool() != Some(false);
        let endpoints = slice["endpoints"].items();
        let addressed = |e: &&Value| ready(e) && !e["addresses"].items().is_empty();
        has_port && endpoints.iter().find(addressed).is_some()
    };
    if slices.any(serves) {
        return None;
    }
    let port_name = go::quote(port_name);
    let message =
        format!("endpointslices for {place} have no addresses with port name {port_name}");
    Some(Condition::failed("MissingEndpoints", message))
}
