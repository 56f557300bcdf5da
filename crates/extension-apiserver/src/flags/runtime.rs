//! The flags of a server behind a cluster, put into effect.

use std::{fs, io};

use kube::Client;
use kubewright_webhook::{Certificates, ManagedCertificates};

use super::ServerFlags;
use crate::delegation::{Delegation, DelegationError};

impl ServerFlags {
    /// Delegates authentication and authorization as the flags say.
    ///
    /// ```no_run
    /// # async fn run(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_extension_apiserver::{ExtensionServer, ServerFlags};
    ///
    /// let flags = ServerFlags::parse(std::env::args().skip(1))?;
    /// let delegation = flags.delegation(client).await?;
    /// let server = flags.configure(ExtensionServer::builder())?;
    /// let server = server.delegate(&delegation).build()?;
    /// # let _ = server;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the authorities cannot be read, or are invalid.
    pub async fn delegation(&self, client: Client) -> Result<Delegation, DelegationError> {
        let delegation = Delegation::with_options(client, self.delegation.clone()).await?;
        Ok(delegation.always_allow(self.always_allow_paths.iter().cloned()))
    }

    /// Returns the certificate of `--tls-cert-file`, or those that are issued.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn certificates(&self, managed: ManagedCertificates) -> io::Result<Certificates> {
        match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(certificate), Some(key)) => {
                Ok(Certificates::pem(fs::read(certificate)?, fs::read(key)?))
            }
            _ => Ok(Certificates::managed(managed)),
        }
    }
}
