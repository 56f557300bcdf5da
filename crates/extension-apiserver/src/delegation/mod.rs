//! [`Delegation`]: authentication and authorization by the API server of the cluster.

mod authorities;
mod authorizer;
mod cache;
mod calls;
mod token_reviews;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use kube::Client;
use kubewright_apiserver::{
    ApiServerBuilder,
    auth::{
        Anonymous, Authenticated, AuthenticationError, Authenticator, Authorizer, BearerTokens,
        Credentials, Union,
    },
};

use authorities::Authorities;
pub use authorities::DelegationError;
use authorizer::AccessReviews;
use token_reviews::TokenReviews;

/// The time between two reads of the authorities.
const INTERVAL: Duration = Duration::from_secs(60);

/// Delegates authentication and authorization to the API server of the cluster, as an aggregated server must.
///
/// Requests that the API server forwards name their user in headers; the certificate of the API server proves that they come
/// from there. Its authority, and that of client certificates, are in the ConfigMap
/// `kube-system/extension-apiserver-authentication`. Bearer tokens are checked by TokenReviews, and requests without
/// credentials are anonymous. Every request is authorized by a SubjectAccessReview, except for those of `system:masters` and
/// those for the paths that are always allowed. Answers are cached for ten seconds.
///
/// The account of the server needs the ClusterRole `system:auth-delegator`, and in `kube-system` the Role
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
    /// Reads the authorities. Paths that probes ask for (`/healthz`, `/livez`, `/readyz`) are always allowed.
    ///
    /// # Errors
    ///
    /// Fails if the ConfigMap cannot be read, or holds something that is not a certificate. Without an authority for
    /// proxies there is only a warning; requests of the API server are anonymous then.
    pub async fn new(client: Client) -> Result<Self, DelegationError> {
        let authorities = Authorities::read(&client).await?;
        if !authorities.has_proxies() {
            tracing::warn!(
                "the cluster publishes no authority of proxies; forwarded requests are anonymous"
            );
        }
        let tokens = Arc::new(TokenReviews::new(client.clone()));
        let current = Current::new(authorities, &tokens)?;
        Ok(Self {
            authenticator: Arc::new(Delegated {
                current: ArcSwap::from_pointee(current),
                tokens,
            }),
            authorizer: Arc::new(AccessReviews::new(client.clone())),
            client,
        })
    }

    /// Allows requests for further paths without a review. A path that ends with `*` allows everything that begins with it.
    #[must_use]
    pub fn always_allow<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(Into::into);
        self.authorizer = Arc::new(self.authorizer.with_paths(paths));
        self
    }

    /// Returns the authorities of clients and proxies as PEM, for `Tls::request_client_certificates` of `kubewright-serve`.
    pub fn authorities(&self) -> Vec<u8> {
        self.authenticator.current.load().authorities.pem()
    }

    /// Reads the authorities every minute, and uses new ones. Does not end.
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
    /// Fails as [`new`](Self::new) does, and then keeps the authorities that it has.
    pub async fn refresh(&self) -> Result<(), DelegationError> {
        let authorities = Authorities::read(&self.client).await?;
        let delegated = &self.authenticator;
        if delegated.current.load().authorities != authorities {
            let current = Current::new(authorities, &delegated.tokens)?;
            delegated.current.store(Arc::new(current));
            tracing::info!("the authorities of the cluster have changed");
        }
        Ok(())
    }

    /// Sets authenticator and authorizer of a server.
    pub(crate) fn apply(&self, server: ApiServerBuilder) -> ApiServerBuilder {
        let authorizer: Arc<dyn Authorizer> = self.authorizer.clone();
        server
            .authenticator(self.authenticator.clone())
            .authorizer(authorizer)
    }
}

impl Current {
    fn new(authorities: Authorities, tokens: &Arc<TokenReviews>) -> Result<Self, DelegationError> {
        let mut members = authorities.authenticators()?;
        members.push(Arc::new(BearerTokens::new(vec![tokens.clone()])));
        let known = Arc::new(Union::new(members));
        Ok(Self {
            authorities,
            // Wrong credentials are an error; none at all are an anonymous user.
            chain: Union::fail_on_error(vec![known, Arc::new(Anonymous)]),
        })
    }
}

#[async_trait]
impl Authenticator for Delegated {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let current = self.current.load_full();
        current.chain.authenticate(credentials).await
    }
}
