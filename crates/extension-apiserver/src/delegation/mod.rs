//! [`Delegation`]: authentication and authorization by the API server of the cluster.

mod authorities;
mod authorizer;
mod cache;
mod calls;
mod namespaces;
mod token_reviews;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use http::HeaderMap;
use kube::Client;
use kubewright_apiserver::{
    ApiServerBuilder,
    admission::NamespaceLifecycle,
    auth::{
        Anonymous, Authenticated, AuthenticationError, Authenticator, Authorizer, BearerTokens,
        Credentials, Union,
    },
    boxed_async,
};

use crate::flags::{DelegationOptions, Lookup};
use authorities::Authorities;
pub use authorities::DelegationError;
use authorizer::AccessReviews;
use namespaces::ClusterNamespaces;
use token_reviews::TokenReviews;

/// The interval at which the authorities are read.
const INTERVAL: Duration = Duration::from_secs(60);

/// Delegates authentication and authorization to the API server of the cluster, as an aggregated server must.
///
/// Requests that the API server forwards name their user in headers; the API server authenticates itself with a client
/// certificate. The certificate authorities of the API server and of clients are in the ConfigMap
/// `kube-system/extension-apiserver-authentication`. Bearer tokens are checked by TokenReviews, and requests without
/// credentials are anonymous. Every request is authorized by a SubjectAccessReview, except for those of `system:masters` and
/// those for the paths that are always allowed. Responses are cached for ten seconds.
///
/// The account of the server needs the ClusterRole `system:auth-delegator`, and in the namespace `kube-system` the Role
/// `extension-apiserver-authentication-reader`.
///
/// ```no_run
/// # async fn run(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_extension_apiserver::{Delegation, ExtensionServer};
///
/// let delegation = Delegation::new(client).await?;
/// let server = ExtensionServer::builder().delegate(&delegation).build()?;
/// # let _ = server;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Delegation {
    client: Client,
    authenticator: Arc<Delegated>,
    authorizer: Arc<AccessReviews>,
    options: DelegationOptions,
}

/// The authenticator, which changes with the authorities.
struct Delegated {
    current: ArcSwap<Current>,
    tokens: Arc<TokenReviews>,
}

struct Current {
    authorities: Authorities,
    chain: Union,
}

impl Delegation {
    /// Reads the authorities. The paths of probes (`/healthz`, `/livez`, `/readyz`) are always allowed.
    ///
    /// # Errors
    ///
    /// Fails if the ConfigMap cannot be read, or contains an invalid certificate. A missing authority of proxies is only logged;
    /// requests that the API server forwards are then anonymous.
    pub async fn new(client: Client) -> Result<Self, DelegationError> {
        Self::with_options(client, DelegationOptions::default()).await
    }

    /// Reads the authorities as the options say.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or as [`new`](Self::new) does, unless the options tolerate that.
    pub async fn with_options(
        client: Client,
        options: DelegationOptions,
    ) -> Result<Self, DelegationError> {
        let authorities = match Authorities::read(&client, &options).await {
            Err(DelegationError::Unreadable(error)) if options.lookup == Lookup::Tolerated => {
                tracing::warn!(%error, "cannot read the authorities of the cluster; client certificates and forwarded users are unknown");
                Authorities::of_files(&options)?
            }
            read => read?,
        };
        if !authorities.has_proxies() {
            tracing::warn!("there is no authority of proxies; forwarded requests are anonymous");
        }
        let tokens = Arc::new(TokenReviews::new(client.clone(), options.token_cache));
        let current = Current::new(authorities, &tokens)?;
        let authorizer = AccessReviews::new(
            client.clone(),
            options.authorized_cache,
            options.unauthorized_cache,
        );
        Ok(Self {
            authenticator: Arc::new(Delegated {
                current: ArcSwap::from_pointee(current),
                tokens,
            }),
            authorizer: Arc::new(authorizer),
            client,
            options,
        })
    }

    /// Allows requests for additional paths without a review. A trailing `*` matches any suffix.
    #[must_use]
    pub fn always_allow<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(Into::into);
        self.authorizer = Arc::new(self.authorizer.with_paths(paths));
        self
    }

    /// Returns the client of the cluster.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the authorities of clients and proxies as PEM, for `Tls::request_client_certificates` of `kubewright-serve`.
    pub fn authorities(&self) -> Vec<u8> {
        self.authenticator.current.load().authorities.pem()
    }

    /// Reads the authorities every minute, and applies changes. Never returns.
    pub async fn keep(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, "cannot read the authorities of the cluster");
            }
        }
    }

    /// Reads the authorities again.
    ///
    /// # Errors
    ///
    /// Fails as [`new`](Self::new) does, and then keeps the previous authorities.
    pub async fn refresh(&self) -> Result<(), DelegationError> {
        let authorities = Authorities::read(&self.client, &self.options).await?;
        let delegated = &self.authenticator;
        if delegated.current.load().authorities != authorities {
            let current = Current::new(authorities, &delegated.tokens)?;
            delegated.current.store(Arc::new(current));
            tracing::info!("the authorities of the cluster have changed");
        }
        Ok(())
    }

    /// Sets the authenticator and the authorizer of a server.
    pub(crate) fn apply(&self, server: ApiServerBuilder) -> ApiServerBuilder {
        let authorizer: Arc<dyn Authorizer> = self.authorizer.clone();
        server
            .authenticator(self.authenticator.clone())
            .authorizer(authorizer)
    }
}

/// Returns the admission plugin `NamespaceLifecycle` over the namespaces of a cluster. Its user needs the permission to get them.
pub(crate) fn namespace_lifecycle(client: Client) -> NamespaceLifecycle {
    NamespaceLifecycle::new(Arc::new(ClusterNamespaces::new(client)))
}

impl Current {
    fn new(authorities: Authorities, tokens: &Arc<TokenReviews>) -> Result<Self, DelegationError> {
        let mut members = authorities.authenticators()?;
        members.push(Arc::new(BearerTokens::new(vec![tokens.clone()])));
        let known = Arc::new(Union::new(members));
        Ok(Self {
            authorities,
            // Invalid credentials are an error; requests without credentials are anonymous.
            chain: Union::fail_on_error(vec![known, Arc::new(Anonymous)]),
        })
    }
}

#[boxed_async]
impl Authenticator for Delegated {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let current = self.current.load_full();
        current.chain.authenticate(credentials).await
    }

    fn remove_identity(&self, headers: &mut HeaderMap) {
        self.current.load().chain.remove_identity(headers);
    }
}
