//! One call of a webhook: connect, send, follow redirects, read, within a timeout.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use kubewright_machinery::go;
use kubewright_schema::{Node, decode_untyped, parse_json, yaml::parse_yaml};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::{
    location::{self, Location},
    trust,
};

/// The timeout of a call, redirects included.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of a response.
const LARGEST: usize = 64 << 20;
/// The maximum number of requests in a call.
const REQUESTS: usize = 10;

/// The response of an endpoint.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Posts a document and reads the response, with the error messages of client-go.
pub(super) async fn post(url: &str, ca_bundle: &[u8], document: &Value) -> Result<Value, String> {
    let answer = follow(&with_timeout(url), ca_bundle, document).await?;
    let content_type = answer.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()));
    read(answer.status, &answer.body, content_type.as_deref())
}

/// Sends the request and follows redirects. As in Go, a redirect that does not keep the method is followed without the
/// document.
async fn follow(url: &str, ca_bundle: &[u8], document: &Value) -> Result<Answer, String> {
    let failed = |url: &str, e: String| format!("Post \"{url}\": {e}");
    let deadline = Instant::now() + TIMEOUT;
    let mut document = Some(Bytes::from(document.to_string()));
    let mut url = url.to_owned();
    for asked in 1.. {
        let sent = timeout_at(deadline, exchange(&url, ca_bundle, document.as_ref())).await;
        let answer = match sent {
            Ok(answer) => answer.map_err(|e| failed(&url, e))?,
            Err(_) => return Err(failed(&url, "context deadline exceeded".into())),
        };
        let to = match location::of(answer.status, &answer.headers) {
            Some(to) => to,
            None => return Ok(answer),
        };
        let Location { text, keeps_method } = to;
        if !keeps_method {
            document = None;
        }
        let next = location::resolve(&url, &text).ok_or_else(|| {
            let why = match text.starts_with(':') {
                true => "missing protocol scheme",
                false => "invalid URL",
            };
            let text = go::quote(&text);
            let e = format!("failed to parse Location header {text}: parse {text}: {why}");
            failed(&url, e)
        })?;
        if asked == REQUESTS {
            return Err(failed(&text, format!("stopped after {REQUESTS} redirects")));
        }
        url = next;
    }
    Err(failed(&url, "no answer".into()))
}

/// Tells the endpoint its deadline.
fn with_timeout(url: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}timeout=30s")
}

/// Decodes the response.
fn read(status: StatusCode, body: &[u8], content_type: Option<&str>) -> Result<Value, String> {
    if !status.is_success() {
        // Only text is repeated in messages.
        let text = content_type.is_none_or(|t| t.trim_start().starts_with("text/"));
        return Err(error_of(
            status.as_u16(),
            if text { body } else { b"unknown" },
        ));
    }
    if body.is_empty() {
        let code = status.as_u16();
        let content_type = content_type.unwrap_or("application/json");
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    let unread = |e: String| format!("couldn't get version/kind; json parse error: {e}");
    let looks_like_json = body.trim_ascii_start().starts_with(b"{");
    let node = match looks_like_json {
        true => parse_json(body).map_err(|e| unread(e.to_string()))?,
        // Everything else is parsed as YAML, which almost any text is.
        false => parse_yaml(body).map_err(|e| unread(e.to_string()))?.node,
    };
    if matches!(node, Node::Object(_) | Node::Null) {
        let (answer, _) = decode_untyped(node).map_err(|e| unread(e.to_string()))?;
        return Ok(answer);
    }
    let kind = node.kind();
    Err(unread(format!(
        "json: cannot unmarshal {kind} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )))
}

/// Returns the error for a code that is not a success.
fn error_of(code: u16, body: &[u8]) -> String {
    let said = String::from_utf8_lossy(&body[..body.len().min(2048)]);
    let said = said.trim();
    let words = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 | 415 => said,
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if said.is_empty() => {
            "the server was unable to respond with a content type that the client supports"
        }
        406 => said,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500..=599 => {
            return format!(
                "an error on the server ({said:?}) has prevented the request from succeeding"
            );
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    words.to_owned()
}

/// Sends one request, with the document or, after some redirects, without.
async fn exchange(url: &str, ca_bundle: &[u8], document: Option<&Bytes>) -> Result<Answer, String> {
    let uri: Uri = url.parse().map_err(|e| format!("invalid URL: {e}"))?;
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_owned();
    let secure = match uri.scheme_str().unwrap_or_default() {
        "https" => true,
        "http" => false,
        other => return Err(format!("unsupported protocol scheme {}", go::quote(other))),
    };
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let socket = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|e| dial_failure(&host, port, &e))?;
    if !secure {
        return send(socket, &uri, document).await;
    }
    let name = ServerName::try_from(host).map_err(|e| e.to_string())?;
    let config = trust::client_config(ca_bundle).map_err(|e| e.to_string())?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .map_err(|e| trust::describe(&e))?;
    send(stream, &uri, document).await
}

fn dial_failure(host: &str, port: u16, e: &std::io::Error) -> String {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    match e.kind() {
        std::io::ErrorKind::ConnectionRefused => {
            format!("dial tcp {host}:{port}: connect: connection refused")
        }
        _ => format!("dial tcp {host}:{port}: {e}"),
    }
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    uri: &Uri,
    document: Option<&Bytes>,
) -> Result<Answer, String> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    // Ends with the sender, or with the timeout that drops both.
    let driver = tokio::spawn(connection);
    let _stop = StopOnDrop(driver.abort_handle());
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    let builder = match document {
        Some(_) => Request::post(path).header(header::CONTENT_TYPE, "application/json"),
        None => Request::get(path),
    };
    let request = builder
        .header(header::HOST, uri.authority().map_or("", |a| a.as_str()))
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(document.cloned().unwrap_or_default()))
        .map_err(|e| e.to_string())?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|e| e.to_string())?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, LARGEST).collect().await;
    Ok(Answer {
        status: parts.status,
        headers: parts.headers,
        body: body.map_err(|e| e.to_string())?.to_bytes(),
    })
}

struct StopOnDrop(tokio::task::AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
