//! [`Anonymous`]: accepts every request.

use async_trait::async_trait;
use kubewright_machinery::Status;

use super::{ANONYMOUS, Authenticator, UNAUTHENTICATED};
use crate::request::UserInfo;

/// Authenticates every request as `system:anonymous`. Put it last in a [`Union::fail_on_error`](super::Union::fail_on_error).
///
/// ```
/// use kubewright_apiserver::auth::{Anonymous, Authenticator};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (request, ()) = http::Request::new(()).into_parts();
/// let user = Anonymous.authenticate(&request).await.unwrap().expect("a user");
/// assert_eq!(user.name, "system:anonymous");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

#[async_trait]
impl Authenticator for Anonymous {
    async fn authenticate(&self, _: &http::request::Parts) -> Result<Option<UserInfo>, Status> {
        Ok(Some(UserInfo {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        }))
    }
}
