//! [`LocalUser`]: the user of a request that was made in this process.

use std::sync::Arc;

use kubewright_derive::boxed_async;

use super::{
    Authenticated, AuthenticationError, Authenticator, Credentials, authenticator::add_group,
};
use crate::request::UserInfo;

/// The user of a request, as an extension that a caller in the same process adds. Nothing that comes from a socket has
/// extensions, so only code of this program can authenticate this way.
///
/// ```
/// use kubewright_apiserver::{
///     auth::{Credentials, LocalUser, LocalUsers},
///     request::UserInfo,
/// };
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let alice = UserInfo { name: "alice".into(), ..UserInfo::default() };
/// let (mut parts, ()) = http::Request::new(()).into_parts();
/// assert!(Credentials::new(&parts, &[]).authenticate(&LocalUsers).await.unwrap().is_none());
///
/// parts.extensions.insert(LocalUser::new(alice));
/// let known = Credentials::new(&parts, &[]).authenticate(&LocalUsers).await.unwrap().unwrap();
/// assert_eq!(known.user.name, "alice");
/// assert_eq!(known.user.groups, ["system:authenticated"]);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct LocalUser(Arc<UserInfo>);

impl LocalUser {
    /// Creates the extension for a user, who becomes a member of `system:authenticated`.
    pub fn new(mut user: UserInfo) -> Self {
        add_group(&mut user);
        Self(Arc::new(user))
    }

    /// Returns the user.
    pub fn user(&self) -> &UserInfo {
        &self.0
    }
}

/// Authenticates requests that have a [`LocalUser`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalUsers;

#[boxed_async]
impl Authenticator for LocalUsers {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let user = credentials.parts.extensions.get::<LocalUser>();
        Ok(user.map(|user| user.0.clone().into()))
    }
}
