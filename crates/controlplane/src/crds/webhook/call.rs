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

/// Posts a document and reads the answer.
pub(super) async fn post(url: &str, ca_bundle: &[u8], document: &Value) -> Result<Value, String> {
    let url = with_timeout(url);
    let failed = |e: String| format!("Post \"{url}\": {e}");
    match tokio::time::timeout(TIMEOUT, exchange(&url, ca_bundle, document)).await {
        Ok(Ok((status, body))) => read(status, &body),
        Ok(Err(e)) => Err(failed(e)),
        Err(_) => Err(failed("context deadline exceeded".into())),
    }
}

/// The endpoint learns how much time it has.
fn with_timeout(url: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}timeout=30s")
}

fn read(status: StatusCode, body: &[u8]) -> Result<Value, String> {
    if !status.is_success() {
        return Err(match status.as_u16() {
            404 => "the server could not find the requested resource".to_owned(),
            500..=599 => format!(
                "an error on the server ({:?}) has prevented the request from succeeding",
                String::from_utf8_lossy(&body[..body.len().min(2048)])
            ),
            code => format!(
                "the server responded with the status code {code} but did not return more information"
            ),
        });
    }
    // Deeper documents than ours are refused by the parser.
    serde_json::from_slice(body).map_err(|e| format!("the answer is no JSON document: {e}"))
}

async fn exchange(
    url: &str,
    ca_bundle: &[u8],
    document: &Value,
) -> Result<(StatusCode, Bytes), String> {
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
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    Ok((status, body.map_err(|e| e.to_string())?.to_bytes()))
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
