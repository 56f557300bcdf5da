//! Certificates of clients and of proxies, over TLS.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_kube_apiserver::{AnonymousAccess, FrontProxy, KubeApiServer, KubeApiServerBuilder};
use kubewright_serve::{Server, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

type Authority = CertifiedIssuer<'static, KeyPair>;
/// A certificate and its key.
type Identity = (CertificateDer<'static>, KeyPair);

fn authority(name: &str) -> Authority {
    let mut ca = params(name, &[]);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.extended_key_usages.clear();
    CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap()
}

fn params(name: &str, groups: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for group in groups {
        params
            .distinguished_name
            .push(DnType::OrganizationName, *group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn identity(name: &str, groups: &[&str], ca: &Authority) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params(name, groups).signed_by(&key, ca).unwrap();
    (certificate.der().clone(), key)
}

/// A server on a socket.
struct Served {
    address: SocketAddr,
    trusted: CertificateDer<'static>,
}

impl Served {
    async fn start(
        authorities: &str,
        configure: impl FnOnce(KubeApiServerBuilder) -> KubeApiServerBuilder,
    ) -> Self {
        let builder = configure(KubeApiServer::builder());
        let api = builder.build().await.unwrap();
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let own = own.self_signed(&key).unwrap();
        let tls = Tls::from_pem(own.pem().as_bytes(), key.serialize_pem().as_bytes())
            .unwrap()
            .request_client_certificates(authorities.as_bytes())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = api.server().clone();
        let server = Server::new(listener).tls(tls);
        tokio::spawn(server.serve(service, std::future::pending()));
        Self {
            address,
            trusted: own.der().clone(),
        }
    }

    async fn connect(&self, identity: Option<&Identity>) -> conn::http2::SendRequest<Full<Bytes>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match identity {
            Some((certificate, key)) => {
                let key = PrivatePkcs8KeyDer::from(key.serialize_der());
                let chain = vec![certificate.clone()];
                config.with_client_auth_cert(chain, key.into()).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let tcp = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::from(self.address.ip());
        let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp);
        let io = TokioIo::new(stream.await.unwrap());
        let handshake = conn::http2::handshake(TokioExecutor::new(), io).await;
        let (sender, connection) = handshake.unwrap();
        tokio::spawn(connection);
        sender
    }

    /// Returns the user of a request, or the code of the refusal.
    async fn user(
        &self,
        identity: Option<&Identity>,
        headers: &[(&str, &str)],
    ) -> Result<Value, u16> {
        let mut sender = self.connect(identity).await;
        let (code, body) = review(&mut sender, headers).await;
        match code {
            201 => Ok(body["status"]["userInfo"].clone()),
            code => Err(code),
        }
    }
}

async fn review(
    sender: &mut conn::http2::SendRequest<Full<Bytes>>,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let uri = "https://127.0.0.1/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let mut request = Request::post(uri)
        .version(Version::HTTP_2)
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new("{}".into())).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let code = response.status().as_u16();
    assert!(!response.headers().contains_key("connection"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_certificate_names_its_user() {
    let (ca, other) = (authority("users"), authority("others"));
    let pem = ca.pem();
    let server = Served::start(&pem, |builder| {
        let builder = builder.client_ca(ca.pem());
        builder.anonymous(AnonymousAccess::Enabled)
    })
    .await;
    let alice = identity("alice", &["dev"], &ca);
    let user = server.user(Some(&alice), &[]).await.unwrap();
    assert_eq!(user["username"], "alice");
    assert_eq!(user["groups"], json!(["dev", "system:authenticated"]));
    let id = &user["extra"]["authentication.kubernetes.io/credential-id"][0];
    assert!(id.as_str().unwrap().starts_with("X509SHA256="));
    // A certificate that is not trusted is not the same as none.
    let nobody = server.user(None, &[]).await.unwrap();
    assert_eq!(nobody["username"], "system:anonymous");
    let mallory = identity("system:admin", &["system:masters"], &other);
    // The client does not present a certificate that was not asked for, so it is asked for any.
    let any = Served::start("", |builder| {
        let builder = builder.client_ca(ca.pem());
        builder.anonymous(AnonymousAccess::Enabled)
    })
    .await;
    assert_eq!(any.user(Some(&mallory), &[]).await, Err(401));
    assert_eq!(
        any.user(Some(&alice), &[]).await.unwrap()["username"],
        "alice"
    );
}

#[tokio::test]
async fn a_proxy_speaks_for_others() {
    let (users, proxies) = (authority("users"), authority("proxies"));
    let both = format!("{}{}", users.pem(), proxies.pem());
    let server = Served::start(&both, |builder| {
        let proxy = FrontProxy {
            allowed_names: vec!["front-proxy".to_owned()],
            ..FrontProxy::new(proxies.pem())
        };
        builder.client_ca(users.pem()).front_proxy(proxy)
    })
    .await;
    let headers = [
        ("x-remote-user", "bob"),
        ("x-remote-group", "ops"),
        ("x-remote-extra-scopes", "read"),
    ];
    let proxy = identity("front-proxy", &[], &proxies);
    let bob = server.user(Some(&proxy), &headers).await.unwrap();
    assert_eq!(bob["username"], "bob");
    assert_eq!(bob["groups"], json!(["ops", "system:authenticated"]));
    assert_eq!(bob["extra"], json!({"scopes": ["read"]}));
    // An ordinary user who sends the headers is nobody but himself.
    let mallory = identity("mallory", &["dev"], &users);
    let user = server.user(Some(&mallory), &headers).await.unwrap();
    assert_eq!(user["username"], "mallory");
    let other = identity("another-proxy", &[], &proxies);
    assert_eq!(server.user(Some(&other), &headers).await, Err(401));
    assert_eq!(server.user(None, &headers).await, Err(401));
    // Without headers a proxy is no user.
    assert_eq!(server.user(Some(&proxy), &[]).await, Err(401));
}

#[tokio::test]
async fn authorities_of_proxies_and_users_must_differ() {
    let ca = authority("ca");
    let builder = |names: &[&str]| {
        let allowed_names = names.iter().map(|name| (*name).to_owned()).collect();
        let proxy = FrontProxy {
            allowed_names,
            ..FrontProxy::new(ca.pem())
        };
        KubeApiServer::builder()
            .client_ca(ca.pem())
            .front_proxy(proxy)
    };
    let refused = builder(&[]).build().await.err().unwrap();
    assert!(
        refused.message.contains("overlapping certificates"),
        "{}",
        refused.message
    );
    assert!(builder(&["front-proxy"]).build().await.is_ok());
    let garbage = KubeApiServer::builder().client_ca("garbage").build().await;
    assert!(
        garbage
            .err()
            .unwrap()
            .message
            .starts_with("client-ca-file:")
    );
}

#[tokio::test]
async fn unauthenticated_http2_connections_end_after_one_request() {
    let ca = authority("users");
    let server = Served::start(&ca.pem(), |builder| {
        let builder = builder.client_ca(ca.pem());
        builder.anonymous(AnonymousAccess::Enabled)
    })
    .await;
    for headers in [&[][..], &[("authorization", "Bearer bad")]] {
        let mut sender = server.connect(None).await;
        review(&mut sender, headers).await;
        // The end is announced by the server; nothing but the connection itself can be waited for.
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    }
    let alice = identity("alice", &[], &ca);
    let mut sender = server.connect(Some(&alice)).await;
    for _ in 0..3 {
        assert_eq!(review(&mut sender, &[]).await.0, 201);
    }
}
