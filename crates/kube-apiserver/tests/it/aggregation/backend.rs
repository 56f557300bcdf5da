//! An aggregated server behind TLS on the loopback interface, and an API server in front of it.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::Body;
use kubewright_kube_apiserver::{
    AnonymousAccess, FrontProxy, KubeApiServer, KubeApiServerBuilder, Services,
};
use kubewright_serve::{PeerAddress, PeerCertificates, Server, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Semaphore,
};

use super::{SERVICES, api_service};

pub(super) type Authority = CertifiedIssuer<'static, KeyPair>;

pub(super) fn authority(name: &str) -> Authority {
    let mut ca = CertificateParams::new([]).unwrap();
    ca.distinguished_name.push(DnType::CommonName, name);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate and its key as PEM.
pub(super) fn signed(
    authority: &Authority,
    common_name: &str,
    host: Option<&str>,
) -> (String, String) {
    signed_until(authority, common_name, host, 4096)
}

/// Returns a certificate that is valid until the start of a year.
pub(super) fn signed_until(
    authority: &Authority,
    common_name: &str,
    host: Option<&str>,
    year: i32,
) -> (String, String) {
    let names: Vec<String> = host.into_iter().map(str::to_owned).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

pub(super) const CHUNK: usize = 64 << 10;
/// More than all buffers between a server and a client.
pub(super) const CHUNKS: usize = 1024;
/// The chunks of `/endless` so far.
pub(super) static MADE: AtomicUsize = AtomicUsize::new(0);
/// The requests for `/never`, and those of them that have ended.
pub(super) static STARTED: Semaphore = Semaphore::const_new(0);
pub(super) static ENDED: Semaphore = Semaphore::const_new(0);
/// The lines of `/lines` after the first.
pub(super) static LINES: Semaphore = Semaphore::const_new(0);

/// Counts itself when it is dropped.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        ENDED.add_permits(1);
    }
}

/// Answers the probe. Other paths behave like this:
///
/// - `/endless`: a long body
/// - `/never`: no answer
/// - `/lines`: a line, and another one with each permit of [`LINES`]
/// - `/echo`: the bytes that are sent after an upgrade
/// - `/elsewhere`: a redirect
/// - any other, such as `/headers`: the headers of the request, whether the client has a certificate, and its address;
///   `/refused` as an error
pub(super) async fn answer(mut request: Request<hyper::body::Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    if path.ends_with("/echo") && request.headers().contains_key(header::UPGRADE) {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut stream = TokioIo::new(upgrade.await.unwrap());
            let mut buffer = [0; 64];
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                stream.write_all(&buffer[..n]).await.unwrap();
            }
        });
        let switching = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "echo");
        return switching.body(Body::empty()).unwrap();
    }
    if path.ends_with("/never") {
        let _ended = Ended;
        STARTED.add_permits(1);
        std::future::pending::<()>().await;
    }
    if path.ends_with("/lines") {
        let lines = stream::unfold(0, |n| async move {
            if n > 0 {
                LINES.acquire().await.unwrap().forget();
            }
            Some((Ok(Bytes::from(format!("{{\"line\":{n}}}\n"))), n + 1))
        });
        let json = Response::builder().header(header::CONTENT_TYPE, "application/json");
        return json.body(Body::stream(lines)).unwrap();
    }
    if path.ends_with("/endless") {
        return Response::new(Body::stream(stream::poll_fn(|_| {
            let n = MADE.fetch_add(1, Ordering::SeqCst);
            Poll::Ready((n < CHUNKS).then(|| Ok(Bytes::from_static(&[b'x'; CHUNK]))))
        })));
    }
    if path.ends_with("/elsewhere") {
        let redirect = Response::builder()
            .status(StatusCode::FOUND)
            .header(header::LOCATION, "https://127.0.0.1/secret");
        return redirect.body(Body::empty()).unwrap();
    }
    let has_certificate = request.extensions().get::<PeerCertificates>().is_some();
    let headers: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
        .collect();
    let peer = request.extensions().get::<PeerAddress>();
    let peer = peer.map(|peer| peer.0.to_string());
    let body = json!({"headers": headers, "certificate": has_certificate, "peer": peer});
    let mut response = Response::new(Body::from(body.to_string()));
    if path.ends_with("/refused") {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    response
}

pub(super) struct Backend {
    pub(super) services: Services,
    pub(super) ca_bundle: String,
    pub(super) requests: Arc<AtomicUsize>,
}

/// Serves [`answer`] for the service `test/sky`, to clients with a certificate of `proxies`.
pub(super) async fn backend(proxies: &Authority) -> Backend {
    let own = authority("backend");
    let pair = signed(&own, "sky", Some("sky.test.svc"));
    backend_as(proxies, &own, pair).await
}

/// Serves [`answer`] with a certificate of `own`.
pub(super) async fn backend_as(
    proxies: &Authority,
    own: &Authority,
    (certificate, key): (String, String),
) -> Backend {
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    let tls = tls
        .request_client_certificates(proxies.pem().as_bytes())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let services = Services::default();
    services.set_address("test", "sky", 443, listener.local_addr().unwrap());
    let requests: Arc<AtomicUsize> = Arc::default();
    let count = requests.clone();
    let service = tower::service_fn(move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    let server = Server::new(listener).tls(tls).peer_addresses();
    tokio::spawn(server.serve(service, std::future::pending()));
    Backend {
        services,
        ca_bundle: STANDARD.encode(own.pem()),
        requests,
    }
}

pub(super) fn front(proxies: &Authority, backend: &Backend) -> KubeApiServerBuilder {
    let (certificate, key) = signed(proxies, "front-proxy-client", None);
    KubeApiServer::builder()
        .front_proxy(FrontProxy::new(proxies.pem()))
        .proxy_client_certificate(certificate, key)
        .anonymous(AnonymousAccess::Enabled)
        .services(backend.services.clone())
}

pub(super) async fn send(api: &KubeApiServer, request: Request<Body>) -> (u16, Value) {
    let response = api.server().handle(request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect_up_to(1 << 20).await;
    let body = body.unwrap().unwrap();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

pub(super) async fn get(api: &KubeApiServer, path: &str) -> (u16, Value) {
    send(api, Request::get(path).body(Body::empty()).unwrap()).await
}

pub(super) async fn register(api: &KubeApiServer, change: Value) {
    let request = Request::post(SERVICES)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(api_service(change).to_string()));
    assert_eq!(send(api, request.unwrap()).await.0, 201);
}

/// Waits until the APIService has this reason, and returns the message.
pub(super) async fn reason(api: &KubeApiServer, expected: &str) -> String {
    loop {
        let (_, service) = get(api, &format!("{SERVICES}/v1.sky.example.com")).await;
        let condition = &service["status"]["conditions"][0];
        if condition["reason"] == expected {
            return condition["message"].as_str().unwrap().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

pub(super) fn values(answer: &Value, name: &str) -> Vec<String> {
    let headers = answer["headers"].as_array().unwrap().iter();
    let found = headers.filter(|header| header[0] == name);
    found
        .map(|header| header[1].as_str().unwrap().to_owned())
        .collect()
}

/// Serves an API server on a socket, with the backend behind it.
pub(super) async fn served() -> (KubeApiServer, std::net::SocketAddr) {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(listener);
    tokio::spawn(server.serve(api.server().clone(), std::future::pending()));
    (api, address)
}
