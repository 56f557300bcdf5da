//! [`Union`]: several authenticators in order.

use std::sync::Arc;

use http::HeaderMap;
use kubewright_derive::boxed_async;

use super::{Authenticated, AuthenticationError, Authenticator, Credentials};

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
    /// knows the user, their errors are returned as one.
    pub fn new(members: Vec<Arc<dyn Authenticator>>) -> Self {
        Self {
            members,
            fail_on_error: false,
        }
    }

    /// Stops at the first error: a request with invalid credentials is not authenticated as another user.
    pub fn fail_on_error(members: Vec<Arc<dyn Authenticator>>) -> Self {
        Self {
            members,
            fail_on_error: true,
        }
    }
}

#[boxed_async]
impl Authenticator for Union {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let mut errors: Option<AuthenticationError> = None;
        for member in &self.members {
            match (member.authenticate(credentials).await, &mut errors) {
                (Ok(Some(known)), _) => return Ok(Some(known)),
                (Ok(None), _) => {}
                (Err(error), _) if self.fail_on_error => return Err(error),
                (Err(error), Some(errors)) => errors.append(error),
                (Err(error), None) => errors = Some(error),
            }
        }
        errors.map_or(Ok(None), Err)
    }

    fn remove_identity(&self, headers: &mut HeaderMap) {
        for member in &self.members {
            member.remove_identity(headers);
        }
    }
}
