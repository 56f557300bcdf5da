//! The server under test.
//!
//! Between writes the clock moves on by a second, so that anything ordered by time has one order: the clock of a server
//! in this process is set, a real one is waited for.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, Request};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    client::Body,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};
use kubewright_apiserver::Clock;
use kubewright_builtin_controllers::Controllers;
use kubewright_cluster::{CertificateAuthority, Cluster, Tokens};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, PluginName, ServiceAccountKeys,
};
use kubewright_serve::PeerCertificates;
use parking_lot::Mutex;

use crate::{
    identities::{Identities, unarmored},
    setup::Setup,
    step::Caller,
};

/// The address that documents of a server in this process name. It listens nowhere.
const ADDRESS: &str = "127.0.0.1:6443";

/// The time that a whole answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server.
#[derive(Clone)]
pub struct Server {
    /// The client of the administrator.
    admin: Client,
    others: Others,
    identities: Option<Arc<Identities>>,
    /// The server, if it runs in this process.
    cluster: Option<Arc<Cluster>>,
    clock: Option<Arc<StillClock>>,
}

/// The way to clients of other users.
#[derive(Clone)]
enum Others {
    /// They are identified by the headers of a request.
    Headers(Client),
    /// They connect by themselves. The clients so far, by the name of their certificate; none is called ``.
    Connections(Box<Config>, Arc<Mutex<BTreeMap<String, Client>>>),
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The content type, as sent.
    pub content_type: String,
    /// The warnings, as sent.
    pub warnings: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Server {
    /// Starts an empty server in this process.
    pub async fn in_process(setup: Setup) -> Result<Self> {
        let clock = Arc::new(StillClock(Mutex::new(Timestamp::now())));
        let identities = known_identities()?;
        let authority = |name: &str| -> Result<CertificateAuthority> {
            let file = |kind: &str| identities.file(&format!("{name}.{kind}"));
            let (certificate, key) = (file("crt")?, file("key")?);
            Ok(CertificateAuthority::from_pem(certificate, key)?)
        };
        let mode = match setup {
            Setup::Deny => AuthorizationMode::AlwaysDeny,
            _ => AuthorizationMode::Rbac,
        };
        let plugin: PluginName = "ServiceAccount".parse()?;
        let controllers = match setup {
            Setup::Controllers => Controllers::default(),
            _ => Controllers::none(),
        };
        let cluster = Cluster::builder()
            .clock(clock.clone())
            .controllers(controllers)
            .tokens(Tokens::parse(identities.file("tokens.csv")?)?)
            .certificate_authority(authority("ca")?)
            .front_proxy_authority(authority("front-ca")?)
            .service_account_keys(ServiceAccountKeys::from_pem(
                identities.file("sa.key")?.as_bytes(),
            )?)
            .api_server(|server| {
                let server = match setup {
                    Setup::ServiceAccounts => server.enable_admission_plugins([plugin]),
                    _ => server.disable_admission_plugins([plugin]),
                };
                server
                    .address(ADDRESS)
                    .authorization([mode])
                    .bootstrap_tokens(true)
                    .anonymous(AnonymousAccess::Enabled)
            })
            .start()
            .await?;
        let server = cluster.api_server().server().clone();
        Ok(Self {
            admin: cluster.client(),
            others: Others::Headers(Client::new(server, "default")),
            identities: Some(identities),
            cluster: Some(Arc::new(cluster)),
            clock: Some(clock),
        })
    }

    /// Connects to the server of a kubeconfig's context, by default the current one. Client certificates and tokens that
    /// the runner signs need the identities that the server was started with.
    pub async fn of_kubeconfig(
        path: &Path,
        context: Option<String>,
        identities: Option<Identities>,
    ) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(path)?;
        let options = KubeConfigOptions {
            context,
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        // A refusal is an answer like any other.
        config.default_retry = false;
        let mut plain = config.clone();
        plain.auth_info = AuthInfo::default();
        Ok(Self {
            admin: Client::try_from(config)?,
            others: Others::Connections(Box::new(plain), Arc::default()),
            identities: identities.map(Arc::new),
            cluster: None,
            clock: None,
        })
    }

    /// Returns whether objects outlive the runner.
    pub fn is_shared(&self) -> bool {
        self.clock.is_none()
    }

    /// Returns the identities that the server knows.
    pub fn identities(&self) -> Result<&Identities> {
        let identities = self.identities.as_deref();
        identities.context("the identities of the server are needed: see --identities")
    }

    /// Returns the release of the server, such as `v1.36.3`.
    pub async fn release(&self) -> Result<String> {
        let version = self
            .ask("GET", "/version", &Default::default(), Vec::new())
            .await?;
        let version: serde_json::Value = serde_json::from_slice(&version.body)?;
        let version = version["gitVersion"].as_str().context("no version")?;
        Ok(version.to_owned())
    }

    /// Returns the server's time.
    pub fn now(&self) -> Timestamp {
        match &self.clock {
            Some(clock) => clock.now(),
            None => Timestamp::now(),
        }
    }

    /// Advances the clock by a second; a real server is waited for until the next second begins.
    pub async fn tick(&self) {
        match &self.clock {
            Some(clock) => clock.advance(SignedDuration::from_secs(1)),
            None => {
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let rest = 1_000_000_000 - u64::from(now.subsec_nanos());
                tokio::time::sleep(Duration::from_nanos(rest) + Duration::from_millis(5)).await;
            }
        }
    }

    /// Lets seconds pass, in which controllers finish their work.
    pub async fn wait(&self, seconds: u32) -> Result<()> {
        match (&self.clock, &self.cluster) {
            _ if seconds == 0 => {}
            (Some(clock), Some(cluster)) => {
                clock.advance(SignedDuration::from_secs(seconds.into()));
                cluster.settled(PATIENCE).await?;
            }
            _ => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
        }
        Ok(())
    }

    /// Sends a request of the administrator.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
    ) -> Result<Answer> {
        self.ask_as(&Caller::Admin, method, path, headers, body)
            .await
    }

