//! [`GracefulDeletion`]: deletion of objects that need time to terminate.

mod resume;
mod terminations;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use kubewright_apiserver::{
    boxed_async,
    registry::{Delete, Deleted, Generic, Handlers},
    request::{DeleteOptions, RequestContext},
};
use kubewright_machinery::{Status, json::Read};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use resume::Resumer;
pub(crate) use terminations::Terminations;

use crate::storage::ServedKind;
use terminations::{Ending, Removal};

/// The deletion of objects that represent something that takes time to terminate, such as the processes of a pod.
///
/// A delete request sets `deletionTimestamp` and `deletionGracePeriodSeconds`, and starts [`terminate`](Self::terminate). When
/// that completes, or the period ends, the object is removed once it has no finalizers. A later request can shorten the
/// period, also while `terminate` runs; zero removes the object immediately.
///
/// A server that is [started](crate::ExtensionServer::serve) continues the deletions that were interrupted when another one
/// stopped. Of several replicas, another continues a deletion whose period has ended some seconds ago.
///
/// ```
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Probe")]
/// # pub struct ProbeSpec { address: String }
/// use kubewright_extension_apiserver::GracefulDeletion;
///
/// struct Landing;
///
/// #[async_trait]
/// impl GracefulDeletion<Probe> for Landing {
///     fn grace_period(&self, _: &Probe, requested: Option<i64>) -> i64 {
///         requested.unwrap_or(60)
///     }
///
///     async fn terminate(&self, probe: Probe) {
///         println!("{} lands", probe.spec.address);
///     }
/// }
/// ```
#[async_trait]
pub trait GracefulDeletion<K: ServedKind>: Send + Sync + 'static {
    /// Returns the grace period in seconds (default: the requested one, or 30 s).
    fn grace_period(&self, _object: &K, requested: Option<i64>) -> i64 {
        requested.unwrap_or(30)
    }

    /// Terminates what the object represents. It is cancelled at the end of the grace period.
    ///
    /// It runs once for each object in a server, and again after a restart or in another replica, so it must be idempotent.
    async fn terminate(&self, object: K);
}

/// Returns the grace period of an object. Objects that do not fit the type are deleted immediately.
pub(crate) fn grace_period<K: ServedKind>(
    deletion: &Arc<dyn GracefulDeletion<K>>,
    object: &Value,
    requested: Option<i64>,
) -> i64 {
    let object = serde_json::from_value::<K>(object.clone());
    object.map_or(0, |object| deletion.grace_period(&object, requested))
}

/// Returns handlers that delete gracefully.
pub(crate) fn handlers<K: ServedKind>(
    terminations: &Arc<Terminations<K>>,
    generic: &Generic,
    handlers: Handlers,
) -> Handlers {
    let delete = handlers.delete.map(|inner| {
        let graceful: Arc<dyn Delete> = Arc::new(Graceful {
            inner,
            generic: generic.clone(),
            terminations: terminations.clone(),
        });
        graceful
    });
    Handlers {
        delete,
        // Deleting a collection would bypass the hook.
        delete_collection: None,
        ..handlers
    }
}

struct Graceful<K> {
    inner: Arc<dyn Delete>,
    generic: Generic,
    terminations: Arc<Terminations<K>>,
}

#[boxed_async]
impl<K: ServedKind> Delete for Graceful<K> {
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let object = self.terminations.read(cx, name).await?;
        let deleted = self.inner.delete(cx, name, options).await?;
        if !options.dry_run {
            self.terminate(cx, object, &deleted);
        }
        Ok(deleted)
    }

    fn returns_deleted_object(&self) -> bool {
        self.inner.returns_deleted_object()
    }
}

impl<K: ServedKind> Graceful<K> {
    /// Starts the termination of an object, or shortens its grace period.
    fn terminate(&self, cx: &RequestContext, object: K, deleted: &Deleted) {
        let period = match serde_json::from_slice::<Value>(&deleted.object.bytes) {
            Ok(deleted) => deleted["metadata"]["deletionGracePeriodSeconds"].int(),
            Err(_) => 0,
        };
        if !deleted.gone && period == 0 {
            // The object has finalizers, and was terminated before.
            return;
        }
        let removal = Removal {
            generic: self.generic.clone(),
            cx: cx.clone(),
        };
        let period = u64::try_from(period).unwrap_or_default();
        let ending = Ending {
            began: Instant::now(),
            period: Duration::from_secs(period),
            removal: (!deleted.gone).then_some(removal),
        };
        self.terminations.start(object, ending);
    }
}
