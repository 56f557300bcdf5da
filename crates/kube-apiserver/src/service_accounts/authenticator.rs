//! [`ServiceAccountTokens`]: authenticates service accounts by their tokens.
//!
//! The signature of a token is verified once; the objects that it names are looked up each time, so a token ends with
//! them.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::{
    ApiServer, SharedClock,
    auth::{Authenticated, AuthenticationError, TokenAuthenticator},
    boxed_async,
    request::UserInfo,
};
use kubewright_machinery::{go, gvk::GroupResource, status};
use kubewright_store::ReadError;
use serde::Deserialize;

use super::{
    claims::{self, Bound, Issuer, LEGACY_ISSUER, Legacy, Reference},
    jwt::Compact,
    keys::ServiceAccountKeys,
    legacy::{LastUsed, LegacyToken},
    objects::{Found, Memory, Objects},
    seen::SeenTokens,
};

const INVALIDATED: &str = "service account token has been invalidated";

/// Authenticates service accounts by their tokens.
pub(crate) struct ServiceAccountTokens {
    pub(super) issuers: Vec<String>,
    /// The audiences of tokens that name none.
    pub(super) audiences: Vec<String>,
    pub(super) keys: ServiceAccountKeys,
    pub(super) objects: Objects,
    pub(super) clock: SharedClock,
    pub(super) seen: Arc<SeenTokens>,
    pub(super) last_used: LastUsed,
}

/// A token whose signature has been verified.
pub(super) enum Verified {
    Bound(Box<BoundToken>),
    Legacy(Box<LegacyToken>),
}

/// A token that is bound to its audiences, to a time and possibly to an object.
pub(super) struct BoundToken {
    claims: Bound,
    user: Arc<UserInfo>,
    account: Memory,
    object: Memory,
}

impl Verified {
    /// Returns a bound token with these claims.
    pub(super) fn bound(claims: Bound) -> Self {
        Self::Bound(Box::new(BoundToken {
            user: Arc::new(claims.user()),
            claims,
            account: Memory::default(),
            object: Memory::default(),
        }))
    }
}

type Outcome<T> = Result<T, AuthenticationError>;

#[boxed_async]
impl TokenAuthenticator for ServiceAccountTokens {
    async fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Outcome<Option<Authenticated>> {
        let Some(compact) = Compact::split(token) else {
            return Ok(None);
        };
        let seen = match self.seen.get(&compact) {
            Some(seen) => seen,
            None => {
                let Some(verified) = self.verify(&compact)? else {
                    return Ok(None);
                };
                self.seen.insert(&compact, verified)
            }
        };
        let now = self.clock.now();
        let known = match &seen.verified {
            Verified::Bound(bound) => {
                let claims = &bound.claims;
                let mut known = self.meant_for(&claims.aud, &claims.sub, audiences)?;
                self.check(bound, now, &mut known).await?;
                known
            }
            Verified::Legacy(legacy) => {
                let claims = &legacy.claims;
                let mut known = self.meant_for(&claims.aud, &claims.sub, audiences)?;
                self.check_legacy(legacy, token, now, &mut known).await?;
                known
            }
        };
        Ok(Some(known))
    }
}

impl ServiceAccountTokens {
    /// Sets the server that uses of tokens are recorded on.
    pub(crate) fn start(&self, server: &ApiServer) {
        self.last_used.set_server(server.downgrade());
    }

    /// Verifies the signature. Returns `None` for tokens of other issuers.
    fn verify(&self, token: &Compact<'_>) -> Outcome<Option<Verified>> {
        let Some(Ok(Issuer { iss })) = token.payload() else {
            return Ok(None);
        };
        let is_legacy = iss == LEGACY_ISSUER;
        // A header that cannot be read belongs to no token.
        if !(is_legacy || self.issuers.contains(&iss)) || token.header().is_none() {
            return Ok(None);
        }
        let verified = self.keys.verify(token);
        verified.map_err(|invalid| AuthenticationError::new(invalid.message()))?;
        Ok(Some(if is_legacy {
            let claims: Legacy = claims_of(token)?;
            Verified::Legacy(Box::new(LegacyToken::new(claims)))
        } else {
            Verified::bound(claims_of(token)?)
        }))
    }

