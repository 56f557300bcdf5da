//! Requests and responses of the servers of `agnhost`.

use std::{convert::Infallible, future::Future, sync::LazyLock};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;

use super::flags::Flags;
use crate::image::{Container, HttpBody};

/// The size that a body may have, in bytes.
const LONGEST: usize = 16 << 20;

/// A certificate and its key, in PEM.
type Pair = (Vec<u8>, Vec<u8>);

/// Serves HTTP on a port until the container is asked to stop, and returns the exit code.
pub(super) async fn serve<F, R>(container: &Container, port: u16, handler: F) -> i32
where
    F: Fn(Request<HttpBody>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<Bytes>> + Send + 'static,
{
    let served = container.serve(port, service(handler)).await;
    exit_code(container, served)
}

/// Serves HTTPS with the certificate of the flags, or with one of its own. See [`serve`].
pub(super) async fn serve_tls<F, R>(
    container: &Container,
    port: u16,
    (certificate, key): (Option<&str>, Option<&str>),
    handler: F,
) -> i32
where
    F: Fn(Request<HttpBody>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<Bytes>> + Send + 'static,
{
    let pair = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            let files = async {
                let certificate = container.read_file(certificate).await?;
                Ok::<_, std::io::Error>((certificate, container.read_file(key).await?))
            };
            files.await.map_err(|error| error.to_string())
        }
        _ => self_signed().map(|(certificate, key)| (certificate.to_vec(), key.to_vec())),
    };
    let (certificate, key) = match pair {
        Ok(pair) => pair,
        Err(error) => {
            container.log(format!("cannot read the certificate: {error}"));
            return 1;
        }
    };
    let served = container
        .serve_tls(port, &certificate, &key, service(handler))
        .await;
    exit_code(container, served)
}

/// Returns the paths of the certificate and the key that the flags name.
pub(super) fn certificate<'a>(flags: &Flags<'a>) -> (Option<&'a str>, Option<&'a str>) {
    (
        flags.get("tls-cert-file"),
        flags.get("tls-private-key-file"),
    )
}

/// Returns a parameter of the query.
pub(super) fn query<B>(request: &Request<B>, name: &str) -> Option<String> {
    let pairs = request.uri().query().unwrap_or_default().split('&');
    let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let value = value.replace('+', " ");
    let decoded = percent_decode_str(&value).decode_utf8_lossy();
    Some(decoded.into_owned())
}

/// Reads the body of a request.
pub(super) async fn body(request: Request<HttpBody>) -> Option<Bytes> {
    let body = Limited::new(request.into_body(), LONGEST).collect().await;
    body.ok().map(|body| body.to_bytes())
}

/// Gets a path from another pod or Service, and returns the code and the body.
pub(super) async fn get(
    container: &Container,
    (host, port): (&str, u16),
    path: &str,
) -> Result<(StatusCode, String), String> {
    let connection = container.connect(host, port).await;
    let connection = connection.map_err(|error| format!("dial tcp {host}:{port}: {error}"))?;
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|error| error.to_string())?;
    let driver = tokio::spawn(driver);
    let request = Request::get(path)
        .header(header::HOST, format!("{host}:{port}"))
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let exchange = async {
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let code = answer.status();
        let body = Limited::new(answer.into_body(), LONGEST).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        Ok((code, String::from_utf8_lossy(&body).into_owned()))
    };
    let result = exchange.await;
    driver.abort();
    result
}

pub(super) fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Bytes> {
    typed(code, "text/plain; charset=utf-8", text)
}

pub(super) fn html(text: impl Into<Bytes>) -> Response<Bytes> {
    typed(StatusCode::OK, "text/html; charset=utf-8", text)
}

pub(super) fn json(code: StatusCode, value: &serde_json::Value) -> Response<Bytes> {
    typed(code, "application/json", value.to_string())
}

fn typed(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn service<F, R>(
    handler: F,
) -> impl tower::Service<Request<HttpBody>, Response = Response<Bytes>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
where
    F: Fn(Request<HttpBody>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<Bytes>> + Send + 'static,
{
    tower::service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    })
}

fn exit_code(container: &Container, served: std::io::Result<()>) -> i32 {
    match served {
        Ok(()) => 0,
        Err(error) => {
            container.log(format!("cannot serve: {error}"));
            1
        }
    }
}

/// Returns the certificate for `localhost` that the image comes with, and its key.
pub(super) fn self_signed() -> Result<(&'static [u8], &'static [u8]), String> {
    static PAIR: LazyLock<Result<Pair, String>> = LazyLock::new(|| {
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let pair = pair.map_err(|error| error.to_string())?;
        let key = pair.signing_key.serialize_pem();
        Ok((pair.cert.pem().into_bytes(), key.into_bytes()))
    });
    match &*PAIR {
        Ok((certificate, key)) => Ok((certificate, key)),
        Err(error) => Err(error.clone()),
    }
}
