//! The server under test.
//!
//! Between writes the clock moves on by a second, so that anything ordered by time has one order: the clock of a server
//! in this process is set, a real one is waited for.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use async_trait::async_trait;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_apiserver::{
    Clock,
    auth::{Authenticated, AuthenticationError, Authenticator, Credentials},
    request::UserInfo,
};
use kubewright_cluster::Cluster;
use parking_lot::Mutex;

/// The user of the recorded requests.
const USER: (&str, &str, &str) = ("admin", "admin-uid", "system:masters");

/// A server.
#[derive(Clone)]
pub struct Server {
    client: Client,
    /// Keeps a server in this process running.
    #[expect(dead_code, reason = "held for its maintenance task")]
    cluster: Option<Arc<Cluster>>,
    clock: Option<Arc<StillClock>>,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The content type, as sent.
    pub content_type: String,
    /// The warnings, as sent.
    pub warnings: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Server {
    /// Starts an empty server in this process.
    pub async fn in_process() -> Result<Self> {
        let clock = Arc::new(StillClock(Mutex::new(Timestamp::now())));
        let cluster = Cluster::builder()
            .clock(clock.clone())
            .authenticator(Arc::new(OneUser))
            .start()
            .await?;
        Ok(Self {
            client: cluster.client(),
            cluster: Some(Arc::new(cluster)),
            clock: Some(clock),
        })
    }

    /// Connects to the server of a kubeconfig's context, by default the current one.
    pub async fn of_kubeconfig(path: &Path, context: Option<String>) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(path)?;
        let options = KubeConfigOptions {
            context,
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        Ok(Self {
            client: Client::try_from(config)?,
            cluster: None,
            clock: None,
        })
    }

    /// Returns whether objects outlive the runner.
    pub fn is_shared(&self) -> bool {
        self.clock.is_none()
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

    /// Sends a request.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
    ) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .body(Body::from(body))
            .with_context(|| format!("{method} {path} is not a valid request"))?;
        let response = self.client.send(request).await?;
        let (head, body) = response.into_parts();
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
            body: body.collect_bytes().await?.to_vec(),
        })
    }
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

/// Authenticates everybody as the user of the recorded requests.
struct OneUser;

#[async_trait]
impl Authenticator for OneUser {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        // There are no tokens here; a request that carries one is part of a TokenReview scenario.
        let headers = &credentials.parts.headers;
        if headers.contains_key(http::header::AUTHORIZATION) {
            return Err(AuthenticationError::new("invalid bearer token"));
        }
        let (name, uid, group) = USER;
        let user = UserInfo {
            name: name.to_owned(),
            uid: uid.to_owned(),
            groups: vec![group.to_owned()],
            ..UserInfo::default()
        };
        Ok(Some(user.into()))
    }
}
