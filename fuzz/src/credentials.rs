//! Credentials: tokens, signed and not, and certificates.
//!
//! The first part of an input is a token as it is; the parts of a token, encoded and signed with the key of the server; the
//! certificate of a client; and bytes that replace a part of a valid certificate. None of them is anybody's.

use std::cell::RefCell;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue, Request, request::Parts};
use kubewright_apiserver::auth::{Authenticated, AuthenticationError, Credentials};
use kubewright_kube_apiserver::{FrontProxy, KubeApiServer};
use kubewright_serve::PeerCertificates;
use kubewright_x509::SigningKey;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tokio::runtime::Runtime;

/// A server that trusts an authority, and a certificate of that authority.
struct Running {
    runtime: Runtime,
    server: KubeApiServer,
    key: SigningKey,
    certificate: Vec<u8>,
}

thread_local! {
    static SERVER: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Presents the input in every place where a request carries credentials, and checks that nobody is recognised.
pub(crate) fn credentials(data: &[u8]) {
    SERVER.with_borrow_mut(|slot| {
        let running = slot.get_or_insert_with(Running::start);
        running.token(data);
        running.certificate(data);
    });
}

impl Running {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let authority = |name: &str| {
            let mut ca = named(name);
            ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().expect("a key");
            CertifiedIssuer::self_signed(ca, key).expect("an authority")
        };
        let (users, proxies) = (authority("users"), authority("proxies"));
        let leaf = named("alice").signed_by(&KeyPair::generate().expect("a key"), &users);
        let builder = KubeApiServer::builder()
            .client_ca(users.pem())
            .front_proxy(FrontProxy::new(proxies.pem()));
        let server = runtime.block_on(builder.build()).expect("a server");
        let key = server.service_account_keys().signing_key_pem();
        let key = key.expect("the key was generated");
        Self {
            runtime,
            server,
            key: SigningKey::from_pem(key.as_bytes()).expect("a key"),
            certificate: leaf.expect("a certificate").der().to_vec(),
        }
    }

    fn known(&self, parts: &Parts) -> Result<Option<Authenticated>, AuthenticationError> {
        let server = self.server.server();
        let credentials = Credentials::new(parts, server.audiences());
        let known = credentials.authenticate(&**server.authenticator());
        self.runtime.block_on(known)
    }

    fn token(&self, data: &[u8]) {
        let encode = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
        let sign = |header: &[u8], claims: &[u8]| {
            let signed = format!("{}.{}", encode(header), encode(claims));
            let signature = self.key.sign_fixed(signed.as_bytes()).expect("a signature");
            format!("{signed}.{}", encode(&signature))
        };
        let protocol = format!("x, base64url.bearer.authorization.k8s.io.{}", encode(data));
        let values = [
            [b"Bearer ", data].concat(),
            // With a key of the server the claims are read; none of them names an account that exists.
            format!("Bearer {}", sign(br#"{"alg":"ES256"}"#, data)).into(),
            format!(
                "Bearer {}",
                sign(data, br#"{"iss":"https://kubernetes.default.svc"}"#)
            )
            .into(),
        ];
        for value in values {
            let mut parts = empty();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                parts.headers.insert("authorization", value);
            }
            self.expect_nobody(&parts);
        }
        let mut parts = empty();
        for (name, value) in [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-protocol", &protocol),
        ] {
            let value = HeaderValue::from_str(value).expect("a header");
            parts.headers.insert(HeaderName::from_static(name), value);
        }
        self.expect_nobody(&parts);
    }

    fn certificate(&self, data: &[u8]) {
        let mut parts = empty();
        parts
            .extensions
            .insert(PeerCertificates::new([data.to_vec()]));
        self.expect_nobody(&parts);
        let [low, high, bytes @ ..] = data else {
            return;
        };
        let mut altered = self.certificate.clone();
        let at = usize::from(u16::from_le_bytes([*low, *high])) % altered.len();
        for (target, byte) in altered.iter_mut().skip(at).zip(bytes) {
            *target = *byte;
        }
        if altered == self.certificate {
            return;
        }
        let chain = [altered.clone(), self.certificate.clone(), data.to_vec()];
        for chain in [&chain[..1], &chain] {
            let mut parts = empty();
            parts
                .extensions
                .insert(PeerCertificates::new(chain.to_vec()));
            self.expect_nobody(&parts);
        }
    }

    fn expect_nobody(&self, parts: &Parts) {
        let known = self.known(parts);
        let known = known.ok().flatten().map(|known| known.user.name.clone());
        assert_eq!(known, None, "somebody was recognised");
    }
}

fn empty() -> Parts {
    let mut parts = Request::new(()).into_parts().0;
    let forged = HeaderValue::from_static("admin");
    parts.headers.insert("x-remote-user", forged);
    parts
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
