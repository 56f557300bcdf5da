//! [`NotSynced`]: why a cache is not filled.

use std::fmt;
use std::sync::Arc;

use kube::core::ApiResource;

use crate::reflector::ReflectorError;

/// The reason why a cache is not filled.
#[derive(Clone, Debug)]
pub struct NotSynced {
    /// The resource.
    pub resource: ApiResource,
    /// The error of the last attempt, if any attempt has failed.
    pub reason: Option<Arc<ReflectorError>>,
    /// True if the informer was not started, or has stopped.
    pub stopped: bool,
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = name(&self.resource);
        match (&self.reason, self.stopped) {
            (Some(reason), _) => write!(f, "{resource} not synced: {reason}"),
            (None, true) => write!(f, "{resource} not synced: the informer does not run"),
            (None, false) => write!(f, "{resource} not synced: no answer yet"),
        }
    }
}

impl std::error::Error for NotSynced {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let reason = self.reason.as_deref()?;
        Some(reason)
    }
}

/// Returns the name of a resource: `pods`, `deployments.apps`.
pub(crate) fn name(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}
