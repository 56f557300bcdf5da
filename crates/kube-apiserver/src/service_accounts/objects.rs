//! The stored objects that tokens are bound to, of which only a few fields are decoded.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::registry::Fields;
use kubewright_machinery::json::Read;
use kubewright_store::{Entry, Key, ReadError, Revision, Store};
use parking_lot::Mutex;
use serde_json::Value;

use super::claims::{LEEWAY_SECONDS, Reference};

/// Reads objects of the built-in kinds.
#[derive(Clone)]
pub(crate) struct Objects {
    store: Arc<dyn Store>,
    metadata: Arc<Fields>,
}

/// The last version of an object that was found to be the one that a token names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Confirmed {
    revision: Revision,
    /// The second in which the object was deleted, or will be after its grace period.
    deleted: Option<i64>,
}

/// The outcome of looking for the object that a token names.
pub(super) enum Found {
    /// It exists.
    Live,
    /// There is no object of that name.
    Missing,
    /// There is an object of that name and another uid.
    Other {
        /// The uid of the object.
        uid: String,
    },
    /// It was deleted more than a minute ago and waits for its finalizers.
    Deleted,
}

/// Remembers the version of an object that was checked, so that it is decoded once.
#[derive(Default)]
pub(super) struct Memory(Mutex<Option<Confirmed>>);

impl Objects {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let metadata = Fields::new(["metadata.uid", "metadata.deletionTimestamp"]);
        Self {
            store,
            metadata: Arc::new(metadata),
        }
    }

    /// Returns an object as it is stored. The namespace of a cluster-scoped object is empty.
    pub(super) async fn entry(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Entry>, ReadError> {
        let path = match namespace {
            "" => name.to_owned(),
            namespace => format!("{namespace}/{name}"),
        };
        self.store.get(&Key::new(resource, path)).await
    }

    /// Returns some fields of an object, or `None` if it does not exist.
    pub(crate) async fn fields(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        fields: &Fields,
    ) -> Result<Option<Value>, ReadError> {
        let entry = self.entry(resource, namespace, name).await?;
        Ok(entry.map(|entry| fields.decode(&entry.bytes)))
    }

    /// Looks for the object that a token names.
    pub(super) async fn find(
        &self,
        resource: &str,
        namespace: &str,
        reference: &Reference,
        memory: &Memory,
        now: Timestamp,
    ) -> Result<Found, ReadError> {
        let entry = self.entry(resource, namespace, &reference.name).await?;
        let Some(entry) = entry else {
            return Ok(Found::Missing);
        };
        let known = memory.0.lock().filter(|c| c.revision == entry.revision);
        let confirmed = match known {
            Some(known) => known,
            None => {
                let object = self.metadata.decode(&entry.bytes);
                let uid = object["metadata"]["uid"].text();
                if uid != reference.uid {
                    let uid = uid.to_owned();
                    return Ok(Found::Other { uid });
                }
                let confirmed = Confirmed {
                    revision: entry.revision,
                    deleted: deleted_at(&object),
                };
                *memory.0.lock() = Some(confirmed);
                confirmed
            }
        };
        Ok(match confirmed.deleted {
            Some(at) if is_long_ago(at, now) => Found::Deleted,
            _ => Found::Live,
        })
    }
}

/// Returns whether a second was over before the leeway between clocks began.
fn is_long_ago(second: i64, now: Timestamp) -> bool {
    let deadline = now.as_second().saturating_sub(LEEWAY_SECONDS);
    second < deadline || (second == deadline && now.subsec_nanosecond() > 0)
}

/// Returns the second of the deletion of an object that waits for its finalizers or its grace period.
fn deleted_at(object: &Value) -> Option<i64> {
    let time = object["metadata"]["deletionTimestamp"].as_str()?;
    // A time that cannot be read was long ago.
    let time: Option<Timestamp> = time.parse().ok();
    Some(time.map_or(i64::MIN, Timestamp::as_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_counts_after_a_minute() {
        let now = |second, nanosecond| Timestamp::new(second, nanosecond).unwrap();
        assert!(!is_long_ago(100, now(160, 0)));
        assert!(is_long_ago(100, now(160, 1)));
        assert!(is_long_ago(100, now(161, 0)));
        assert!(!is_long_ago(200, now(160, 0)));
        assert!(is_long_ago(i64::MIN, now(0, 0)));
    }
}
