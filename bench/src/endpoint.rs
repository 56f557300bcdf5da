//! The address and credentials of a server, read from a kubeconfig.
//!
//! Supported: a server by IP address or name, a certificate authority as data or file (or none with
//! `insecure-skip-tls-verify`), and a bearer token. Not supported: client certificates and exec plugins.

use std::{fs, sync::Arc};

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use serde::Deserialize;

use crate::wire::Protocol;

/// A server that can be called.
pub(crate) struct Endpoint {
    /// The host and port of the socket.
    pub(crate) address: String,
    /// The name that its certificate must have.
    pub(crate) name: ServerName<'static>,
    /// The bearer token.
    pub(crate) token: String,
    /// The TLS configurations for HTTP/1.1 and HTTP/2.
    tls: [Arc<ClientConfig>; 2],
    /// The ids of its processes.
    pub(crate) pids: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: String,
    contexts: Vec<NamedContext>,
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: ContextEntry,
}

#[derive(Deserialize)]
struct ContextEntry {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: Option<String>,
    certificate_authority: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
struct User {
    token: Option<String>,
}

impl Endpoint {
    /// Reads the current context of a kubeconfig.
    pub(crate) fn from_kubeconfig(text: &str) -> anyhow::Result<Self> {
        let config: Kubeconfig = serde_saphyr::from_str(text).context("not a kubeconfig")?;
        let context = config
            .contexts
            .iter()
            .find(|c| c.name == config.current_context);
        let context = &context
            .context("the kubeconfig has no current context")?
            .context;
        let cluster = config.clusters.iter().find(|c| c.name == context.cluster);
        let cluster = &cluster
            .context("the kubeconfig lacks the context's cluster")?
            .cluster;
        let user = config.users.iter().find(|u| u.name == context.user);
        let user = &user
            .context("the kubeconfig lacks the context's user")?
            .user;
        let Some(authority) = cluster.server.strip_prefix("https://") else {
            bail!("the server {} does not speak TLS", cluster.server);
        };
        let authority = authority.trim_end_matches('/');
        let (address, host) = match authority.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => (authority.to_owned(), host),
            _ => (format!("{authority}:443"), authority),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self {
            address,
            name: ServerName::try_from(host).context("invalid server name")?,
            token: user
                .token
                .clone()
                .context("the user of the kubeconfig has no token")?,
            tls: [
                Arc::new(tls(cluster, b"http/1.1")?),
                Arc::new(tls(cluster, b"h2")?),
            ],
            pids: Vec::new(),
        })
    }

    /// Returns the TLS configuration for a protocol.
    pub(crate) fn tls(&self, protocol: Protocol) -> &Arc<ClientConfig> {
        match protocol {
            Protocol::Http1 => &self.tls[0],
            Protocol::Http2 => &self.tls[1],
        }
    }
}

/// One protocol over TLS 1.3 with AES-128-GCM, which clients and servers in Go negotiate.
fn tls(cluster: &Cluster, protocol: &[u8]) -> anyhow::Result<ClientConfig> {
    let mut provider = ring::default_provider();
    provider
        .cipher_suites
        .retain(|suite| suite.suite() == rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let provider = Arc::new(provider);
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let pem = match (
        &cluster.certificate_authority_data,
        &cluster.certificate_authority,
    ) {
        (Some(data), _) => Some(BASE64_STANDARD.decode(data)?),
        (None, Some(path)) => {
            Some(fs::read(path).with_context(|| format!("cannot read the authority {path}"))?)
        }
        (None, None) => None,
    };
    let mut config = match pem {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                roots.add(certificate?)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        None if cluster.insecure_skip_tls_verify => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NotVerified(provider)))
            .with_no_client_auth(),
        None => {
            bail!("the kubeconfig says neither which authority to trust nor to skip verification")
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}

/// Accepts any certificate, for kubeconfigs with `insecure-skip-tls-verify: true`.
#[derive(Debug)]
struct NotVerified(Arc<CryptoProvider>);

impl ServerCertVerifier for NotVerified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
