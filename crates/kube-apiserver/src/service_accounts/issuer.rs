//! [`TokenIssuer`]: issues tokens for service accounts.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::SharedClock;

use super::{
    authenticator::Verified,
    claims::{Bound, Kubernetes, LEGACY_ISSUER, Legacy, Reference, subject},
    jwt::{self, Compact},
    keys::{KeyError, ServiceAccountKeys},
    seen::SeenTokens,
};

/// The lifetime by which a pod's token is recognised as one that Kubernetes added to the pod, in seconds.
const INJECTED_SECONDS: i64 = 3607;
/// The lifetime that such a token really has, in seconds.
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

/// Issues tokens for service accounts.
pub(crate) struct TokenIssuer {
    pub(super) keys: ServiceAccountKeys,
    /// The `iss` of its tokens.
    pub(super) issuer: String,
    /// The audiences of the API server.
    pub(super) audiences: Vec<String>,
    /// The longest lifetime of a token, in seconds.
    pub(super) max_seconds: Option<i64>,
    /// Whether tokens that were added to pods live longer than they say.
    pub(super) extend: bool,
    pub(super) clock: SharedClock,
    /// Its tokens, so that their signature is not verified when they are presented.
    pub(super) seen: Arc<SeenTokens>,
}

/// An object by which a token is limited. The token ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// A pod, and the node that it runs on.
    Pod(Identity, Option<Identity>),
    Secret(Identity),
    Node(Identity),
}

/// An object: its name and uid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A token to issue.
pub(crate) struct TokenSpec<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) account: Identity,
    pub(crate) audiences: Vec<String>,
    pub(crate) seconds: i64,
    pub(crate) binding: Option<Binding>,
}

/// A token that was issued.
pub(crate) struct Issued {
    pub(crate) token: String,
    /// The id of the token, by which audit events name it.
    pub(crate) jti: String,
}

impl TokenIssuer {
    /// Returns the audiences of the API server, which tokens have by default.
    pub(crate) fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Returns the longest lifetime of a token in seconds, if it is limited.
    pub(crate) fn max_seconds(&self) -> Option<i64> {
        self.max_seconds
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Issues a token whose lifetime begins now.
    pub(crate) fn issue(&self, spec: TokenSpec<'_>, now: Timestamp) -> Result<Issued, KeyError> {
        let jti = uuid::Builder::from_random_bytes(rand::random()).into_uuid();
        let (now, jti) = (now.as_second(), jti.to_string());
        let is_own = |audience: &String| self.audiences.contains(audience);
        let extended = self.extend
            && spec.seconds == INJECTED_SECONDS
            && matches!(spec.binding, Some(Binding::Pod(..)))
            && spec.audiences.iter().all(is_own);
        let (seconds, warn_after) = match extended {
            true => (EXTENDED_SECONDS, Some(now + INJECTED_SECONDS)),
            false => (spec.seconds, None),
        };
        let mut kubernetes = Kubernetes {
            namespace: spec.namespace.to_owned(),
            serviceaccount: spec.account.clone().into(),
            warnafter: warn_after,
            ..Kubernetes::default()
        };
        match spec.binding {
            Some(Binding::Pod(pod, node)) => {
                kubernetes.pod = Some(pod.into());
                kubernetes.node = node.map(Into::into);
            }
            Some(Binding::Secret(secret)) => kubernetes.secret = Some(secret.into()),
            Some(Binding::Node(node)) => kubernetes.node = Some(node.into()),
            None => {}
        }
        let claims = Bound {
            aud: spec.audiences,
            exp: Some(now.saturating_add(seconds)),
            iat: Some(now),
            iss: self.issuer.clone(),
            jti: jti.clone(),
            nbf: Some(now),
            sub: subject(spec.namespace, &spec.account.name),
            kubernetes,
        };
        let token = jwt::sign(self.keys.signing(), &claims)?;
        if let Some(compact) = Compact::split(&token)
            && claims.aud.iter().any(is_own)
        {
            self.seen.insert(&compact, Verified::bound(claims));
        }
        Ok(Issued { token, jti })
    }
}

impl ServiceAccountKeys {
    /// Issues a token without expiry that is valid for as long as a Secret of the type `kubernetes.io/service-account-token`
    /// holds it.
    ///
    /// ```
    /// use kubewright_kube_apiserver::ServiceAccountKeys;
    ///
    /// let keys = ServiceAccountKeys::generate();
    /// let token = keys.secret_token("shop", "web", "5e1f-uid-of-web", "web-token")?;
    /// assert_eq!(token.split('.').count(), 3);
    /// # Ok::<_, kubewright_kube_apiserver::ServiceAccountKeyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn secret_token(
        &self,
        namespace: &str,
        account: &str,
        account_uid: &str,
        secret: &str,
    ) -> Result<String, KeyError> {
        let claims = Legacy {
            aud: Vec::new(),
            iss: LEGACY_ISSUER.to_owned(),
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            account: account.to_owned(),
            uid: account_uid.to_owned(),
            sub: subject(namespace, account),
        };
        jwt::sign(self.signing(), &claims)
    }
}

impl From<Identity> for Reference {
    fn from(identity: Identity) -> Self {
        Self {
            name: identity.name,
            uid: identity.uid,
        }
    }
}
