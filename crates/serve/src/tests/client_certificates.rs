//! Certificates of clients, the server's own when it is replaced, and connections that the service closes.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::*;

/// A self-signed certificate of a client, as PEM and with its key.
fn client_pem(name: &str) -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap()
}

async fn peer(stream: ClientStream) -> String {
    text(
        http1(stream)
            .await
            .send_request(get("/peer"))
            .await
            .unwrap(),
    )
    .await
}

#[tokio::test]
async fn a_certificate_of_anybody_reaches_the_service() {
    let (tls, trusted) = self_signed();
    let (certificate, key) = client_pem("alice");
    let (other, _) = client_pem("intermediate");
    // The authority that is named has nothing to do with the certificate; trust is for the service to decide.
    let tls = tls.request_client_certificates(b"").unwrap();
    let running = start(Limits::default(), Some(tls)).await;
    for versions in [&[&rustls::version::TLS12][..], &[&rustls::version::TLS13]] {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(chain(&trusted).remove(0)).unwrap();
        let both = format!("{certificate}{other}");
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(chain(&both), key)
            .unwrap();
        let length = chain(&certificate)[0].len();
        let answer = peer(connect(running.address, config).await).await;
        assert_eq!(answer, format!("2 {length}"), "{versions:?}");
    }
    let without = tls_stream(running.address, &trusted, b"").await;
    assert_eq!(peer(without).await, "0 0");
}

#[tokio::test]
async fn clients_are_not_asked_without_the_option() {
    let (tls, trusted) = self_signed();
    let (certificate, key) = client_pem("alice");
    let running = start(Limits::default(), Some(tls)).await;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = client_config(&trusted, b"", Some((chain(&certificate), key)));
    assert_eq!(peer(connect(running.address, config).await).await, "0 0");
}

#[tokio::test]
async fn a_certificate_without_its_key_ends_the_connection() {
    let (tls, trusted) = self_signed();
    let tls = tls.request_client_certificates(b"").unwrap();
    let running = start(Limits::default(), Some(tls)).await;
    let ((certificate, _), (_, other_key)) = (client_pem("alice"), client_pem("mallory"));
    let provider = rustls::crypto::ring::default_provider();
    let key = PrivateKeyDer::from_pem_slice(other_key.as_bytes()).unwrap();
    let key = provider.key_provider.load_private_key(key).unwrap();
    // Without the check of rustls that they belong together.
    let stolen = Arc::new(rustls::sign::CertifiedKey::new(chain(&certificate), key));
    let mut config = client_config(&trusted, b"", None);
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(stolen));
    let stream = connect(running.address, config).await;
    let (mut sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    assert!(sender.send_request(get("/peer")).await.is_err());
}

#[tokio::test]
async fn names_of_authorities_must_be_certificates() {
    let (tls, trusted) = self_signed();
    let named = tls.clone().request_client_certificates(trusted.as_bytes());
    assert!(named.is_ok());
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let error = tls.request_client_certificates(garbage.as_bytes());
    assert!(matches!(
        error,
        Err(TlsError::Pem {
            part: "certificate authority",
            ..
        })
    ));
}

#[tokio::test]
async fn new_connections_get_the_replaced_certificate() {
    let (tls, first) = self_signed();
    let running = start(Limits::default(), Some(tls.clone())).await;
    let mut old = http1(tls_stream(running.address, &first, b"").await).await;
    let (second, key) = client_pem("127.0.0.1");
    assert!(
        tls.replace_certificate(second.as_bytes(), b"no key")
            .is_err()
    );
    drop(tls_stream(running.address, &first, b"").await);
    tls.replace_certificate(second.as_bytes(), key.as_bytes())
        .unwrap();
    let new = tls_stream(running.address, &second, b"").await;
    let served = new.get_ref().1.peer_certificates().unwrap();
    assert_eq!(served, chain(&second));
    let response = old.send_request(get("/hello")).await.unwrap();
    assert_eq!(text(response).await, "hello HTTP/1.1");
}

#[tokio::test]
async fn http2_connections_close_after_a_response_that_says_so() {
    let running = start(Limits::default(), None).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let slow = two.clone().send_request(get("/slow"));
    let slow = tokio::spawn(slow);
    while running.service.slow_begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let response = two.send_request(get("/close")).await.unwrap();
    assert!(!response.headers().contains_key("connection"));
    assert_eq!(text(response).await, "hello HTTP/2.0");
    // What was in flight is answered.
    let slow = timeout(SOON, slow).await.unwrap().unwrap().unwrap();
    assert_eq!(text(slow).await, "hello HTTP/2.0");
    let closed = async {
        while !two.is_closed() {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(SOON, closed)
        .await
        .expect("the connection is closed");
}
