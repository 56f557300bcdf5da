//! Aggregated servers behind TLS on the loopback interface.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::Body;
use kubewright_kube_apiserver::{
    AnonymousAccess, FrontProxy, KubeApiServer, KubeApiServerBuilder, Services,
};
use kubewright_serve::{PeerCertificates, Server, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{SERVICES, SKY, api_service};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut ca = CertificateParams::new([]).unwrap();
    ca.distinguished_name.push(DnType::CommonName, name);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate and its key as PEM.
fn signed(authority: &Authority, common_name: &str, host: Option<&str>) -> (String, String) {
    let names: Vec<String> = host.into_iter().map(str::to_owned).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// Answers the probe; `/headers` with the headers of the request and whether the client has a certificate; `/echo` with the
/// bytes that are sent after an upgrade.
async fn answer(mut request: Request<hyper::body::Incoming>) -> Response<Body> {
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
    let has_certificate = request.extensions().get::<PeerCertificates>().is_some();
    let headers: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
        .collect();
    let body = json!({"headers": headers, "certificate": has_certificate});
    Response::new(Body::from(body.to_string()))
}

struct Backend {
    services: Services,
    ca_bundle: String,
    requests: Arc<AtomicUsize>,
}

/// Serves [`answer`] for the service `test/sky`, to clients with a certificate of `proxies`.
async fn backend(proxies: &Authority) -> Backend {
    let own = authority("backend");
    let (certificate, key) = signed(&own, "sky", Some("sky.test.svc"));
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
    let server = Server::new(listener).tls(tls);
    tokio::spawn(server.serve(service, std::future::pending()));
    Backend {
        services,
        ca_bundle: STANDARD.encode(own.pem()),
        requests,
    }
}

fn front(proxies: &Authority, backend: &Backend) -> KubeApiServerBuilder {
    let (certificate, key) = signed(proxies, "front-proxy-client", None);
    KubeApiServer::builder()
        .front_proxy(FrontProxy::new(proxies.pem()))
        .proxy_client_certificate(certificate, key)
        .anonymous(AnonymousAccess::Enabled)
        .services(backend.services.clone())
}

async fn send(api: &KubeApiServer, request: Request<Body>) -> (u16, Value) {
    let response = api.server().handle(request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect_up_to(1 << 20).await;
    let body = body.unwrap().unwrap();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn get(api: &KubeApiServer, path: &str) -> (u16, Value) {
    send(api, Request::get(path).body(Body::empty()).unwrap()).await
}

async fn register(api: &KubeApiServer, change: Value) {
    let request = Request::post(SERVICES)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(api_service(change).to_string()));
    assert_eq!(send(api, request.unwrap()).await.0, 201);
}

/// Waits until the APIService has this reason, and returns the message.
async fn reason(api: &KubeApiServer, expected: &str) -> String {
    loop {
        let (_, service) = get(api, &format!("{SERVICES}/v1.sky.example.com")).await;
        let condition = &service["status"]["conditions"][0];
        if condition["reason"] == expected {
            return condition["message"].as_str().unwrap().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

fn values(answer: &Value, name: &str) -> Vec<String> {
    let headers = answer["headers"].as_array().unwrap().iter();
    let found = headers.filter(|header| header[0] == name);
    found
        .map(|header| header[1].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn users_are_named_by_the_proxy_alone() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let forged = Request::get(format!("{SKY}/headers"))
        .header("x-remote-user", "admin")
        .header("x-remote-group", "system:masters")
        .header("x-remote-extra-scopes", "all")
        .header("connection", "x-secret")
        .header("x-secret", "1")
        .body(Body::empty());
    let (code, seen) = send(&api, forged.unwrap()).await;
    assert_eq!((code, &seen["certificate"]), (200, &json!(true)));
    assert_eq!(values(&seen, "x-remote-user"), ["system:anonymous"]);
    assert_eq!(values(&seen, "x-remote-group"), ["system:unauthenticated"]);
    assert!(values(&seen, "x-remote-extra-scopes").is_empty());
    assert!(values(&seen, "x-secret").is_empty());
    assert_eq!(values(&seen, "host"), ["sky.test.svc:443"]);
    assert_eq!(values(&seen, "x-forwarded-uri"), [format!("{SKY}/headers")]);
}

#[tokio::test]
async fn certificates_are_verified_unless_told_otherwise() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    let other = STANDARD.encode(authority("other").pem());
    register(&api, json!({"caBundle": other})).await;
    let message = reason(&api, "FailedDiscoveryCheck").await;
    assert!(
        message.ends_with("certificate signed by unknown authority"),
        "{message}"
    );
    assert_eq!(backend.requests.load(Ordering::SeqCst), 0);
    let path = format!("{SERVICES}/v1.sky.example.com");
    let insecure = json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}});
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Body::from(insecure.to_string()));
    assert_eq!(send(&api, request.unwrap()).await.0, 200);
    reason(&api, "Passed").await;
}

#[tokio::test]
async fn upgrades_are_passed_through() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(listener);
    tokio::spawn(server.serve(api.server().clone(), std::future::pending()));
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {SKY}/echo HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    for word in ["hello", "again"] {
        client.write_all(word.as_bytes()).await.unwrap();
        let mut echo = [0; 5];
        client.read_exact(&mut echo).await.unwrap();
        assert_eq!(echo, *word.as_bytes());
    }
}
