//! [`Streams`]: upgrades requests to streams.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use kubewright_machinery::{Status, status};

use crate::{
    Exec, ExecOptions, PortForward, StreamLimits,
    exec::{self, SPDY_PROTOCOLS as EXEC_SPDY, WEBSOCKET_PROTOCOLS as EXEC_WEBSOCKET},
    messages,
    port_forward::{
        self, SPDY_PROTOCOLS as FORWARD_SPDY, TUNNEL_PREFIX,
        WEBSOCKET_PROTOCOLS as FORWARD_WEBSOCKET,
    },
};

const SPDY: &str = "SPDY/3.1";
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const ACCEPTED_VERSIONS: HeaderName =
    HeaderName::from_static("x-accepted-stream-protocol-versions");
/// The GUID that is hashed with the key of a WebSocket.
const WEBSOCKET_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// An upgraded connection.
pub(crate) type Io = TokioIo<Upgraded>;

/// Upgrades requests to streams. See the [crate documentation](crate) for an example.
///
/// Responses are `101 Switching Protocols`, or the error of the real server, with a short body or none. A task serves the
/// connection, and ends with it.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    limits: StreamLimits,
}

/// Returns whether a request asks for an upgrade.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::CONNECTION};
///
/// let mut headers = HeaderMap::new();
/// assert!(!kubewright_streams::is_upgrade(&headers));
/// headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
/// assert!(kubewright_streams::is_upgrade(&headers));
/// ```
pub fn is_upgrade(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// The negotiated protocol, and the response that confirms it.
type Agreed = (&'static str, Response<Bytes>);

impl Streams {
    /// Creates an upgrader with limits.
    pub fn new(limits: StreamLimits) -> Self {
        Self { limits }
    }

    /// Runs a command with the standard streams of the client.
    ///
    /// # Errors
    ///
    /// Fails with 400 if the request is not an upgrade, or if the options select no stream.
    pub fn exec<B>(
        &self,
        request: &mut Request<B>,
        options: ExecOptions,
        handler: Arc<dyn Exec>,
    ) -> Result<Response<Bytes>, Status> {
        required(request)?;
        let options = options.checked()?;
        let websocket = is_websocket(request.headers());
        let agreed = match websocket {
            true => websocket_handshake(request, EXEC_WEBSOCKET),
            false => spdy_handshake(request.headers(), EXEC_SPDY),
        };
        let (protocol, response) = match agreed {
            Ok(agreed) => agreed,
            Err(refused) => return Ok(*refused),
        };
        let limits = self.limits.clone();
        self.upgrade(request, async move |io| match websocket {
            true => exec::over_websocket(io, protocol, options, handler, &limits).await,
            false => exec::over_spdy(io, protocol, options, handler, &limits).await,
        });
        Ok(response)
    }

    /// Forwards connections of the client. `ports` are those of the query, which are needed only by WebSocket clients that do
    /// not tunnel SPDY; see [`ports_from_query`](crate::ports_from_query).
    ///
    /// # Errors
    ///
    /// Fails with 400 if the request is not an upgrade, or if required ports are missing or too many.
    pub fn port_forward<B>(
        &self,
        request: &mut Request<B>,
        ports: Vec<u16>,
        handler: Arc<dyn PortForward>,
    ) -> Result<Response<Bytes>, Status> {
        required(request)?;
        let websocket = is_websocket(request.headers());
        let tunneled = websocket && asks_for_tunnel(request.headers());
        if websocket && !tunneled {
            port_forward::check(&ports, &self.limits)?;
        }
        let agreed = match websocket {
            true => websocket_handshake(request, FORWARD_WEBSOCKET),
            false => spdy_handshake(request.headers(), FORWARD_SPDY),
        };
        let (protocol, response) = match agreed {
            Ok(agreed) => agreed,
            Err(refused) => return Ok(*refused),
        };
        let limits = self.limits.clone();
        self.upgrade(request, async move |io| {
            match (websocket, protocol.starts_with(TUNNEL_PREFIX)) {
                (true, false) => {
                    port_forward::over_websocket(io, protocol, &ports, handler, &limits).await;
                }
                (true, true) => port_forward::over_tunnel(io, handler, &limits).await,
                (false, _) => port_forward::over_spdy(io, handler, &limits).await,
            }
        });
        Ok(response)
    }

    /// Sends chunks of bytes as WebSocket messages, for example the log of a container. Messages of the client are ignored.
    ///
    /// # Errors
    ///
    /// Fails with 400 if the request is not a WebSocket upgrade.
    pub fn messages<B, E>(
        &self,
        request: &mut Request<B>,
        chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<Response<Bytes>, Status>
    where
        E: std::fmt::Display + Send,
    {
        if !is_websocket(request.headers()) {
            return Err(status::bad_request("Upgrade request required"));
        }
        let (protocol, response) = match websocket_handshake(request, messages::PROTOCOLS) {
            Ok(agreed) => agreed,
            Err(refused) => return Ok(*refused),
        };
        let limits = self.limits.clone();
        self.upgrade(request, async move |io| {
            messages::send(io, protocol, chunks, &limits).await;
        });
        Ok(response)
    }

    /// Serves the connection of a request after its upgrade.
    fn upgrade<B, F>(&self, request: &mut Request<B>, serve: impl FnOnce(Io) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        let upgrade = hyper::upgrade::on(request);
        let timeout = self.limits.creation_timeout;
        tokio::spawn(async move {
            match tokio::time::timeout(timeout, upgrade).await {
                Ok(Ok(upgraded)) => serve(TokioIo::new(upgraded)).await,
                Ok(Err(error)) => tracing::debug!(%error, "a connection was not upgraded"),
                Err(_) => tracing::debug!("a connection was not upgraded in time"),
            }
        });
    }
}

fn required<B>(request: &Request<B>) -> Result<(), Status> {
    match is_upgrade(request.headers()) {
        true => Ok(()),
        false => Err(status::bad_request("Upgrade request required")),
    }
}

fn is_websocket(headers: &HeaderMap) -> bool {
    let protocol = headers.get(header::UPGRADE);
    protocol.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
        && is_upgrade(headers)
}

/// Returns the elements of a list header, which may occur several times.
fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|element| !element.is_empty())
}

fn asks_for_tunnel(headers: &HeaderMap) -> bool {
    listed(headers, &header::SEC_WEBSOCKET_PROTOCOL)
        .any(|protocol| protocol.starts_with(TUNNEL_PREFIX) && protocol.ends_with(".k8s.io"))
}

/// Negotiates the subprotocol of a WebSocket. A client that offers none gets none, if the empty subprotocol is supported.
fn websocket_handshake<B>(
    request: &Request<B>,
    supported: &[&'static str],
) -> Result<Agreed, Box<Response<Bytes>>> {
    let headers = request.headers();
    let text = |name| {
        headers
            .get(name)
            .and_then(|v: &HeaderValue| v.to_str().ok())
    };
    let key = text(header::SEC_WEBSOCKET_KEY).unwrap_or_default().trim();
    if *request.method() != Method::GET {
        let code = StatusCode::METHOD_NOT_ALLOWED;
        return Err(refusal(code, "bad method"));
    }
    if key.is_empty() {
        let code = StatusCode::BAD_REQUEST;
        return Err(refusal(code, "mismatch challenge/response"));
    }
    if text(header::SEC_WEBSOCKET_VERSION) != Some("13") {
        let code = StatusCode::BAD_REQUEST;
        let mut refused = refusal(code, "missing or bad WebSocket Version");
        let version = HeaderValue::from_static("13");
        refused
            .headers_mut()
            .insert(header::SEC_WEBSOCKET_VERSION, version);
        return Err(refused);
    }
    let mut offered = listed(headers, &header::SEC_WEBSOCKET_PROTOCOL).peekable();
    let chosen = match offered.peek() {
        None => supported.iter().find(|known| known.is_empty()),
        Some(_) => offered.find_map(|offer| supported.iter().find(|known| **known == offer)),
    };
    let Some(protocol) = chosen else {
        return Err(refusal(StatusCode::FORBIDDEN, ""));
    };
    let mut response = switching("websocket");
    let headers = response.headers_mut();
    if let Ok(accept) = HeaderValue::from_str(&accept(key)) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if !protocol.is_empty() {
        let protocol = HeaderValue::from_static(protocol);
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    Ok((protocol, response))
}

/// Returns the response to the key of a WebSocket.
fn accept(key: &str) -> String {
    let mut hashed = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    hashed.update(key.as_bytes());
    hashed.update(WEBSOCKET_GUID.as_bytes());
    STANDARD.encode(hashed.finish())
}

/// Negotiates the protocol inside SPDY.
fn spdy_handshake(
    headers: &HeaderMap,
    supported: &[&'static str],
) -> Result<Agreed, Box<Response<Bytes>>> {
    if !headers.contains_key(PROTOCOL_VERSION) {
        // Go does not count the host as a header.
        let count = headers.keys().filter(|name| **name != header::HOST).count();
        let text = format!(
            "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with {count} headers\n"
        );
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    let offered: Vec<&str> = listed(headers, &PROTOCOL_VERSION).collect();
    if offered.is_empty() {
        let values = headers.get_all(PROTOCOL_VERSION).iter();
        let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
        let values = values.join(" ");
        let text = format!(
            "unable to upgrade: header X-Stream-Protocol-Version contains [{values}], but no valid protocols\n"
        );
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    let chosen = offered
        .iter()
        .find_map(|offer| supported.iter().find(|known| *known == offer));
    let Some(protocol) = chosen else {
        let text = format!(
            "unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]\n",
            offered.join(" "),
            supported.join(" ")
        );
        let mut refused = refusal(StatusCode::FORBIDDEN, text);
        for known in supported {
            let known = HeaderValue::from_static(known);
            refused.headers_mut().append(ACCEPTED_VERSIONS, known);
        }
        return Err(refused);
    };
    let upgrade = headers.get(header::UPGRADE).and_then(|v| v.to_str().ok());
    let upgrade = upgrade.unwrap_or_default().to_ascii_uppercase();
    if !upgrade.contains(SPDY) {
        let text = "unable to upgrade: missing upgrade headers in request\n";
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    let mut response = switching(SPDY);
    let value = HeaderValue::from_static(protocol);
    response.headers_mut().insert(PROTOCOL_VERSION, value);
    Ok((protocol, response))
}

fn switching(protocol: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static(protocol));
    response
}

/// Returns an error response in plain text.
fn refusal(code: StatusCode, text: impl Into<Bytes>) -> Box<Response<Bytes>> {
    let mut response = Response::new(text.into());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    Box::new(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn websocket_keys_are_accepted() {
        // The example in RFC 6455.
        let answer = accept("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    fn spdy(pairs: &[(&'static str, &'static str)]) -> Result<Agreed, Box<Response<Bytes>>> {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        spdy_handshake(&pairs.collect(), EXEC_SPDY)
    }

    #[test]
    fn spdy_errors_equal_those_of_the_real_server() {
        let refused = |pairs: &[(&'static str, &'static str)]| {
            let refused = spdy(pairs).unwrap_err();
            let text = String::from_utf8(refused.body().to_vec()).unwrap();
            (refused.status().as_u16(), text, refused)
        };
        let (code, text, _) = refused(&[("host", "a"), ("upgrade", "SPDY/3.1")]);
        let expected = "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 1 headers\n";
        assert_eq!((code, text.as_str()), (400, expected));
        let (code, text, _) = refused(&[("x-stream-protocol-version", " , ")]);
        assert_eq!(code, 400);
        assert!(text.ends_with(", but no valid protocols\n"), "{text}");
        let (code, text, response) = refused(&[("x-stream-protocol-version", "v9.channel.k8s.io")]);
        assert_eq!(code, 403);
        assert_eq!(
            text,
            "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts \
             [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]\n"
        );
        let accepted = response.headers().get_all(ACCEPTED_VERSIONS).iter();
        assert_eq!(accepted.count(), 4);
        let (code, _, _) = refused(&[("x-stream-protocol-version", "v4.channel.k8s.io")]);
        assert_eq!(code, 400, "no upgrade");
    }

    #[test]
    fn the_preference_of_the_client_decides() {
        let offer = "v9.channel.k8s.io, v2.channel.k8s.io,v4.channel.k8s.io";
        let (protocol, response) = spdy(&[
            ("x-stream-protocol-version", offer),
            ("upgrade", "spdy/3.1"),
        ])
        .unwrap();
        assert_eq!(protocol, "v2.channel.k8s.io");
        assert_eq!(response.headers()[PROTOCOL_VERSION], "v2.channel.k8s.io");
    }
}
