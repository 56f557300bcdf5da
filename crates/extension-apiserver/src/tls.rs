//! Serves an [`ExtensionServer`] with TLS.

use std::future::Future;

use kubewright_serve::{Limits, Server, TlsError};
use kubewright_webhook::{CertificateError, Certificates, Presented};
use tokio::net::TcpListener;

use crate::{delegation::Delegation, server::ExtensionServer};

/// The maximum number of idle connections without an authenticated request, a tenth of all connections.
const MAX_UNAUTHENTICATED: usize = 1_000;

/// An error that prevents serving with TLS.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No usable certificate is available.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The authorities of clients are unusable.
    #[error(transparent)]
    Authorities(#[from] TlsError),
}

impl ExtensionServer {
    /// Serves HTTPS until `shutdown` completes and the requests in flight have finished, as [`serve`](Self::serve) does. Requests client certificates from the
    /// authorities of the cluster. Keeps the certificate and the authorities up to date.
    ///
    /// ```no_run
    /// # async fn run(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_extension_apiserver::{Delegation, ExtensionServer, Registration};
    /// use kubewright_webhook::{Certificates, ManagedCertificates};
    /// use tokio::net::TcpListener;
    ///
    /// let delegation = Delegation::new(client.clone()).await?;
    /// let server = ExtensionServer::builder().delegate(&delegation).build()?;
    /// Registration::new("sky-system", "sky").apply(&client, server.api()).await?;
    /// let certificates = ManagedCertificates::new(client, "sky-system", "sky")
    ///     .api_service("v1.sky.example.com");
    /// let listener = TcpListener::bind("0.0.0.0:443").await?;
    /// let shutdown = std::future::pending();
    /// server.serve_tls(listener, &Certificates::managed(certificates), &delegation, shutdown).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if no usable certificate is available.
    pub async fn serve_tls(
        &self,
        listener: TcpListener,
        certificates: &Certificates,
        delegation: &Delegation,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let presented = certificates.obtain().await?;
        self.serve_presented(listener, certificates, &presented, delegation, shutdown)
            .await
    }

    /// Serves with a certificate that was [obtained](Certificates::obtain) before, which makes the program ready.
    ///
    /// # Errors
    ///
    /// Fails if the authorities of clients are unusable.
    pub async fn serve_presented(
        &self,
        listener: TcpListener,
        certificates: &Certificates,
        presented: &Presented,
        delegation: &Delegation,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let tls = presented.tls();
        let tls = tls.request_client_certificates(&delegation.authorities())?;
        let limits = Limits {
            max_unauthenticated: Some(MAX_UNAUTHENTICATED),
            ..Limits::default()
        };
        let server = Server::new(listener)
            .tls(tls)
            .limits(limits)
            .peer_addresses();
        tokio::select! {
            () = server.serve(self.api().clone(), self.stopping(shutdown)) => {}
            () = self.maintain() => {}
            () = certificates.keep(presented) => {}
            () = delegation.keep() => {}
        }
        Ok(())
    }
}