    /// Returns an answer with the audiences that a token and the server share.
    fn meant_for(
        &self,
        own: &[String],
        subject: &str,
        requested: &[String],
    ) -> Outcome<Authenticated> {
        let mut known = Authenticated::default();
        let own = match own {
            [] => {
                let annotation = "authentication.k8s.io/legacy-token";
                known
                    .annotations
                    .push((annotation.to_owned(), subject.to_owned()));
                &self.audiences
            }
            own => own,
        };
        let requested = match requested {
            [] => &self.audiences,
            requested => requested,
        };
        let shared = own.iter().filter(|audience| requested.contains(audience));
        let shared: Vec<String> = shared.cloned().collect();
        if shared.is_empty() && !self.audiences.is_empty() {
            return Err(AuthenticationError::new(format!(
                "token audiences {} is invalid for the target audiences {}",
                go::quote_all(own),
                go::quote_all(requested)
            )));
        }
        known.audiences = Some(shared);
        Ok(known)
    }

    /// Checks the time and the objects of a bound token.
    async fn check(
        &self,
        token: &BoundToken,
        now: Timestamp,
        known: &mut Authenticated,
    ) -> Outcome<()> {
        let claims = &token.claims;
        claims.check_time(now).map_err(AuthenticationError::new)?;
        let namespace = &claims.kubernetes.namespace;
        let account = &claims.kubernetes.serviceaccount;
        if account.name.is_empty() {
            return Err(AuthenticationError::new("resource name may not be empty"));
        }
        let find = |resource, namespace, reference, memory| {
            let found = self
                .objects
                .find(resource, namespace, reference, memory, now);
            async move { found.await.map_err(unreadable) }
        };
        let error = match find("serviceaccounts", namespace, account, &token.account).await? {
            Found::Live => None,
            Found::Missing => Some(missing_account(&account.name)),
            Found::Other { uid } => Some(format!(
                "service account UID ({uid}) does not match claim ({})",
                account.uid
            )),
            Found::Deleted => Some(format!(
                "service account {namespace}/{} has been deleted",
                account.name
            )),
        };
        if let Some(error) = error {
            return Err(AuthenticationError::new(error));
        }
        for (kind, resource, namespace, reference) in bound_objects(claims) {
            match find(resource, namespace, reference, &token.object).await? {
                Found::Live => {}
                Found::Missing | Found::Deleted => {
                    return Err(AuthenticationError::new(INVALIDATED));
                }
                Found::Other { uid } => {
                    return Err(AuthenticationError::new(format!(
                        "{kind} UID ({uid}) does not match service account {} ref claim ({})",
                        kind, reference.uid
                    )));
                }
            }
        }
        known.annotations.extend(staleness(claims, now));
        known.user = token.user.clone();
        Ok(())
    }
}

/// Returns the claims of a token whose signature has been verified.
fn claims_of<T: for<'de> Deserialize<'de> + Default>(token: &Compact<'_>) -> Outcome<T> {
    let claims = token.payload().unwrap_or_else(|| Ok(T::default()));
    claims.map_err(|error| AuthenticationError::new(claims::unreadable(&error)))
}

/// Returns the objects that a token is bound to: as errors name them, their resource, their namespace and the claim. The
/// node of a pod is for information only.
fn bound_objects(
    claims: &Bound,
) -> impl Iterator<Item = (&'static str, &'static str, &str, &Reference)> {
    let claims = &claims.kubernetes;
    let namespace = claims.namespace.as_str();
    let node = claims.node.as_ref().filter(|_| claims.pod.is_none());
    let bound = [
        ("secret", "secrets", namespace, claims.secret.as_ref()),
        ("pod", "pods", namespace, claims.pod.as_ref()),
        ("node", "nodes", "", node),
    ];
    bound
        .into_iter()
        .filter_map(|(kind, resource, namespace, claim)| {
            claim.map(|claim| (kind, resource, namespace, claim))
        })
}

/// Returns an annotation about a token that should have been replaced by now.
fn staleness(claims: &Bound, now: Timestamp) -> Option<(String, String)> {
    let warn_after = claims.kubernetes.warnafter.filter(|after| *after != 0)?;
    let late = now.as_second() - warn_after;
    let is_stale = late > 0 || (late == 0 && now.subsec_nanosecond() > 0);
    is_stale.then(|| {
        let text = format!(
            "subject: {}, seconds after warning threshold: {late}",
            claims.sub
        );
        ("authentication.k8s.io/stale-token".to_owned(), text)
    })
}

/// Returns the error about an account that does not exist.
pub(super) fn missing_account(name: &str) -> String {
    status::not_found(&GroupResource::new("", "serviceaccounts"), name).message
}

pub(super) fn unreadable(error: ReadError) -> AuthenticationError {
    AuthenticationError::new(error.to_string())
}
