//! The seam of authentication: [`Authenticator`], the [`Credentials`] that it reads and its answer.

use std::{fmt, sync::Arc};

use http::{HeaderMap, request::Parts};
use kubewright_derive::boxed_async;
use kubewright_machinery::go;
use kubewright_serve::PeerCertificates;

use super::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::request::UserInfo;

/// The parts of a request that identify its user.
///
/// ```
/// use kubewright_apiserver::auth::Credentials;
///
/// let (parts, ()) = http::Request::get("/api").body(()).unwrap().into_parts();
/// let credentials = Credentials::new(&parts, &[]);
/// assert!(credentials.peer.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// The head of the request.
    pub parts: &'a Parts,
    /// The certificates that the client presented in the TLS handshake. They are not verified.
    pub peer: Option<&'a PeerCertificates>,
    /// The audiences of the server, one of which a token must be meant for. Empty if any will do.
    pub audiences: &'a [String],
}

/// A user that an authenticator knows.
///
/// ```
/// use kubewright_apiserver::{auth::Authenticated, request::UserInfo};
///
/// let ali = Authenticated::from(UserInfo { name: "ali".into(), ..UserInfo::default() });
/// assert!(ali.is_for(&["https://kubernetes.default.svc".to_owned()]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authenticated {
    /// The user. An authenticator that keeps its users shares them.
    pub user: Arc<UserInfo>,
    /// The audiences that the credentials are meant for. `None` for credentials that name no audience.
    pub audiences: Option<Vec<String>>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit event.
    pub annotations: Vec<(String, String)>,
}

/// The reason why credentials are invalid.
///
/// The client gets a 401 that says only `Unauthorized`; the text is for logs and for the status of a `TokenReview`. It must
/// not contain the credentials.
///
/// ```
/// use kubewright_apiserver::auth::AuthenticationError;
///
/// let mut error = AuthenticationError::new("invalid bearer token");
/// error.append(AuthenticationError::new("service account token has expired"));
/// assert_eq!(error.to_string(), "[invalid bearer token, service account token has expired]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationError(Vec<String>);

/// Authenticates requests.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     auth::{Authenticated, AuthenticationError, Authenticator, Credentials},
///     request::UserInfo,
/// };
///
/// struct Password;
///
/// #[boxed_async]
/// impl Authenticator for Password {
///     async fn authenticate(
///         &self,
///         credentials: &Credentials<'_>,
///     ) -> Result<Option<Authenticated>, AuthenticationError> {
///         match credentials.parts.headers.get("x-password").map(|value| value.as_bytes()) {
///             None => Ok(None),
///             Some(b"sesame") => Ok(Some(UserInfo { name: "ali".into(), ..UserInfo::default() }.into())),
///             Some(_) => Err(AuthenticationError::new("wrong password")),
///         }
///     }
/// }
/// ```
#[boxed_async]
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the user, or `None` if the request has no credentials that this authenticator reads.
    ///
    /// # Errors
    ///
    /// Fails if the request has such credentials and they are invalid.
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError>;

    /// Removes the headers in which this authenticator reads names of users (default: none). It is called once the user is
    /// known: no server behind this one may take what a client has written there for the word of this server.
    fn remove_identity(&self, _headers: &mut HeaderMap) {}
}

impl<'a> Credentials<'a> {
    /// Returns the credentials of a request to a server with these audiences.
    pub fn new(parts: &'a Parts, audiences: &'a [String]) -> Self {
        Self {
            parts,
            peer: parts.extensions.get(),
            audiences,
        }
    }

    /// Asks an authenticator, and adds the group `system:authenticated` to the user that it returns, unless the user is
    /// anonymous. Servers call this instead of the authenticator.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use kubewright_apiserver::auth::{Credentials, TokenFile};
    ///
    /// let tokens = TokenFile::parse("31ada4fd,alice,1001,dev").unwrap();
    /// let request = http::Request::get("/").header("authorization", "Bearer 31ada4fd").body(()).unwrap();
    /// let (parts, ()) = request.into_parts();
    /// let known = Credentials::new(&parts, &[]).authenticate(&tokens).await.unwrap().unwrap();
    /// assert_eq!(known.user.groups, ["dev", "system:authenticated"]);
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the authenticator.
    pub async fn authenticate(
        &self,
        authenticator: &dyn Authenticator,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let mut known = authenticator.authenticate(self).await?;
        if let Some(known) = &mut known
            && lacks_group(&known.user)
        {
            add_group(Arc::make_mut(&mut known.user));
        }
        Ok(known)
    }
}

/// Adds the group `system:authenticated` to a user that is neither anonymous nor has it. An authenticator that keeps its users
/// does this once for each.
pub(super) fn add_group(user: &mut UserInfo) {
    if lacks_group(user) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
}

fn lacks_group(user: &UserInfo) -> bool {
    let settled = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
    user.name != ANONYMOUS && !user.groups.iter().any(settled)
}

impl Authenticated {
    /// Returns whether the credentials are meant for one of the audiences, or for any.
    pub fn is_for(&self, audiences: &[String]) -> bool {
        match &self.audiences {
            None => true,
            Some(own) if own.is_empty() || audiences.is_empty() => true,
            Some(own) => own.iter().any(|audience| audiences.contains(audience)),
        }
    }
}

impl From<UserInfo> for Authenticated {
    fn from(user: UserInfo) -> Self {
        Arc::new(user).into()
    }
}

impl From<Arc<UserInfo>> for Authenticated {
    fn from(user: Arc<UserInfo>) -> Self {
        Self {
            user,
            ..Self::default()
        }
    }
}

impl AuthenticationError {
    /// Creates an error.
    pub fn new(text: impl Into<String>) -> Self {
        Self(vec![text.into()])
    }

    /// Adds another error. Its texts follow those of this one.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl fmt::Display for AuthenticationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&go::aggregate(&self.0))
    }
}

impl std::error::Error for AuthenticationError {}
