//! The authenticators of a cluster, in the order of kube-apiserver.

mod bootstrap_tokens;
mod options;

use std::sync::Arc;

use kubewright_apiserver::{
    SharedClock,
    auth::{
        Anonymous, AnonymousPaths, Authenticator, BearerTokens, ClientCertificates, HeaderNames,
        RequestHeaders, TokenAuthenticator, TokenFile, TrustedAuthorities, Union,
    },
};

use crate::{bootstrap::Trust, service_accounts::ServiceAccounts};
use bootstrap_tokens::BootstrapTokens;

/// An authenticating proxy in front of the API server, which names users in headers.
///
/// ```
/// use kubewright_kube_apiserver::{FrontProxy, KubeApiServer};
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let mut params = rcgen::CertificateParams::default();
/// # params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
/// # let ca_pem = params.self_signed(&key).unwrap().pem();
///
/// let proxy = FrontProxy {
///     allowed_names: vec!["front-proxy-client".to_owned()],
///     ..FrontProxy::new(ca_pem)
/// };
/// let builder = KubeApiServer::builder().front_proxy(proxy);
/// # let _ = builder;
/// ```
#[derive(Clone, Debug)]
pub struct FrontProxy {
    /// The authorities that sign the certificates of proxies, as PEM.
    pub ca_pem: Vec<u8>,
    /// The common names that proxies may have. Empty: any.
    pub allowed_names: Vec<String>,
    /// The headers in which proxies name users.
    pub headers: HeaderNames,
}

/// Whether requests without credentials are accepted.
///
/// ```
/// use kubewright_kube_apiserver::{AnonymousAccess, KubeApiServer};
///
/// let probes = ["/livez", "/readyz"].map(str::to_owned);
/// let builder = KubeApiServer::builder().anonymous(AnonymousAccess::Paths(probes.into()));
/// # let _ = builder;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnonymousAccess {
    /// They are rejected with 401.
    Disabled,
    /// They come from `system:anonymous`.
    Enabled,
    /// Those for these paths come from `system:anonymous`; others are rejected.
    Paths(Vec<String>),
}

/// The settings of authentication.
#[derive(Default)]
pub(crate) struct Settings {
    /// The authorities of users, as PEM.
    pub(crate) client_ca: Vec<u8>,
    pub(crate) front_proxies: Vec<FrontProxy>,
    /// Set if the authorities are not published for extension servers.
    pub(crate) unpublished: bool,
    pub(crate) others: Vec<Arc<dyn Authenticator>>,
    pub(crate) token_file: Option<TokenFile>,
    pub(crate) bootstrap_tokens: bool,
    pub(crate) tokens: Vec<Arc<dyn TokenAuthenticator>>,
    pub(crate) anonymous: Option<AnonymousAccess>,
}

impl FrontProxy {
    /// Trusts proxies with any certificate of these authorities.
    pub fn new(ca_pem: impl Into<Vec<u8>>) -> Self {
        Self {
            ca_pem: ca_pem.into(),
            allowed_names: Vec::new(),
            headers: HeaderNames::default(),
        }
    }
}

impl Settings {
    /// Returns whether requests can have credentials other than tokens of service accounts.
    fn is_configured(&self) -> bool {
        !self.client_ca.is_empty()
            || !self.front_proxies.is_empty()
            || !self.others.is_empty()
            || self.token_file.is_some()
            || !self.tokens.is_empty()
    }

    /// Returns the certificates of all authorities, as PEM, by which clients choose theirs.
    pub(crate) fn authorities(&self) -> Vec<u8> {
        let proxies = self.front_proxies.iter().map(|proxy| &proxy.ca_pem);
        let mut all = Vec::new();
        for pem in std::iter::once(&self.client_ca).chain(proxies) {
            all.extend_from_slice(pem);
            all.push(b'\n');
        }
        all
    }

    /// Returns the authorities that are published for extension servers.
    pub(crate) fn trust(&self) -> Trust {
        match self.unpublished {
            true => Trust::default(),
            false => Trust::new(&self.client_ca, &self.front_proxies),
        }
    }

    /// Builds the authenticator: proxies, certificates, bearer tokens, others, and anonymous users last.
    ///
    /// # Errors
    ///
    /// Fails if certificates cannot be read, or if every user could claim to be a proxy.
    pub(crate) fn build(
        self,
        service_accounts: &ServiceAccounts,
        clock: &SharedClock,
    ) -> Result<Arc<dyn Authenticator>, String> {
        let anonymous = match (&self.anonymous, self.is_configured()) {
            (Some(anonymous), _) => anonymous.clone(),
            (None, true) => AnonymousAccess::Disabled,
            (None, false) => AnonymousAccess::Enabled,
        };
        let authorities = |what: &str, pem: &[u8]| {
            TrustedAuthorities::from_pem(pem, clock.clone()).map_err(|e| format!("{what}: {e}"))
        };
        let clients = match self.client_ca.is_empty() {
            true => None,
            false => Some(authorities("client-ca-file", &self.client_ca)?),
        };
        let mut members = Vec::<Arc<dyn Authenticator>>::new();
        for proxy in self.front_proxies {
            let proxies = authorities("requestheader-client-ca-file", &proxy.ca_pem)?;
            let overlap = clients.as_ref().is_some_and(|own| own.overlaps(&proxies));
            if overlap && proxy.allowed_names.is_empty() {
                return Err("--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users".to_owned());
            }
            let headers = RequestHeaders::new(proxies)
                .allow_names(proxy.allowed_names)
                .headers(proxy.headers);
            members.push(Arc::new(headers));
        }
        if let Some(authorities) = clients {
            members.push(Arc::new(ClientCertificates::new(authorities)));
        }
        let mut tokens = Vec::<Arc<dyn TokenAuthenticator>>::new();
        if let Some(file) = self.token_file {
            tokens.push(Arc::new(file));
        }
        tokens.push(service_accounts.tokens.clone());
        if self.bootstrap_tokens {
            let objects = service_accounts.objects.clone();
            tokens.push(Arc::new(BootstrapTokens::new(objects, clock.clone())));
        }
        tokens.extend(self.tokens);
        members.push(Arc::new(BearerTokens::new(tokens)));
        members.extend(self.others);
        let known = Arc::new(Union::new(members));
        Ok(match anonymous {
            AnonymousAccess::Disabled => known,
            AnonymousAccess::Enabled => {
                Arc::new(Union::fail_on_error(vec![known, Arc::new(Anonymous)]))
            }
            AnonymousAccess::Paths(paths) => {
                let anonymous = Arc::new(AnonymousPaths::new(paths));
                Arc::new(Union::fail_on_error(vec![known, anonymous]))
            }
        })
    }
}
