//! One call: connect, send, read, within a time.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long an endpoint may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much an endpoint may answer.
const LARGEST: usize = 64 << 20;

/// What an endpoint answers.
struct Answer {
    status: StatusCode,
    content_type: String,
    body: Bytes,
}

/// Posts a document and reads the answer.
pub(super) async fn post(url: &str, ca_bundle: &[u8], document: &Value) -> Result<Value, String> {
    let url = with_timeout(url);
    let failed = |e: String| format!("Post \"{url}\": {e}");
    match tokio::time::timeout(TIMEOUT, exchange(&url, ca_bundle, document)).await {
        Ok(Ok(answer)) => read(answer.status, &answer.body, &answer.content_type),
        Ok(Err(e)) => Err(failed(e)),
        Err(_) => Err(failed("context deadline exceeded".into())),
    }
}

/// The endpoint learns how much time it has.
fn with_timeout(url: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}timeout=30s")
}

/// What the answer says, or why it says nothing: in the words of upstream's client.
///
/// That client follows redirects. This one does not: an endpoint has no say in where else objects are sent.
fn read(status: StatusCode, body: &[u8], content_type: &str) -> Result<Value, String> {
    if !status.is_success() {
        return Err(refusal(status.as_u16(), body));
    }
    if body.is_empty() {
        let code = status.as_u16();
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    let unread = |e: String| format!("couldn't get version/kind; json parse error: {e}");
    // Deeper documents than ours are refused by the parser.
    let answer: Value = serde_json::from_slice(body).map_err(|e| {
        unread(match e.is_eof() {
            true => "unexpected end of JSON input".to_owned(),
            false => e.to_string(),
        })
    })?;
    let kind = match &answer {
        Value::Object(_) | Value::Null => return Ok(answer),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(unread(format!(
        "json: cannot unmarshal {kind} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )))
}

/// What a client makes of a code that is no success.
fn refusal(code: u16, body: &[u8]) -> String {
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

async fn exchange(url: &str, ca_bundle: &[u8], document: &Value) -> Result<Answer, String> {
    let uri: Uri = url.parse().map_err(|e| format!("invalid URL: {e}"))?;
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let socket = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|e| format!("dial tcp: {e}"))?;
    let name = ServerName::try_from(host.clone()).map_err(|e| e.to_string())?;
    let stream = connector(ca_bundle)?
        .connect(name, socket)
        .await
        .map_err(|e| format!("tls: {e}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    // Ends with the sender, or with the timeout that drops both.
    let driver = tokio::spawn(connection);
    let _stop = StopOnDrop(driver.abort_handle());
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    let request = Request::post(path)
        .header(header::HOST, uri.authority().map_or("", |a| a.as_str()))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::from(document.to_string())))
        .map_err(|e| e.to_string())?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|e| e.to_string())?;
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.map_or("application/json".into(), |value| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    });
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    Ok(Answer {
        status,
        content_type,
        body: body.map_err(|e| e.to_string())?.to_bytes(),
    })
}

struct StopOnDrop(tokio::task::AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn connector(ca_bundle: &[u8]) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle).flatten() {
        roots.add(certificate).map_err(|e| e.to_string())?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: u16, body: &str) -> String {
        let status = StatusCode::from_u16(code).unwrap();
        read(status, body.as_bytes(), "application/json").unwrap_err()
    }

    /// As a real server words them.
    #[test]
    fn a_code_that_is_no_success_has_its_words() {
        let cases = [
            (
                302,
                "",
                "the server responded with the status code 302 but did not return more information",
            ),
            (
                400,
                "bad",
                "the server rejected our request for an unknown reason",
            ),
            (
                401,
                "",
                "the server has asked for the client to provide credentials",
            ),
            (403, "no", "no"),
            (403, "", ""),
            (404, "", "the server could not find the requested resource"),
            (
                405,
                "",
                "the server does not allow this method on the requested resource",
            ),
            (
                406,
                "",
                "the server was unable to respond with a content type that the client supports",
            ),
            (409, "x", "the server reported a conflict"),
            (415, "y", "y"),
            (
                418,
                "tea",
                "the server responded with the status code 418 but did not return more information",
            ),
            (
                422,
                "",
                "the server rejected our request due to an error in our request",
            ),
            (
                429,
                "",
                "the server has received too many requests and has asked us to try again later",
            ),
            (
                500,
                "broken",
                "an error on the server (\"broken\") has prevented the request from succeeding",
            ),
            (
                500,
                "",
                "an error on the server (\"\") has prevented the request from succeeding",
            ),
            (
                503,
                "",
                "the server is currently unable to handle the request",
            ),
            (
                504,
                "late",
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ),
        ];
        for (code, body, words) in cases {
            assert_eq!(said(code, body), words);
        }
    }

    #[test]
    fn what_is_no_document_is_told() {
        assert_eq!(
            said(200, ""),
            "0-length response with status code: 200 and content type: application/json"
        );
        assert_eq!(
            said(200, "{"),
            "couldn't get version/kind; json parse error: unexpected end of JSON input"
        );
        assert_eq!(
            said(200, "[1]"),
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }"
        );
    }
}
