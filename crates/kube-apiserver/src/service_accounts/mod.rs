//! Service-account tokens: keys, the tokens themselves, issuing, checking, and the documents for other verifiers.
//!
//! | file | contents |
//! |---|---|
//! | `keys.rs` | [`ServiceAccountKeys`] |
//! | `jwt.rs` | the compact form of tokens |
//! | `claims.rs` | the claims of tokens |
//! | `issuer.rs` | issuing |
//! | `authenticator.rs`, `legacy.rs` | checking: bound tokens, and tokens of Secrets |
//! | `objects.rs` | the objects that tokens name |
//! | `seen.rs` | tokens whose signature is known to be valid |
//! | `discovery.rs` | the issuer's configuration and its keys |

mod authenticator;
mod claims;
mod discovery;
mod issuer;
mod jwt;
mod keys;
mod legacy;
mod objects;
mod seen;

use std::{sync::Arc, time::Duration};

use kubewright_apiserver::SharedClock;
use kubewright_machinery::go;
use kubewright_store::Store;

pub(crate) use authenticator::ServiceAccountTokens;
pub(crate) use discovery::Documents;
pub(crate) use issuer::{Binding, Identity, TokenIssuer, TokenSpec};
pub use keys::{KeyError, ServiceAccountKeys};
pub(crate) use objects::Objects;
use seen::SeenTokens;

/// The issuer of clusters that name none.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// The settings of service-account tokens.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The issuers: the first one signs, all are accepted.
    pub(crate) issuers: Vec<String>,
    pub(crate) keys: Option<ServiceAccountKeys>,
    /// The audiences of the API server. Empty: the issuers.
    pub(crate) audiences: Vec<String>,
    pub(crate) max_expiration: Option<Duration>,
    pub(crate) extend_expiration: bool,
    pub(crate) keys_uri: Option<String>,
}

/// Everything that serves service-account tokens.
#[derive(Clone)]
pub(crate) struct ServiceAccounts {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) tokens: Arc<ServiceAccountTokens>,
    pub(crate) documents: Option<Documents>,
    pub(crate) objects: Objects,
    pub(crate) keys: ServiceAccountKeys,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            keys: None,
            audiences: Vec::new(),
            max_expiration: None,
            extend_expiration: true,
            keys_uri: None,
        }
    }
}

impl Settings {
    /// Builds the parts. The address is the host and port of the server.
    ///
    /// # Errors
    ///
    /// Fails if an issuer is empty or named twice.
    pub(crate) fn build(
        self,
        store: &Arc<dyn Store>,
        clock: &SharedClock,
        address: &str,
    ) -> Result<ServiceAccounts, String> {
        let issuers = match self.issuers.is_empty() {
            true => vec![DEFAULT_ISSUER.to_owned()],
            false => self.issuers,
        };
        let Some(first) = issuers.first().cloned() else {
            return Err("service-account-issuer is a required flag".to_owned());
        };
        for (at, issuer) in issuers.iter().enumerate() {
            if issuer.is_empty() {
                return Err("service-account-issuer should not be an empty string".to_owned());
            }
            if issuers.iter().take(at).any(|earlier| earlier == issuer) {
                let issuer = go::quote(issuer);
                return Err(format!(
                    "service-account-issuer {issuer} is already specified"
                ));
            }
        }
        let audiences = match self.audiences.is_empty() {
            true => issuers.clone(),
            false => self.audiences,
        };
        let keys = self.keys.unwrap_or_else(ServiceAccountKeys::generate);
        let documents = Documents::new(&first, self.keys_uri.as_deref(), address, &keys);
        let documents = documents.inspect_err(|reason| {
            tracing::debug!(%reason, "the documents of the service-account issuer are not served");
        });
        let objects = Objects::new(store.clone());
        let max_seconds = self.max_expiration.map(|max| max.as_secs());
        let seen = Arc::new(SeenTokens::default());
        let issuer = TokenIssuer {
            seen: seen.clone(),
            keys: keys.clone(),
            issuer: first,
            audiences: audiences.clone(),
            max_seconds: max_seconds.map(|max| i64::try_from(max).unwrap_or(i64::MAX)),
            extend: self.extend_expiration,
            clock: clock.clone(),
        };
        let tokens = ServiceAccountTokens {
            issuers,
            audiences,
            keys: keys.clone(),
            objects: objects.clone(),
            clock: clock.clone(),
            seen,
            last_used: Default::default(),
        };
        Ok(ServiceAccounts {
            issuer: Arc::new(issuer),
            tokens: Arc::new(tokens),
            documents: documents.ok(),
            objects,
            keys,
        })
    }
}
