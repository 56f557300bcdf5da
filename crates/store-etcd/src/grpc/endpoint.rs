//! [`Endpoint`]: the address of a member, and its TLS settings.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use http::uri::{Authority, Scheme};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio_rustls::TlsConnector;

/// The TLS files of an etcd client, as in kube-apiserver's flags.
///
/// ```
/// use kubewright_store_etcd::TlsFiles;
///
/// let files = TlsFiles {
///     ca: Some("/etc/kubernetes/pki/etcd/ca.crt".into()),
///     certificate: Some("/etc/kubernetes/pki/apiserver-etcd-client.crt".into()),
///     key: Some("/etc/kubernetes/pki/apiserver-etcd-client.key".into()),
/// };
/// # let _ = files;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate authority of etcd (PEM).
    pub ca: Option<PathBuf>,
    /// The client's certificate (PEM).
    pub certificate: Option<PathBuf>,
    /// The key of the client's certificate (PEM).
    pub key: Option<PathBuf>,
}

/// A TLS file that is invalid.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {reason}; it must contain {expected} in PEM format", .path.display())]
pub struct TlsFilesError {
    path: PathBuf,
    reason: String,
    expected: &'static str,
}

/// TLS with the configured authority and certificate.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

/// The address of a member.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(super) authority: Authority,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<(Tls, ServerName<'static>)>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn read(files: &TlsFiles) -> Result<Self, TlsFilesError> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &files.ca {
            for certificate in certificates(path)? {
                let added = roots.add(certificate);
                added.map_err(|e| unusable(path, e, "certificates"))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let path = files.certificate.clone().unwrap_or_default();
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable(&path, e, "certificates"))?
            .with_root_certificates(roots);
        let mut config = match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => {
                let private = PrivateKeyDer::from_pem_file(key);
                let private = private.map_err(|e| unusable(key, e, "a private key"))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, private)
                    .map_err(|e| unusable(key, e, "the key of the certificate"))?
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(super) fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

impl Endpoint {
    /// Parses a URL such as `https://10.0.0.1:2379`.
    pub(crate) fn parse(url: &str, tls: &Tls) -> Option<Self> {
        let uri: http::Uri = url.parse().ok()?;
        let authority = uri.authority()?.clone();
        let has_path = !matches!(uri.path(), "" | "/") || uri.query().is_some();
        if has_path || authority.as_str().contains('@') {
            return None;
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16()?;
        let scheme = uri.scheme()?;
        let tls = if *scheme == Scheme::HTTPS {
            let name = ServerName::try_from(host.clone()).ok()?;
            Some((tls.clone(), name))
        } else if *scheme == Scheme::HTTP {
            None
        } else {
            return None;
        };
        Some(Self {
            authority,
            host,
            port,
            tls,
        })
    }

    pub(crate) fn is_https(&self) -> bool {
        self.tls.is_some()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.tls {
            Some(_) => "https",
            None => "http",
        };
        write!(f, "{scheme}://{}", self.authority)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFilesError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|e| unusable(path, e, "certificates"))?;
    match read.is_empty() {
        true => Err(unusable(
            path,
            "there is no certificate in it",
            "certificates",
        )),
        false => Ok(read),
    }
}

fn unusable(path: &Path, reason: impl fmt::Display, expected: &'static str) -> TlsFilesError {
    TlsFilesError {
        path: path.to_owned(),
        reason: reason.to_string(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_with_a_port() {
        let tls = Tls::read(&TlsFiles::default()).unwrap();
        for good in [
            "http://127.0.0.1:2379",
            "https://etcd-0.example.org:2379/",
            "https://[::1]:2379",
        ] {
            let endpoint = Endpoint::parse(good, &tls).expect(good);
            assert_eq!(endpoint.to_string(), good.trim_end_matches('/'));
        }
        for bad in [
            "127.0.0.1:2379",
            "http://127.0.0.1",
            "ftp://127.0.0.1:2379",
            "http://127.0.0.1:2379/v3",
            "http://user@127.0.0.1:2379",
            "",
        ] {
            assert!(Endpoint::parse(bad, &tls).is_none(), "{bad}");
        }
    }
}
