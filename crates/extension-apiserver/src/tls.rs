//! Serves an [`ExtensionServer`] with TLS.

use std::future::Future;

use kubewright_serve::{Server, TlsError};
use kubewright_webhook::{CertificateError, Certificates};
use tokio::net::TcpListener;

use crate::{delegation::Delegation, server::ExtensionServer};

/// A server cannot be served with TLS.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no usable certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The authorities of clients cannot be used.
    #[error(transparent)]
    Authorities(#[from] TlsError),
}

impl ExtensionServer {
    /// Serves HTTPS until `shutdown` completes, and finishes the requests in flight. Clients are asked for certificates of the
    /// authorities of the cluster; certificate and authorities are kept up to date.
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
    /// Fails if there is no usable certificate.
    pub async fn serve_tls(
        &self,
        listener: TcpListener,
        certificates: &Certificates,
        delegation: &Delegation,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let presented = certificates.obtain().await?;
        let tls = presented.tls();
        let tls = tls.request_client_certificates(&delegation.authorities())?;
        let server = Server::new(listener).tls(tls).peer_addresses();
        tokio::select! {
            () = server.serve(self.api().clone(), shutdown) => {}
            () = certificates.keep(&presented) => {}
            () = delegation.keep() => {}
        }
        Ok(())
    }
}
