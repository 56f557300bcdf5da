//! Authentication and authorization: the two traits and simple implementations.
//!
//! An [`Authenticator`] reads credentials from a request: [`TokenFile`] has static bearer tokens, [`Anonymous`] accepts
//! everybody, [`Union`] combines several. An [`Authorizer`] decides about [`Attributes`]; [`AlwaysAllow`] allows everything.
//! [`forbidden`] is the response to a denied request.
//!
//! RBAC is not part of this crate; it would be another [`Authorizer`].

mod anonymous;
mod attributes;
mod csv;
mod token_file;
mod union;

pub use anonymous::Anonymous;
pub use attributes::{Attributes, forbidden};
pub use csv::CsvError;
pub use token_file::{TokenFile, TokenFileError};
pub use union::Union;

use async_trait::async_trait;
use kubewright_machinery::Status;

use crate::request::UserInfo;

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all anonymous users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of anonymous users.
pub const ANONYMOUS: &str = "system:anonymous";

/// Authenticates requests.
///
/// ```
/// use async_trait::async_trait;
/// use kubewright_apiserver::{auth::Authenticator, request::UserInfo};
/// use kubewright_machinery::{Status, status};
///
/// struct Password;
///
/// #[async_trait]
/// impl Authenticator for Password {
///     async fn authenticate(&self, request: &http::request::Parts) -> Result<Option<UserInfo>, Status> {
///         match request.headers.get("x-password").map(|value| value.as_bytes()) {
///             None => Ok(None),
///             Some(b"sesame") => Ok(Some(UserInfo { name: "ali".into(), ..UserInfo::default() })),
///             Some(_) => Err(status::unauthorized()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the user, or `None` if the request has no credentials that this authenticator reads.
    ///
    /// # Errors
    ///
    /// Fails with 401 if the request has such credentials and they are invalid.
    async fn authenticate(
        &self,
        request: &http::request::Parts,
    ) -> Result<Option<UserInfo>, Status>;
}

/// The decision of an authorizer. The text is the reason that the 403 shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed.
    Allow,
    /// The request is denied, whatever other authorizers decide.
    Deny(String),
    /// The authorizer has no rule for it. The request is denied unless another authorizer allows it.
    NoOpinion(String),
}

/// Authorizes requests.
///
/// ```
/// use async_trait::async_trait;
/// use kubewright_apiserver::auth::{Attributes, Authorizer, Decision};
///
/// struct ReadOnly;
///
/// #[async_trait]
/// impl Authorizer for ReadOnly {
///     async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
///         match attributes.verb().as_str() {
///             "get" | "list" | "watch" => Decision::Allow,
///             _ => Decision::NoOpinion("the server is read-only".into()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides whether the user may make the request.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

/// Allows every request.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Method;
/// use kubewright_apiserver::{
///     auth::{AlwaysAllow, Attributes, Authorizer, Decision},
///     request::{Query, RequestInfo, UserInfo},
/// };
///
/// let (user, method, query) = (UserInfo::default(), Method::DELETE, Query::parse(None));
/// let info = RequestInfo::new(&method, "/api/v1/nodes/a", &query);
/// let attributes = Attributes::new(&user, &info, &method, &query);
/// assert_eq!(AlwaysAllow.authorize(&attributes).await, Decision::Allow);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysAllow;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::Allow
    }
}

#[cfg(test)]
mod tests;
