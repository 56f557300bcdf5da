//! The webhooks of a scenario: an HTTPS endpoint on the loopback interface that the server under test calls.
//!
//! A scenario file names its webhooks and their answers under `hooks`. The endpoint of a scenario answers each by the first
//! segment of its path, and keeps the calls in order until the runner takes them. It speaks HTTP/1.1 only, so that every server is asked in the same way.

mod script;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use anyhow::{Result, anyhow};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rcgen::{CertificateParams, CertifiedKey, DnType, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

pub use script::Script;

/// The maximum size of a review, in bytes.
const MAX_REVIEW: usize = 16 << 20;

/// The headers of a call that are compared.
const HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

/// The webhooks of a scenario file by name.
pub type Scripts = BTreeMap<String, Script>;

/// An endpoint that serves webhooks until it is dropped.
pub struct Hooks {
    port: u16,
    shared: Arc<Shared>,
    _connections: JoinSet<()>,
}

/// A call of a webhook.
#[derive(Clone, Debug)]
pub struct Call {
    /// The path without its first slash.
    pub hook: String,
    /// The query of the URL, the headers and the review.
    pub contents: Value,
}

struct Shared {
    scripts: Arc<Scripts>,
    /// The number of calls so far, by path.
    counts: Mutex<BTreeMap<String, usize>>,
    calls: Mutex<Vec<Call>>,
}

impl Hooks {
    /// Serves webhooks on a port of the loopback interface.
    pub async fn serve(scripts: Arc<Scripts>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let acceptor = TlsAcceptor::from(Arc::new(tls(&authorities()?.trusted)?));
        let shared = Arc::new(Shared {
            scripts,
            counts: Mutex::default(),
            calls: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        let served = shared.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), served.clone());
                connections.spawn(async move {
                    // A client may reject the certificate.
                    let Ok(stream) = acceptor.accept(socket).await else {
                        return;
                    };
                    let service = service_fn(|request| answer(shared.clone(), request));
                    // The connection ends with an error where a script says so.
                    _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            port,
            shared,
            _connections: tasks,
        })
    }

    /// Returns the texts that scenarios name in angle brackets: `hooks` is the beginning of the URL of each webhook, `ca` the
    /// bundle that vouches for it, `other-ca` one that does not, and `misnamed-hooks` a URL with a name that is not in the
    /// certificate.
    pub fn names(&self) -> Result<Vec<(&'static str, String)>> {
        let authorities = authorities()?;
        let bundle = |certified: &CertifiedKey<KeyPair>| STANDARD.encode(certified.cert.pem());
        Ok(vec![
            ("hooks", format!("https://127.0.0.1:{}", self.port)),
            ("misnamed-hooks", format!("https://localhost:{}", self.port)),
            ("ca", bundle(&authorities.trusted)),
            ("other-ca", bundle(&authorities.other)),
        ])
    }

    /// Takes the calls since the last time, in the order in which they came.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.shared.calls.lock())
    }
}

/// The certificates of all endpoints of this process. Making one takes time.
struct Authorities {
    trusted: CertifiedKey<KeyPair>,
    other: CertifiedKey<KeyPair>,
}

fn authorities() -> Result<&'static Authorities> {
    static MADE: OnceLock<Authorities> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let made = |authority: &str| -> Result<CertifiedKey<KeyPair>> {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()])?;
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, authority);
        let signing_key = KeyPair::generate()?;
        let cert = params.self_signed(&signing_key)?;
        Ok(CertifiedKey { cert, signing_key })
    };
    let (trusted, other) = (made("webhooks")?, made("others")?);
    Ok(MADE.get_or_init(|| Authorities { trusted, other }))
}

fn tls(certified: &CertifiedKey<KeyPair>) -> Result<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der());
    let key = key.map_err(|e| anyhow!("{e}"))?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth();
    Ok(builder.with_single_cert(vec![certified.cert.der().clone()], key)?)
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_REVIEW).collect().await;
    let body = body.map_err(|e| anyhow!("{e}"))?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let hook = head.uri.path().trim_start_matches('/').to_owned();
    let headers = HEADERS.into_iter().filter_map(|name| {
        let value = head.headers.get(name)?.to_str().ok()?;
        Some((name.to_owned(), Value::from(value)))
    });
    // How often a server converts is up to the server.
    let call = (review["kind"] != "ConversionReview").then(|| Call {
        hook: hook.clone(),
        contents: json!({
            "method": head.method.as_str(),
            "query": head.uri.query().unwrap_or_default(),
            "headers": Value::Object(headers.collect()),
            "review": review.clone(),
        }),
    });
    shared.calls.lock().extend(call);
    let before = {
        let mut counts = shared.counts.lock();
        let count = counts.entry(hook.clone()).or_default();
        *count += 1;
        *count - 1
    };
    let name = hook.split('/').next().unwrap_or_default();
    match shared.scripts.get(name) {
        Some(script) => script.answer(&review, before).await,
        None => Ok(Response::builder().status(404).body(Full::default())?),
    }
}
