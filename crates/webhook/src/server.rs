//! [`WebhookServer`]: serves webhooks over TLS.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use kubewright_client::BoxError;
use kubewright_controller::{Group, Manager, ManagerError};
use kubewright_serve::{Limits, Server};
use tokio::net::TcpListener;

use crate::{
    certificates::{CertificateError, Certificates, Presented},
    webhooks::Webhooks,
};

/// The maximum number of concurrent connections. A further one closes the oldest that is idle, or else the oldest.
const MAX_CONNECTIONS: usize = 256;

/// The maximum number of idle connections, so that peers that send nothing do not lock out the cluster.
const MAX_IDLE: usize = MAX_CONNECTIONS / 2;

/// The time limit for each of the TLS handshake and the request head.
const READ_TIMEOUT: Duration = Duration::from_secs(32);

/// The time that requests have to finish when the server stops.
const GRACE_PERIOD: Duration = Duration::from_secs(60);

/// The name of the readiness check.
const CHECK: &str = "webhook";

/// Serves [`Webhooks`] over TLS, with HTTP/1.1 and HTTP/2.
///
/// ```no_run
/// # async fn run(webhooks: kubewright_webhook::Webhooks) -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_webhook::{Certificates, WebhookServer};
/// use tokio::net::TcpListener;
///
/// let certificates = Certificates::directory("/tmp/k8s-webhook-server/serving-certs");
/// let listener = TcpListener::bind("0.0.0.0:9443").await?;
/// let shutdown = std::future::pending();
/// WebhookServer::new(webhooks, certificates).serve(listener, shutdown).await?;
/// # Ok(())
/// # }
/// ```
pub struct WebhookServer {
    webhooks: Webhooks,
    certificates: Certificates,
    client_ca: Option<Vec<u8>>,
    http2: bool,
    /// Set once the server accepts connections.
    pub(crate) presented: Arc<OnceLock<Arc<Presented>>>,
}

impl WebhookServer {
    /// Creates a server.
    pub fn new(webhooks: Webhooks, certificates: Certificates) -> Self {
        Self {
            certificates: certificates.with_metrics(webhooks.certificate_reads()),
            webhooks,
            client_ca: None,
            http2: true,
            presented: Arc::default(),
        }
    }

    /// Requires clients to present a certificate that one of these authorities has signed, in PEM (default: anybody may ask
    /// for a review). The API server presents one if its admission configuration names a kubeconfig with it.
    #[must_use]
    pub fn client_ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.client_ca = Some(pem.into());
        self
    }

    /// Offers HTTP/1.1 only.
    #[must_use]
    pub fn without_http2(mut self) -> Self {
        self.http2 = false;
        self
    }

    /// Serves until `shutdown` completes and all requests in flight have finished.
    ///
    /// # Errors
    ///
    /// Fails if no usable certificate is available, or if the authorities of clients are unusable.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), CertificateError> {
        let presented = Arc::new(self.certificates.obtain().await?);
        // This is the only place that sets it.
        let _ = self.presented.set(presented.clone());
        let limits = Limits {
            max_connections: MAX_CONNECTIONS,
            max_unauthenticated: Some(MAX_IDLE),
            handshake_timeout: READ_TIMEOUT,
            header_timeout: READ_TIMEOUT,
            grace_period: GRACE_PERIOD,
            ..Limits::default()
        };
        let mut tls = presented.tls();
        if let Some(authorities) = &self.client_ca {
            tls = tls.require_client_certificates(authorities)?;
        }
        if !self.http2 {
            tls = tls.without_http2();
        }
        let server = Server::new(listener).tls(tls).limits(limits);
        tokio::select! {
            () = server.serve(self.webhooks, shutdown) => {}
            () = self.certificates.keep(&presented) => {}
        }
        Ok(())
    }

    /// Adds the server to a manager, which starts it before filling its caches, on all replicas. The manager is ready only
    /// while the server has a valid certificate.
    ///
    /// # Errors
    ///
    /// Fails if the manager has stopped.
    pub fn add_to(self, manager: &Manager, listener: TcpListener) -> Result<(), ManagerError> {
        let (presented, clock) = (self.presented.clone(), manager.clock());
        manager.readyz().add(CHECK, move || match presented.get() {
            Some(presented) => presented.check(clock().as_second()).map_err(BoxError::from),
            None => Err("webhook server has not been started yet".into()),
        });
        manager.add(Group::Webhooks, CHECK, |stop| async move {
            let shutdown = stop.clone();
            let shutdown = async move { shutdown.stopping().await };
            Ok(self.serve(listener, shutdown).await?)
        })
    }
}
