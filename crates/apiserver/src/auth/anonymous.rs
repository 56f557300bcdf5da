//! [`Anonymous`]: accepts every request.

use async_trait::async_trait;

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

#[async_trait]
impl Authenticator for Anonymous {
    async fn authenticate(
        &self,
        _: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let user = UserInfo {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        };
        Ok(Some(user.into()))
    }
}
