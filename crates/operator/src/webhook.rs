//! [`ConversionWebhook`]: the HTTPS endpoint `POST /convert` that a cluster calls to convert objects.
//!
//! It takes a listener and a certificate; issuing the certificate and configuring the CRD are left to the caller. Body size,
//! number of connections and request time are bounded.

use std::{convert::Infallible, fs, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{Converter, OperatorError};

/// The maximum number of concurrent connections. Further ones wait.
const MAX_CONNECTIONS: usize = 256;

/// The time limit for each of the TLS handshake, the request head and the request body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a request body, which holds a list of objects.
const MAX_BODY: usize = 64 << 20;

/// The pause after a failed accept, for example when no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves conversion reviews: converts the objects of a request to the version the cluster asks for.
pub struct ConversionWebhook {
    converter: Converter,
    tls: Arc<ServerConfig>,
}

impl ConversionWebhook {
    /// Creates a webhook with the certificate `tls.crt` and the key `tls.key` of a directory, the file names of a mounted
    /// TLS Secret.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read or does not hold a usable certificate or key.
    pub fn new(converter: Converter, directory: &Path) -> Result<Self, OperatorError> {
        let tls = certificate(directory).map_err(|reason| OperatorError::Certificate {
            directory: directory.display().to_string(),
            reason,
        })?;
        Ok(Self { converter, tls })
    }

    /// Accepts and serves connections until the future is dropped, which closes all of them.
    pub async fn serve(self, listener: TcpListener) {
        let acceptor = TlsAcceptor::from(self.tls);
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            // The semaphore is never closed.
            let slot = slots.clone().acquire_owned().await.ok();
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (acceptor, converter) = (acceptor.clone(), self.converter.clone());
                    connections.spawn(async move {
                        if let Err(e) = connection(stream, acceptor, converter).await {
                            tracing::debug!(error = %e, "connection closed");
                        }
                        drop(slot);
                    });
                }
                Err(e) => {
                    tracing::warn!(error = %e, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn certificate(directory: &Path) -> Result<Arc<ServerConfig>, String> {
    let read = |name: &str| fs::read(directory.join(name)).map_err(|e| format!("{name}: {e}"));
    let (certificates, key) = (read("tls.crt")?, read("tls.key")?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&certificates)
        .collect::<Result<_, _>>()
        .map_err(|e| format!("tls.crt: {e}"))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|e| format!("tls.key: {e}"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| e.to_string())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    converter: Converter,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = tokio::time::timeout(READ_TIMEOUT, acceptor.accept(stream)).await??;
    let service = service_fn(move |request: Request<Incoming>| {
        let converter = converter.clone();
        async move { Ok::<_, Infallible>(answer(request, &converter).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    Ok(served.await?)
}

async fn answer(request: Request<Incoming>, converter: &Converter) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| {
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response
    };
    if request.uri().path() != "/convert" {
        return plain(StatusCode::NOT_FOUND, "404 page not found\n");
    }
    if request.method() != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
    }
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    let body = match tokio::time::timeout(READ_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            return plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                "cannot read the request body\n",
            );
        }
        Err(_) => {
            return plain(
                StatusCode::REQUEST_TIMEOUT,
                "timed out reading the request body\n",
            );
        }
    };
    let review = match serde_json::from_slice::<Value>(&body) {
        Ok(review) if review["request"].is_object() => review,
        _ => {
            return plain(
                StatusCode::BAD_REQUEST,
                "the request body is not a ConversionReview\n",
            );
        }
    };
    let mut response = Response::new(Full::from(respond(&review, converter).to_string()));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns the response to a review: all objects converted, or the reason why not.
fn respond(review: &Value, converter: &Converter) -> Value {
    let request = &review["request"];
    let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().into_iter().flatten();
    let converted = objects
        .map(|object| converter.convert(object, wanted))
        .collect::<Result<Vec<Value>, _>>();
    let (converted, result) = match converted {
        Ok(converted) => (converted, json!({"status": "Success"})),
        Err(error) => {
            tracing::warn!(%error, "cannot convert an object");
            let result = json!({"status": "Failure", "message": error.to_string()});
            (Vec::new(), result)
        }
    };
    json!({
        "apiVersion": review["apiVersion"],
        "kind": "ConversionReview",
        "response": {"uid": request["uid"], "result": result, "convertedObjects": converted},
    })
}
