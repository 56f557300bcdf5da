//! [`Remote`]: another server, to which requests are forwarded.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use kubewright_apiserver::{Body, aggregation::Backend, boxed_async, request::UserInfo};
use kubewright_serve::PeerAddress;

use super::headers;
use crate::outgoing::{Endpoint, ForwardError, Outgoing, not_upgraded};

/// The server of an APIService.
pub(super) struct Remote {
    pub(super) outgoing: Outgoing,
    pub(super) endpoint: Endpoint,
    pub(super) available: bool,
    /// The mark of this server in forwarded requests.
    pub(super) mark: String,
}

const UNAVAILABLE: &str = "service unavailable";

/// The time limit for the answer to an upgrade. The connection may last longer.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(60);

#[boxed_async]
impl Backend for Remote {
    async fn forward(&self, user: &Arc<UserInfo>, request: Request<Body>) -> Response<Body> {
        if !self.available {
            return text(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE);
        }
        let request = match self.prepared(user, request) {
            Ok(request) => request,
            Err(refused) => return *refused,
        };
        let is_upgrade = request.headers().contains_key(header::UPGRADE);
        let forwarded = self.outgoing.forward(&self.endpoint, user, request);
        let forwarded = match is_upgrade {
            false => forwarded.await,
            true => match tokio::time::timeout(UPGRADE_TIMEOUT, forwarded).await {
                Ok(forwarded) => forwarded,
                Err(_) => return text(StatusCode::GATEWAY_TIMEOUT, "the backend did not respond"),
            },
        };
        match forwarded {
            Ok(response) if is_redirect(&response) => text(
                StatusCode::BAD_GATEWAY,
                "the backend attempted to redirect this request, which is not permitted",
            ),
            Ok(mut response) => {
                if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    headers::remove_hop_by_hop(response.headers_mut());
                }
                // This server chooses the protocol of its own connection.
                *response.version_mut() = Version::HTTP_11;
                response
            }
            Err(ForwardError::Tls(e)) => text(StatusCode::INTERNAL_SERVER_ERROR, &e),
            Err(ForwardError::Unresolved(error)) => {
                tracing::debug!(%error, "the service of an APIService cannot be resolved");
                text(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE)
            }
            Err(ForwardError::Unreachable(e)) => unreachable(&e),
            Err(ForwardError::NotUpgraded(code)) => {
                text(StatusCode::SERVICE_UNAVAILABLE, &not_upgraded(code))
            }
        }
    }
}

impl Remote {
    /// Returns the request as the other server gets it, or the answer to one that cannot be forwarded.
    fn prepared(
        &self,
        user: &UserInfo,
        request: Request<Body>,
    ) -> Result<Request<Body>, Box<Response<Body>>> {
        let internal = |e: &str| Box::new(text(StatusCode::INTERNAL_SERVER_ERROR, e));
        let (mut parts, body) = request.into_parts();
        if !headers::mark(&mut parts.headers, &self.mark) {
            return Err(Box::new(unreachable("the request was forwarded in a loop")));
        }
        headers::remove_hop_by_hop(&mut parts.headers);
        let peer = parts.extensions.get::<PeerAddress>();
        let peer = peer.map(|peer| peer.0.ip().to_string());
        headers::set_forwarded(&mut parts.headers, parts.uri.path(), peer);
        headers::set_user(&mut parts.headers, user).map_err(|e| internal(&e))?;
        let target = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        parts.uri = target
            .parse::<Uri>()
            .map_err(|e| internal(&e.to_string()))?;
        parts.version = Version::HTTP_11;
        let origin = self.endpoint.origin();
        let host = origin.strip_prefix("https://").unwrap_or(origin);
        let host = HeaderValue::from_str(host).map_err(|e| internal(&e.to_string()))?;
        parts.headers.insert(header::HOST, host);
        Ok(Request::from_parts(parts, body))
    }
}

fn is_redirect(response: &Response<Body>) -> bool {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
        && response.headers().contains_key(header::LOCATION)
}

fn unreachable(error: &str) -> Response<Body> {
    let error = format!("error trying to reach service: {error}");
    text(StatusCode::SERVICE_UNAVAILABLE, &error)
}

/// Returns an error of the proxy, which is plain text.
fn text(code: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