    /// Sends a request.
    pub async fn ask_as(
        &self,
        caller: &Caller,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
    ) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, values) in headers {
            for value in values.split('\n') {
                request = request.header(name, value);
            }
        }
        if let Caller::Token(token) = caller {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut request = request
            .body(Body::from(body))
            .with_context(|| format!("{method} {path} is not a valid request"))?;
        if let (Caller::Certificate(name), Others::Headers(_)) = (caller, &self.others) {
            // There is no connection that could have it.
            let certificate = self.identities()?.file(&format!("{name}.crt"))?;
            let chain = PeerCertificates::new([unarmored(certificate)?]);
            request.extensions_mut().insert(chain);
        }
        let client = self.client(caller)?;
        let exchange = async {
            let (head, body) = client.send(request).await?.into_parts();
            anyhow::Ok((head, body.collect_bytes().await?))
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        let (head, body) = answer.with_context(|| format!("{method} {path} has no end"))??;
        let texts = |name: &str| -> Vec<String> {
            let values = head.headers.get_all(name).iter();
            values
                .map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
                .collect()
        };
        Ok(Answer {
            code: head.status.as_u16(),
            content_type: texts("content-type").join(", "),
            warnings: texts("warning"),
            headers: head.headers,
            body: body.to_vec(),
        })
    }

    fn client(&self, caller: &Caller) -> Result<Client> {
        let certificate = match caller {
            Caller::Admin => return Ok(self.admin.clone()),
            Caller::Anonymous | Caller::Token(_) => "",
            Caller::Certificate(name) => name,
        };
        let (plain, clients) = match &self.others {
            Others::Headers(client) => return Ok(client.clone()),
            Others::Connections(plain, clients) => (plain, clients),
        };
        let mut clients = clients.lock();
        if let Some(client) = clients.get(certificate) {
            return Ok(client.clone());
        }
        let mut config = (**plain).clone();
        if !certificate.is_empty() {
            let file = |kind: &str| -> Result<String> {
                let text = self.identities()?.file(&format!("{certificate}.{kind}"))?;
                Ok(STANDARD.encode(text))
            };
            config.auth_info.client_certificate_data = Some(file("crt")?);
            config.auth_info.client_key_data = Some(file("key")?.into());
        }
        let client = Client::try_from(config)?;
        clients.insert(certificate.to_owned(), client.clone());
        Ok(client)
    }
}

/// Returns the identities that all servers in this process know.
fn known_identities() -> Result<Arc<Identities>> {
    static KNOWN: OnceLock<Arc<Identities>> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let made = Arc::new(Identities::generate()?);
    Ok(KNOWN.get_or_init(|| made).clone())
}

/// A clock that stands still until it is moved.
struct StillClock(Mutex<Timestamp>);

impl StillClock {
    fn advance(&self, by: SignedDuration) {
        let mut now = self.0.lock();
        *now = now.saturating_add(by).unwrap_or(*now);
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}
