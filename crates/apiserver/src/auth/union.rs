//! Several authenticators, one after the other.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_machinery::Status;

use super::Authenticator;
use crate::request::UserInfo;

/// Asks authenticators in order until one knows the user.
#[derive(Clone)]
pub struct Union {
    members: Vec<Arc<dyn Authenticator>>,
    fail_on_error: bool,
}

impl Union {
    /// Asks all: bad credentials of one kind do not matter where there are good ones of another. If nobody knows the
    /// user, the first error counts.
    pub fn new(members: Vec<Arc<dyn Authenticator>>) -> Self {
        Self {
            members,
            fail_on_error: false,
        }
    }

    /// The first error ends it: whoever gives bad credentials is not let in as somebody else.
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
