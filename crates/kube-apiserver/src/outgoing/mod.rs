//! Calls to addresses that users of the API choose, such as webhooks.
//!
//! [`Client`] is the only way out of this crate, so its policy holds for every call: HTTPS to the given address and nowhere
//! else, within a time limit, with an answer of bounded size. A redirect is an answer like any other and is not followed,
//! because it would let the endpoint choose an address inside the network of the server. Text of an answer that becomes part
//! of a message goes through [`excerpt`].

mod trust;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::rt::TokioIo;
use kubewright_machinery::go;
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

/// The time limit of a call, from the connection to the last byte of the answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The size that any answer may have, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// An answer may also be this many times as large as the request, since a converted list grows with the list.
const MAX_GROWTH: usize = 4;
/// The maximum length of an answer's text in a message, in characters.
const MAX_EXCERPT: usize = 256;

/// Calls one endpoint.
pub(crate) struct Client {
    /// The certificates that may have signed that of the endpoint, in PEM.
    ca_bundle: Vec<u8>,
}

/// The answer of an endpoint.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

impl Client {
    /// Returns a client that trusts the certificates of a bundle, and what they have signed.
    pub(crate) fn new(ca_bundle: Vec<u8>) -> Self {
        Self { ca_bundle }
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    ///
    /// Returns a message in the words of Go's client if there is no answer.
    pub(crate) async fn post(&self, url: &str, document: Bytes) -> Result<Answer, String> {
        let answer = match timeout(TIMEOUT, self.exchange(url, document)).await {
            Ok(answer) => answer,
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        answer.map_err(|e| format!("Post \"{url}\": {e}"))
    }

    async fn exchange(&self, url: &str, document: Bytes) -> Result<Answer, String> {
        let uri: Uri = url.parse().map_err(|e| format!("invalid URL: {e}"))?;
        let scheme = uri.scheme_str().unwrap_or_default();
        if scheme != "https" {
            return Err(format!("unsupported protocol scheme {}", go::quote(scheme)));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(443);
        let socket = TcpStream::connect((host, port))
            .await
            .map_err(|e| dial_failure(host, port, &e))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|e| e.to_string())?;
        let config = trust::client_config(&self.ca_bundle).map_err(|e| e.to_string())?;
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, socket)
            .await
            .map_err(|e| trust::describe(&e))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|e| e.to_string())?;
        // Ends with the sender, or with the timeout that drops both.
        let _driver = AbortOnDrop(tokio::spawn(connection).abort_handle());
        let limit = document.len().saturating_mul(MAX_GROWTH).max(MAX_ANSWER);
        let path = uri.path_and_query().map_or("/", |p| p.as_str());
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::HOST, uri.authority().map_or("", |a| a.as_str()))
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::new(document))
            .map_err(|e| e.to_string())?;
        let response = sender.send_request(request).await;
        let (parts, body) = response.map_err(|e| e.to_string())?.into_parts();
        let body = Limited::new(body, limit).collect().await;
        let body = body.map_err(|e| match e.is::<LengthLimitError>() {
            true => format!("the response is larger than {limit} bytes"),
            false => e.to_string(),
        })?;
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        Ok(Answer {
            status: parts.status,
            content_type: content_type
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            body: body.to_bytes(),
        })
    }
}

/// Returns the beginning of a text that an endpoint has chosen, with everything escaped that is not printable.
pub(crate) fn excerpt(text: &str) -> String {
    let mut out = String::new();
    for c in shortened(text).chars() {
        match go::is_print(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
    }
    out
}

/// Returns the beginning of a text that an endpoint has chosen, quoted as in Go.
pub(crate) fn quoted_excerpt(text: &str) -> String {
    go::quote(&shortened(text))
}

fn shortened(text: &str) -> String {
    let mut characters = text.trim().chars();
    let mut out: String = characters.by_ref().take(MAX_EXCERPT).collect();
    if characters.next().is_some() {
        out.push_str("...");
    }
    out
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

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt("  no way\n"), "no way");
        assert_eq!(excerpt("a\u{1b}[2J\nb\u{202e}"), "a\\u{1b}[2J\\nb\\u{202e}");
        let long = excerpt(&"é".repeat(3000));
        assert_eq!(long.chars().count(), MAX_EXCERPT + 3);
        assert!(long.ends_with("é..."));
    }

    #[tokio::test]
    async fn only_https_is_spoken() {
        let client = Client::new(Vec::new());
        for url in ["http://127.0.0.1:1/", "file://a/etc/passwd", "gopher://a/"] {
            let refused = client.post(url, Bytes::new()).await.err().unwrap();
            assert!(refused.contains("unsupported protocol scheme"), "{refused}");
        }
    }
}
