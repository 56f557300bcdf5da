//! Webhooks behind real TLS endpoints on the loopback interface.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{Scene, VALIDATING, allow, said_by};
use crate::http_client::{MAPS, map};

struct Endpoint {
    port: u16,
    ca_bundle: String,
    connections: Arc<AtomicUsize>,
}

/// Serves reviews, and answers each with a status line and headers, or with an allowance. Closes the connection after some.
async fn serve(name: &str, head: Option<String>, answers: usize) -> Endpoint {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a server");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connections: Arc<AtomicUsize> = Arc::default();
    let count = connections.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let (acceptor, head) = (acceptor.clone(), head.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(socket).await else {
                    return;
                };
                for _ in 0..answers {
                    let Some(review) = read(&mut stream).await else {
                        return;
                    };
                    let answer = match &head {
                        Some(head) => format!("{head}\r\ncontent-length: 0\r\n\r\n"),
                        None => {
                            let body = allow(&review).expect("an answer");
                            let length = body.len();
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
                        }
                    };
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
                let _ = stream.shutdown().await;
            });
        }
    });
    Endpoint {
        port,
        ca_bundle: STANDARD.encode(cert.pem()),
        connections,
    }
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<Value> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        if let Some(review) = body.and_then(|body| serde_json::from_str(&body).ok()) {
            return Some(review);
        }
    }
}

fn url(endpoint: &Endpoint, ca_bundle: &str) -> Value {
    let url = format!("https://localhost:{}/review", endpoint.port);
    json!({"clientConfig": {"url": url, "caBundle": ca_bundle}})
}

#[tokio::test]
async fn connections_are_reused() {
    let scene = Scene::new().await;
    let endpoint = serve("localhost", None, 100).await;
    scene
        .register(VALIDATING, "a", url(&endpoint, &endpoint.ca_bundle))
        .await;
    for i in 0..5 {
        scene.http.post(MAPS, map(&format!("m{i}"))).await.ok();
    }
    assert_eq!(endpoint.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_closed_connection_is_replaced() {
    let scene = Scene::new().await;
    let endpoint = serve("localhost", None, 1).await;
    scene
        .register(VALIDATING, "a", url(&endpoint, &endpoint.ca_bundle))
        .await;
    for i in 0..5 {
        // The endpoint may close while a request is on its way, which is sent once more.
        scene.http.post(MAPS, map(&format!("m{i}"))).await.ok();
    }
    assert_eq!(endpoint.connections.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_new_connection_without_an_answer_is_not_replaced() {
    let scene = Scene::new().await;
    let endpoint = serve("localhost", None, 0).await;
    scene
        .register(VALIDATING, "a", url(&endpoint, &endpoint.ca_bundle))
        .await;
    let refused = scene.http.post(MAPS, map("m")).await;
    refused.refused(500);
    assert_eq!(endpoint.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_service_is_reached_at_its_address() {
    let scene = Scene::new().await;
    let endpoint = serve("a.test.svc", None, 100).await;
    let address = ([127, 0, 0, 1], endpoint.port).into();
    scene
        .cluster
        .services()
        .set_address("test", "a", 8443, address);
    let service = json!({"namespace": "test", "name": "a", "port": 8443});
    let client = json!({"clientConfig": {"service": service, "caBundle": endpoint.ca_bundle}});
    scene.register(VALIDATING, "a", client).await;
    scene.http.post(MAPS, map("m")).await.ok();
    assert_eq!(endpoint.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let scene = Scene::new().await;
    let there = serve("localhost", None, 100).await;
    let port = there.port;
    let head =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: https://localhost:{port}/review");
    let endpoint = serve("localhost", Some(head), 100).await;
    scene
        .register(VALIDATING, "a", url(&endpoint, &endpoint.ca_bundle))
        .await;
    let refused = scene.http.post(MAPS, map("m")).await;
    refused.refused(500);
    let said = "the server responded with the status code 307 but did not return more information";
    assert!(said_by(&refused).ends_with(said), "{}", said_by(&refused));
    assert_eq!(there.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn certificates_of_others_are_not_trusted() {
    let scene = Scene::new().await;
    let endpoint = serve("localhost", None, 100).await;
    let other = serve("localhost", None, 100).await;
    scene
        .register(VALIDATING, "a", url(&endpoint, &other.ca_bundle))
        .await;
    let refused = scene.http.post(MAPS, map("m")).await;
    let said = "x509: certificate signed by unknown authority";
    assert!(said_by(&refused).ends_with(said), "{}", said_by(&refused));
}

#[tokio::test]
async fn a_bundle_without_certificates_is_useless() {
    let scene = Scene::new().await;
    let endpoint = serve("localhost", None, 100).await;
    let garbage = STANDARD.encode("no certificate");
    scene
        .register(VALIDATING, "a", url(&endpoint, &garbage))
        .await;
    let refused = scene.http.post(MAPS, map("m")).await;
    refused.refused_with(
        500,
        "Internal error occurred: failed calling webhook \"a.example.com\": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block",
    );
    assert_eq!(endpoint.connections.load(Ordering::SeqCst), 0);
    let none = json!({"clientConfig": {"url": format!("https://localhost:{}/", endpoint.port)}});
    scene.register(VALIDATING, "b", none).await;
    let one = format!("{}/{VALIDATING}/a", super::GROUP);
    scene.http.delete(&one).await.ok();
    let refused = said_by(&scene.http.post(MAPS, map("m")).await);
    assert!(
        refused.ends_with("x509: certificate signed by unknown authority"),
        "{refused}"
    );
}

#[tokio::test]
async fn connections_are_refused() {
    let scene = Scene::new().await;
    let free = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let client = json!({"clientConfig": {"url": format!("https://127.0.0.1:{free}/review")}});
    scene.register(VALIDATING, "a", client).await;
    let refused = scene.http.post(MAPS, map("m")).await;
    let said = format!(
        "Post \"https://127.0.0.1:{free}/review?timeout=10s\": dial tcp 127.0.0.1:{free}: connect: connection refused"
    );
    assert!(said_by(&refused).ends_with(&said), "{}", said_by(&refused));
}
