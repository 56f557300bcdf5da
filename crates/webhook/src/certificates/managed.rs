//! [`ManagedCertificates`]: certificates that an operator issues, stores in a Secret, and replaces before they expire.
//!
//! All replicas share the Secret. The first replica that finds a certificate due replaces it; the resourceVersion resolves
//! conflicts. A replica publishes a new authority before it presents one of its certificates, and authorities stay trusted until
//! they expire, so that replicas can present certificates of two authorities at the same time.
//!
//! The clock of the API server counts, since that is where certificates are verified: it is in the header `Date` of its
//! responses. A replica whose own clock is off by days issues certificates that are valid now, and replaces others.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{Request, header};
use jiff::fmt::rfc2822;
use k8s_openapi::{
    ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Client, api::PostParams, client::Body};
use kubewright_client::ErrorExt;
use kubewright_controller::Clock;
use parking_lot::Mutex;

use super::{
    CertificateError, Presented, ReadMetrics,
    bundles::{Bundles, Written},
    issue::{Issued, certificates},
};

/// The keys of the Secret: those of a TLS Secret of cert-manager, and the key of the authority.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITIES: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";

/// The polling interval of the Secret.
const INTERVAL: Duration = Duration::from_secs(300);

/// The interval of retries after an error.
const RETRY: Duration = Duration::from_secs(10);

/// The delay before missing objects are looked up again. It doubles up to [`RETRY`].
const FIRST_RETRY: Duration = Duration::from_millis(500);

/// The time for API servers to observe a new `caBundle` before a new certificate is presented.
const PROPAGATION: Duration = Duration::from_secs(10);

/// The difference between two clocks that is not worth a remark, in seconds.
const SKEW: u64 = 60;

/// The maximum attempts to write the Secret.
const ATTEMPTS: usize = 10;

/// Certificates that an operator issues for its webhooks, so that the cluster needs no other component.
///
/// A certificate authority and a serving certificate for a Service are stored in a Secret that all replicas share, and are
/// replaced after two thirds of their lifetimes, which are a year and 90 days. The `caBundle` of webhook configurations and
/// CustomResourceDefinitions that refer to the Service is kept up to date.
///
/// ```no_run
/// # async fn run(client: kube::Client, webhooks: kubewright_webhook::Webhooks) -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_webhook::{Certificates, ManagedCertificates, WebhookServer};
/// use tokio::net::TcpListener;
///
/// let managed = ManagedCertificates::new(client, "crew-system", "crew-webhook-service")
///     .validating_configuration("crew-validating-webhook-configuration")
///     .crd("captains.crew.example.com");
/// let listener = TcpListener::bind("0.0.0.0:9443").await?;
/// let server = WebhookServer::new(webhooks, Certificates::managed(managed));
/// server.serve(listener, std::future::pending()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is issued before a server uses it"]
pub struct ManagedCertificates {
    client: Client,
    secret: String,
    interval: Duration,
    clock: Clock,
    /// The lead of the API server over the clock, in seconds.
    ahead: Arc<AtomicI64>,
    bundles: Bundles,
    pub(super) metrics: ReadMetrics,
    /// The authorities of certificates that this replica has presented.
    served: Arc<Mutex<Vec<String>>>,
}

impl ManagedCertificates {
    /// Issues certificates for a Service, and stores them in the Secret `<service>-cert`, or the one that
    /// [`secret`](Self::secret) names.
    pub fn new(client: Client, namespace: &str, service: &str) -> Self {
        Self {
            client,
            secret: format!("{service}-cert"),
            interval: INTERVAL,
            clock: Arc::new(jiff::Timestamp::now),
            ahead: Arc::default(),
            bundles: Bundles::new(namespace, service),
            metrics: ReadMetrics::default(),
            served: Arc::default(),
        }
    }

    /// Sets the name of the Secret, in the namespace of the Service.
    pub fn secret(mut self, name: &str) -> Self {
        name.clone_into(&mut self.secret);
        self
    }

    /// Adds a `MutatingWebhookConfiguration`. Entries that refer to other Services are not changed.
    pub fn mutating_configuration(mut self, name: &str) -> Self {
        self.bundles.add("MutatingWebhookConfiguration", name);
        self
    }

    /// Adds a `ValidatingWebhookConfiguration`. Entries that refer to other Services are not changed.
    pub fn validating_configuration(mut self, name: &str) -> Self {
        self.bundles.add("ValidatingWebhookConfiguration", name);
        self
    }

    /// Adds a CustomResourceDefinition. Its conversion webhook is changed if it refers to this Service.
    pub fn crd(mut self, name: &str) -> Self {
        self.bundles.add("CustomResourceDefinition", name);
        self
    }

    /// Adds an APIService, such as `v1.sky.example.com`. It is changed if it refers to this Service.
    pub fn api_service(mut self, name: &str) -> Self {
        self.bundles.add("APIService", name);
        self
    }

