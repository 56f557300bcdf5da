//! [`Union`]: several authenticators in order.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_machinery::Status;

use super::Authenticator;
use crate::request::UserInfo;

/// Asks authenticators in order until one knows the user.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::{Anonymous, TokenFile, Union};
///
/// let tokens = TokenFile::parse("31ada4fd,alice,1001").unwrap();
/// let authenticator = Union::fail_on_error(vec![Arc::new(tokens), Arc::new(Anonymous)]);
/// # let _ = authenticator;
/// ```
#[derive(Clone)]
pub struct Union {
    members: Vec<Arc<dyn Authenticator>>,
    fail_on_error: bool,
}

impl Union {
    /// Asks all authenticators: invalid credentials of one kind do not matter if there are valid ones of another. If none
    /// knows the user, the first error is returned.
    pub fn new(members: Vec<Arc<dyn Authenticator>>) -> Self {
        Self {
            members,
            fail_on_error: false,
        }
    }

    /// Stops at the first error: a request with invalid credentials is not authenticated as somebody else.
    pub fn fail_on_error(members: Vec<Arc<dyn Authenticator>>) -> Self {
        Self {
            members,
            fail_on_error: true,
        }
    }
}

#[async_trait]
impl Authenticator for Union {
    async fn authenticate(
        &self,
        request: &http::request::Parts,
    ) -> Result<Option<UserInfo>, Status> {
        let mut error = None;
        for member in &self.members {
            match member.authenticate(request).await {
                Ok(Some(user)) => return Ok(Some(user)),
                Ok(None) => {}
                Err(e) if self.fail_on_error => return Err(e),
                Err(e) => error = error.or(Some(e)),
            }
        }
        error.map_or(Ok(None), Err)
    }
}
