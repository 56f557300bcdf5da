//! [`Anonymous`]: accepts every request; [`AnonymousPaths`]: accepts those for certain paths.

use kubewright_derive::boxed_async;
use percent_encoding::percent_decode_str;

use super::{
    ANONYMOUS, Authenticated, AuthenticationError, Authenticator, Credentials, UNAUTHENTICATED,
};
use crate::request::UserInfo;

/// Authenticates every request as `system:anonymous`. Put it last in a [`Union::fail_on_error`](super::Union::fail_on_error).
///
/// ```
/// use kubewright_apiserver::auth::{Anonymous, Credentials};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (parts, ()) = http::Request::new(()).into_parts();
/// let known = Credentials::new(&parts, &[]).authenticate(&Anonymous).await.unwrap().expect("a user");
/// assert_eq!(known.user.name, "system:anonymous");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

#[boxed_async]
impl Authenticator for Anonymous {
    async fn authenticate(
        &self,
        _: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        Ok(Some(nobody().into()))
    }
}

/// Authenticates requests for certain paths as `system:anonymous`, such as those of probes.
///
/// ```
/// use kubewright_apiserver::auth::{AnonymousPaths, Credentials};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let probes = AnonymousPaths::new(["/livez", "/readyz"]);
/// let user = async |path: &str| {
///     let (parts, ()) = http::Request::get(path).body(()).unwrap().into_parts();
///     Credentials::new(&parts, &[]).authenticate(&probes).await.unwrap()
/// };
/// assert!(user("/livez?verbose").await.is_some());
/// assert!(user("/livez/ping").await.is_none());
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct AnonymousPaths(Vec<String>);

impl AnonymousPaths {
    /// Accepts requests for exactly these paths.
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self(paths.into_iter().map(Into::into).collect())
    }
}

#[boxed_async]
impl Authenticator for AnonymousPaths {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let path = percent_decode_str(credentials.parts.uri.path()).decode_utf8_lossy();
        let known = self.0.iter().any(|known| *known == path);
        Ok(known.then(|| nobody().into()))
    }
}

fn nobody() -> UserInfo {
    UserInfo {
        name: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..UserInfo::default()
    }
}
