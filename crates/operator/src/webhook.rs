//! [`ConversionWebhook`]: the HTTPS endpoint `POST /convert` that a cluster calls to convert objects.
//!
//! It takes a listener and a certificate; issuing the certificate and configuring the CRD are left to the caller. Body size,
//! number of connections and request time are bounded.

use std::{convert::Infallible, fs, path::Path, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use kubewright_serve::{Limits, Server, Tls};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{Converter, OperatorError};

/// The maximum number of concurrent connections. Further ones wait.
const MAX_CONNECTIONS: usize = 256;

/// The time limit for each of the TLS handshake, the request head and the request body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a request body, which holds a list of objects.
const MAX_BODY: usize = 64 << 20;

/// Serves conversion reviews: converts the objects of a request to the version the cluster asks for.
///
/// ```no_run
/// use std::path::Path;
/// use kubewright_operator::{ConversionWebhook, Operator};
///
/// # async fn run(operator: Operator) -> Result<(), Box<dyn std::error::Error>> {
/// let certificates = Path::new("/tmp/k8s-webhook-server/serving-certs");
/// let webhook = ConversionWebhook::new(operator.converter(), certificates)?;
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:9443").await?;
/// webhook.serve(listener).await;
/// # Ok(())
/// # }
/// ```
pub struct ConversionWebhook {
    converter: Converter,
    tls: Tls,
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
        let converter = self.converter;
        let service = tower::service_fn(move |request: Request<Incoming>| {
            let converter = converter.clone();
            async move { Ok::<_, Infallible>(answer(request, &converter).await) }
        });
        let limits = Limits {
            max_connections: MAX_CONNECTIONS,
            handshake_timeout: READ_TIMEOUT,
            header_timeout: READ_TIMEOUT,
            ..Limits::default()
        };
        let server = Server::new(listener).tls(self.tls).limits(limits);
        server.serve(service, std::future::pending()).await;
    }
}

fn certificate(directory: &Path) -> Result<Tls, String> {
    let read = |name: &str| fs::read(directory.join(name)).map_err(|e| format!("{name}: {e}"));
    Tls::from_pem(&read("tls.crt")?, &read("tls.key")?).map_err(|e| e.to_string())
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
