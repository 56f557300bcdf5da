//! [`Resumer`]: continues deletions that were interrupted.

use std::{sync::Arc, time::Duration};

use http::Method;
use jiff::Timestamp;
use kubewright_apiserver::{
    admission::AdmissionChain,
    auth::AlwaysAllow,
    registry::{Generic, Resource},
    request::{Annotations, Query, RequestContext, RequestInfo, UserInfo, Warnings},
};
use kubewright_machinery::{Status, json::Read, status};
use kubewright_store::{Range, Store};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::terminations::{Ending, Removal, Terminations};
use crate::storage::ServedKind;

/// The interval at which objects are looked for whose server is gone.
const INTERVAL: Duration = Duration::from_secs(30);
/// The time after the end of a grace period at which the server of the deletion must be gone.
const OVERDUE: i64 = 5;
/// The number of objects that are read at once.
const PAGE: usize = 500;
/// The field of objects that are being deleted.
const PERIOD: &str = "deletionGracePeriodSeconds";

/// Continues deletions that were interrupted: at the start all of them, and later those that are overdue.
pub(crate) struct Resumer<K> {
    pub(crate) terminations: Arc<Terminations<K>>,
    pub(crate) generic: Generic,
    pub(crate) store: Arc<dyn Store>,
}

/// The deletions to continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Overdue,
}

/// An object that is being deleted.
#[derive(Debug, PartialEq)]
struct Deleting {
    namespace: String,
    name: String,
    uid: String,
    due: Timestamp,
    period: Duration,
}

impl<K: ServedKind> Resumer<K> {
    /// Continues deletions. Never returns.
    pub(crate) async fn run(self) {
        let resource = Arc::new(self.generic.clone().into_resource());
        let mut which = Which::All;
        loop {
            match self.pass(which, &resource).await {
                Ok(()) => which = Which::Overdue,
                Err(error) => {
                    tracing::warn!(%error, "cannot look for objects that are being deleted");
                }
            }
            sleep(INTERVAL).await;
        }
    }

    async fn pass(&self, which: Which, resource: &Arc<Resource>) -> Result<(), Status> {
        let collection = self.generic.key("", "").collection;
        let snapshot = self.store.snapshot(None).await.map_err(status::internal)?;
        let mut start = String::new();
        loop {
            let range = Range {
                start: start.clone(),
                limit: PAGE,
                ..Range::default()
            };
            let page = snapshot.range(&collection, range).await;
            let page = page.map_err(status::internal)?;
            for entry in &page.entries {
                if let Some(found) = Deleting::read(&entry.bytes) {
                    self.resume(which, resource, found).await;
                }
            }
            match page.entries.last().filter(|_| page.remaining > 0) {
                // The first path after it.
                Some(last) => start = format!("{}\0", last.path),
                None => return Ok(()),
            }
        }
    }

    async fn resume(&self, which: Which, resource: &Arc<Resource>, found: Deleting) {
        let now = self.generic.clock().now();
        let left = found.due.duration_since(now);
        let is_overdue = left.as_secs() < -OVERDUE;
        if self.terminations.is_running(&found.uid) || (which == Which::Overdue && !is_overdue) {
            return;
        }
        let cx = self.context(resource, &found);
        let object = match self.terminations.read(&cx, &found.name).await {
            Ok(object) if object.meta().uid.as_deref() == Some(&found.uid) => object,
            // It is gone.
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(name = found.name, %error, "cannot continue a deletion");
                return;
            }
        };
        tracing::info!(name = found.name, "an interrupted deletion continues");
        let left = Duration::try_from(left).unwrap_or_default();
        let passed = found.period.saturating_sub(left);
        let now = Instant::now();
        let ending = Ending {
            began: now.checked_sub(passed).unwrap_or(now),
            period: match left {
                Duration::ZERO => Duration::ZERO,
                _ => found.period,
            },
            removal: Some(Removal {
                generic: self.generic.clone(),
                cx,
            }),
        };
        self.terminations.start(object, ending);
    }

    /// Returns the context of a request of the server itself.
    fn context(&self, resource: &Arc<Resource>, object: &Deleting) -> RequestContext {
        let spec = self.generic.spec();
        let (version, plural) = (spec.kind.api_version(), &spec.plural);
        let path = match object.namespace.as_str() {
            "" => format!("/apis/{version}/{plural}/{}", object.name),
            namespace => format!(
                "/apis/{version}/namespaces/{namespace}/{plural}/{}",
                object.name
            ),
        };
        let query = Query::parse(None);
        let user = UserInfo {
            name: "system:apiserver".to_owned(),
            ..UserInfo::default()
        };
        RequestContext {
            info: Arc::new(RequestInfo::new(&Method::DELETE, &path, &query)),
            query: Arc::new(query),
            user: Arc::new(user),
            user_agent: "kubewright".into(),
            warnings: Warnings::default(),
            resource: resource.clone(),
            admission: AdmissionChain::default(),
            authorizer: Arc::new(AlwaysAllow),
            annotations: Annotations::default(),
            deadline: None,
        }
    }
}

impl Deleting {
    /// Reads a stored object, if it is being deleted with a grace period.
    fn read(bytes: &[u8]) -> Option<Self> {
        // Few objects are, so most need not be decoded.
        if !std::str::from_utf8(bytes).is_ok_and(|text| text.contains(PERIOD)) {
            return None;
        }
        let object: Value = serde_json::from_slice(bytes).ok()?;
        let meta = &object["metadata"];
        let period = u64::try_from(meta[PERIOD].int()).ok().filter(|p| *p > 0)?;
        Some(Self {
            namespace: meta["namespace"].text().to_owned(),
            name: meta["name"].text().to_owned(),
            uid: meta["uid"].text().to_owned(),
            due: meta["deletionTimestamp"].text().parse().ok()?,
            period: Duration::from_secs(period),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_objects_with_a_grace_period_are_continued() {
        let read = |meta: Value| Deleting::read(json!({"metadata": meta}).to_string().as_bytes());
        let due = "2026-01-31T12:00:00Z";
        let found = read(json!({
            "name": "a", "namespace": "b", "uid": "c", "deletionTimestamp": due,
            "deletionGracePeriodSeconds": 30,
        }));
        let found = found.unwrap();
        assert_eq!((found.name.as_str(), found.uid.as_str()), ("a", "c"));
        assert_eq!(found.period, Duration::from_secs(30));
        for other in [
            json!({"name": "a"}),
            json!({"name": "a", "deletionTimestamp": due, "deletionGracePeriodSeconds": 0}),
            json!({"name": "a", "deletionTimestamp": "never", "deletionGracePeriodSeconds": 1}),
            json!({"name": "a", "annotations": {"deletionGracePeriodSeconds": "1"}}),
        ] {
            assert_eq!(read(other.clone()), None, "{other}");
        }
    }
}