    /// Sets the polling interval of the Secret (default: five minutes).
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the clock (default: the machine's). It counts only for a server that does not say what time it is.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Waits for the first certificate. Errors are logged and retried.
    pub(super) async fn obtain(&self) -> Result<Presented, CertificateError> {
        loop {
            let issued = match self.metrics.count(self.current().await) {
                Ok(issued) => issued,
                Err(error) => {
                    tracing::warn!(%error, "no certificate yet");
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            self.bundles.write(&self.client, &issued.bundle()).await;
            self.remember(&issued);
            let presented = Presented::new(issued.certificate.as_bytes(), issued.key.as_bytes())?;
            presented.set_ahead(self.ahead.load(Relaxed));
            return Ok(presented);
        }
    }

    /// Replaces certificates that are due, and presents those of other replicas. Never returns.
    pub(super) async fn keep(&self, presented: &Presented) {
        let mut soon = FIRST_RETRY;
        loop {
            let pause = match self.refresh(presented).await {
                Ok(Written::All) => {
                    soon = FIRST_RETRY;
                    self.interval
                }
                // The missing objects may be about to be created.
                Ok(_) => {
                    let pause = soon;
                    soon = RETRY.min(soon * 2);
                    pause
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot refresh the certificate");
                    RETRY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Writes the `caBundle`s, then presents the certificate of the Secret.
    async fn refresh(&self, presented: &Presented) -> Result<Written, CertificateError> {
        let issued = self.metrics.count(self.current().await)?;
        presented.set_ahead(self.ahead.load(Relaxed));
        let written = self.bundles.write(&self.client, &issued.bundle()).await;
        let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
        if presented.certificate() != certificate && written != Written::Failed {
            tokio::time::sleep(PROPAGATION).await;
            self.remember(&issued);
            presented.replace(certificate, key)?;
            tracing::info!(secret = self.name(), "certificate replaced");
        }
        Ok(written)
    }

    /// Returns the contents of the Secret, which are replaced if they are missing, unusable or due.
    async fn current(&self) -> Result<Issued, CertificateError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.bundles.namespace);
        let failed = |source: kube::Error| CertificateError::Secret {
            name: self.name(),
            source: Box::new(source),
        };
        let names = self.bundles.dns_names();
        let served = self.served.lock().clone();
        for _ in 0..ATTEMPTS {
            let now = self.now().await;
            let stored = secrets.get_opt(&self.secret).await.map_err(failed)?;
            let issued = stored.as_ref().and_then(read);
            let next = match &issued {
                Some(issued) => issued.renewed(&names, &served, now)?,
                None => Some(Issued::new(&names, &served, now)?),
            };
            let Some(next) = next else {
                if let Some(issued) = issued {
                    return Ok(issued);
                }
                continue;
            };
            let params = PostParams::default();
            let written = match stored {
                Some(mut stored) => {
                    // The type of a Secret cannot be changed.
                    let type_ = stored.type_.take();
                    let replacement = object(&next, stored.metadata, type_);
                    secrets.replace(&self.secret, &params, &replacement).await
                }
                None => {
                    let metadata = ObjectMeta {
                        name: Some(self.secret.clone()),
                        ..ObjectMeta::default()
                    };
                    let type_ = Some("kubernetes.io/tls".to_owned());
                    secrets
                        .create(&params, &object(&next, metadata, type_))
                        .await
                }
            };
            match written {
                Ok(_) => return Ok(next),
                // Another replica has written the Secret, or it was deleted.
                Err(error) if error.is_conflict() || error.is_already_exists() => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(CertificateError::Contended(self.name()))
    }

    /// Returns the time of the API server, in seconds since 1970, or that of the clock if the server does not say it.
    async fn now(&self) -> i64 {
        let own = (self.clock)().as_second();
        let ahead = server_time(&self.client)
            .await
            .map_or(0, |server| server.saturating_sub(own));
        if ahead.unsigned_abs() > SKEW && ahead != self.ahead.load(Relaxed) {
            tracing::warn!(
                seconds = ahead,
                "the clock differs from that of the API server"
            );
        }
        self.ahead.store(ahead, Relaxed);
        own.saturating_add(ahead)
    }

    /// Remembers the authority of a certificate before it is presented, so that it stays trusted even if the Secret is lost.
    fn remember(&self, issued: &Issued) {
        let mut served = self.served.lock();
        served.clone_from(&issued.authorities);
    }

    fn name(&self) -> String {
        format!("{}/{}", self.bundles.namespace, self.secret)
    }
}

impl std::fmt::Debug for ManagedCertificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManagedCertificates")
            .field("secret", &self.name())
            .field("bundles", &self.bundles)
            .finish_non_exhaustive()
    }
}

/// Returns the time at which the API server answered, in seconds since 1970.
async fn server_time(client: &Client) -> Option<i64> {
    // Everybody may read it, and an error has the header too.
    let request = Request::get("/version").body(Body::empty()).ok()?;
    let response = client.send(request).await.ok()?;
    let date = response.headers().get(header::DATE)?.to_str().ok()?;
    Some(rfc2822::parse(date).ok()?.timestamp().as_second())
}

fn object(issued: &Issued, metadata: ObjectMeta, type_: Option<String>) -> Secret {
    let data = [
        (CERTIFICATE, issued.certificate.clone()),
        (KEY, issued.key.clone()),
        (AUTHORITIES, issued.bundle()),
        (AUTHORITY_KEY, issued.authority_key.clone()),
    ];
    let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes())));
    Secret {
        metadata,
        data: Some(BTreeMap::from(data)),
        type_,
        ..Secret::default()
    }
}

/// Decodes a Secret. Returns `None` if its contents are unusable.
fn read(secret: &Secret) -> Option<Issued> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| {
        let bytes = data.get(key)?.0.clone();
        String::from_utf8(bytes).ok()
    };
    let issued = Issued {
        authorities: certificates(text(AUTHORITIES)?.as_bytes()),
        authority_key: text(AUTHORITY_KEY)?,
        certificate: text(CERTIFICATE)?,
        key: text(KEY)?,
    };
    issued.is_usable().then_some(issued)
}
