//! Impersonation: requests that one user makes as another.
//!
//! A request names the other user in headers. Each [`Mode`] is a set of permissions that allow it; the first mode that
//! does determines the user of the request. The mode that a user succeeded with is tried first the next time, as in
//! Kubernetes: it affects the groups of a node and the messages of 403 responses.

mod headers;
mod metrics;
mod mode;
mod questions;
#[cfg(test)]
mod tests;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Instant,
};

use http::request::Parts;
use kubewright_machinery::{Status, status};
use kubewright_metrics::TextWriter;
use parking_lot::Mutex;

pub(crate) use self::headers::is_requested;
use self::{metrics::ImpersonationMetrics, mode::Mode, questions::Questions};
use super::{Attributes, Authorizer, generations::Generations};
use crate::request::UserInfo;

/// The maximum number of users in each generation whose mode is remembered.
const REMEMBERED: usize = 5_000;

/// Marks a request that is made as another user than the one who sent it. Handlers of such a request find it among its
/// extensions; their `RequestContext` has the user that it is made as.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{auth::Impersonated, request::UserInfo};
///
/// let user = |name: &str| Arc::new(UserInfo { name: name.into(), ..UserInfo::default() });
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(Impersonated {
///     requestor: user("alice"),
///     user: user("bob"),
///     constraint: "impersonate:user-info",
/// });
/// let impersonated: &Impersonated = request.extensions().get().unwrap();
/// assert_eq!(impersonated.requestor.name, "alice");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    /// The user who sent the request.
    pub requestor: Arc<UserInfo>,
    /// The user that the request is made as.
    pub user: Arc<UserInfo>,
    /// The verb that allowed it, such as `impersonate:user-info`; empty for the verb `impersonate`. Audit events show it.
    pub constraint: &'static str,
}

/// Authorizes impersonation.
pub(crate) struct Impersonation {
    /// The mode by which a user succeeded, by the hash of the name. A collision only changes the order of attempts.
    last: Mutex<Generations<u64, Mode>>,
    hasher: RandomState,
    metrics: ImpersonationMetrics,
}

impl Impersonation {
    pub(crate) fn new() -> Self {
        Self {
            last: Mutex::new(Generations::new(REMEMBERED)),
            hasher: RandomState::new(),
            metrics: ImpersonationMetrics::new(),
        }
    }

    /// Removes the headers that name another user and returns the user that the request is made as, or `None` if the
    /// request does not ask for it. `attributes` are those of the request, `requestor` is their user.
    ///
    /// # Errors
    ///
    /// Fails if the headers name no user or if the requestor may not make this request as that user.
    pub(crate) async fn take(
        &self,
        authorizer: &dyn Authorizer,
        parts: &mut Parts,
        requestor: &Arc<UserInfo>,
        attributes: &Attributes<'_>,
    ) -> Result<Option<Impersonated>, Status> {
        let Some(wanted) = headers::take(&mut parts.headers)? else {
            return Ok(None);
        };
        let began = Instant::now();
        let found = self.find(authorizer, &wanted, attributes).await;
        let mode = found.as_ref().ok().map(|(_, mode)| *mode);
        self.metrics.attempted(mode, began.elapsed());
        let (user, mode) = found?;
        let impersonated = Impersonated {
            requestor: requestor.clone(),
            user: Arc::new(user),
            constraint: mode.constraint(),
        };
        parts.extensions.insert(impersonated.clone());
        Ok(Some(impersonated))
    }

    /// Writes the metrics.
    pub(crate) fn collect(&self, out: &mut TextWriter) {
        self.metrics.collect(out);
    }

    /// Returns the user and the first mode that allows it. The error is that of the first mode that refused.
    async fn find(
        &self,
        authorizer: &dyn Authorizer,
        wanted: &UserInfo,
        attributes: &Attributes<'_>,
    ) -> Result<(UserInfo, Mode), Status> {
        let requestor = self.hasher.hash_one(&attributes.user.name);
        let last = self.last.lock().get(&requestor);
        let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
        let mut refusal = None;
        for mode in last.into_iter().chain(others) {
            let questions = Questions::default();
            let checked = mode.check(authorizer, wanted, attributes, &self.metrics, &questions);
            match checked.await {
                Some(Ok(user)) => {
                    questions.tell(authorizer, true);
                    if Some(mode) != last {
                        self.last.lock().insert(requestor, mode);
                    }
                    return Ok((user, mode));
                }
                Some(Err(error)) => refusal = refusal.or(Some((error, questions))),
                None => {}
            }
        }
        let Some((error, questions)) = refusal else {
            return Err(status::internal("all impersonation modes failed"));
        };
        questions.tell(authorizer, false);
        Err(error)
    }
}

/// Returns whether nothing but the name of a user is given.
fn has_only_a_name(user: &UserInfo) -> bool {
    user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty()
}
