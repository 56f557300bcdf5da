//! A server beside a manager.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use kubewright_cluster::{CertificateAuthority, SelfSigned};
use kubewright_controller::Manager;
use kubewright_testing::TestCluster;
use kubewright_webhook::{Certificates, WebhookServer};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::captain::{VALIDATE, captain, review, webhooks};

/// A server on a socket, and the authority that clients trust.
struct Served {
    address: SocketAddr,
    authority: String,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Served {
    async fn start(configure: impl FnOnce(WebhookServer) -> WebhookServer) -> Self {
        let made = SelfSigned::generate(["localhost"], SystemTime::now()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificates = Certificates::pem(made.certificate_pem, made.key_pem);
        let server = configure(WebhookServer::new(webhooks(), certificates));
        let serving = async move {
            let served = server.serve(listener, std::future::pending()).await;
            served.unwrap();
        };
        Self {
            address,
            authority: made.ca_pem,
            task: tokio::spawn(serving),
        }
    }

    /// Connects as a client with a certificate and a key, or without one.
    async fn connect(&self, identity: Option<(&str, &str)>) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.authority.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match identity {
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
                let chain = chain.collect::<Result<_, _>>().unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let socket = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, socket)
            .await
            .unwrap()
    }
}

/// Posts a body, and returns the response up to its end or an error.
async fn post(mut stream: TlsStream<TcpStream>, length: usize, body: &[u8]) -> String {
    let head = format!(
        "POST {VALIDATE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn valid() -> String {
    review("CREATE", Some(captain(json!({"ship": "a"}))), None).to_string()
}

#[tokio::test]
async fn connections_that_ask_for_nothing_do_not_lock_out_the_cluster() {
    let served = Served::start(WebhookServer::without_http2).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(served.connect(None).await);
    }
    let body = valid();
    let stream = served.connect(None).await;
    let answer = post(stream, body.len(), body.as_bytes()).await;
    assert!(answer.contains(r#""allowed":true"#), "{answer}");
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_not_read() {
    let served = Served::start(WebhookServer::without_http2).await;
    let stream = served.connect(None).await;
    let answer = post(stream, 100 << 20, &[b' '; 1024]).await;
    assert!(answer.contains("request entity is too large"), "{answer}");
    let body = valid();
    let stream = served.connect(None).await;
    let answer = post(stream, body.len(), body.as_bytes()).await;
    assert!(answer.contains(r#""allowed":true"#), "{answer}");
}

#[tokio::test]
async fn plain_http_is_refused_and_others_are_served() {
    let served = Served::start(WebhookServer::without_http2).await;
    let mut plain = TcpStream::connect(served.address).await.unwrap();
    let request = format!("POST {VALIDATE} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    plain.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(!answer.contains("200 OK"), "{answer}");
    let body = valid();
    let stream = served.connect(None).await;
    let answer = post(stream, body.len(), body.as_bytes()).await;
    assert!(answer.contains(r#""allowed":true"#), "{answer}");
}

#[tokio::test]
async fn http2_is_offered_unless_it_is_switched_off() {
    let both = Served::start(|server| server).await;
    let stream = both.connect(None).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let one = Served::start(WebhookServer::without_http2).await;
    let stream = one.connect(None).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn clients_need_a_certificate_of_the_given_authority() {
    let now = SystemTime::now();
    let authority = |name: &str| CertificateAuthority::generate(name, now).unwrap();
    let (ours, other) = (authority("ours"), authority("other"));
    let pem = ours.certificate_pem().to_owned();
    let served = Served::start(|server| server.without_http2().client_ca(pem)).await;
    let body = valid();
    let ask = async |authority: Option<&CertificateAuthority>| {
        let signed = authority.map(|it| it.sign_user("apiserver", [""; 0], now).unwrap());
        let identity = signed
            .as_ref()
            .map(|it| (it.certificate_pem.as_str(), it.key_pem.as_str()));
        let stream = served.connect(identity).await;
        post(stream, body.len(), body.as_bytes()).await
    };
    let answer = ask(Some(&ours)).await;
    assert!(answer.contains(r#""allowed":true"#), "{answer}");
    // With TLS 1.3 the client learns of it when it reads.
    assert_eq!(ask(Some(&other)).await, "");
    assert_eq!(ask(None).await, "");
}

#[tokio::test]
async fn a_manager_is_ready_once_its_webhooks_are_served() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let made = SelfSigned::generate(["127.0.0.1"], SystemTime::now()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificates = Certificates::pem(made.certificate_pem, made.key_pem);
    let server = WebhookServer::new(webhooks(), certificates);
    server.add_to(&manager, listener).unwrap();
    let report = manager.readyz().report("webhook", "").await;
    assert_eq!(report.status, 500);
    let watched = manager.clone();
    let until_ready = async move {
        while watched.readyz().report("webhook", "").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    manager.run(until_ready).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_manager_without_a_usable_certificate_ends_with_the_reason() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = WebhookServer::new(webhooks(), Certificates::pem("no", "key"));
    server.add_to(&manager, listener).unwrap();
    let error = manager.run(std::future::pending()).await.unwrap_err();
    assert!(
        error.to_string().contains("the certificate cannot be used"),
        "{error}"
    );
}
