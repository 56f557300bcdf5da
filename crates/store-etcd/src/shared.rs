//! [`Shared`]: the state shared by a store, its feed and its background tasks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use kubewright_store::{Entry, Failure, FailureKind, Key, MemoryStore, Revision, layout::Layout};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, timeout},
};

use crate::{api::KeyValue, feed::Command, grpc::Channel, own_writes::OwnWrites};

/// The time after which a change is considered late, and etcd's progress is requested.
const SOON: Duration = Duration::from_millis(2);
/// The interval of progress requests.
const ASK: Duration = Duration::from_millis(100);
/// The time after which the watch is restarted at another member.
const STALLED: Duration = Duration::from_secs(2);

/// The shared state of a store.
pub(crate) struct Shared {
    /// Serves reads and watches of clients.
    pub(crate) published: MemoryStore,
    /// The revision of `published`.
    pub(crate) applied: watch::Sender<Revision>,
    /// Makes the feed request progress.
    pub(crate) progress_wanted: Notify,
    /// Makes the feed restart the watch.
    pub(crate) stalled: Notify,
    /// Makes all calls other than the watch.
    pub(crate) channel: Channel,
    pub(crate) names: Names,
    pub(crate) own: OwnWrites,
    /// Sends commands to the feed.
    pub(crate) commands: mpsc::Sender<Command>,
    /// The number of values that could not be decoded.
    pub(crate) unreadable: AtomicU64,
    /// The number of times that memory differed from etcd.
    pub(crate) inconsistencies: AtomicU64,
    /// The time since which the feed has no watch, and the reason.
    pub(crate) broken: Mutex<Option<(Instant, String)>>,
}

/// Conversion between keys and values of etcd, and objects.
pub(crate) struct Names {
    /// The prefix with a trailing slash.
    prefix: String,
    pub(crate) layout: Arc<dyn Layout>,
}

/// A value that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode the value of {name}: {reason}")]
pub(crate) struct Unreadable {
    name: String,
    reason: String,
}

impl Names {
    pub(crate) fn new(prefix: &str, layout: Arc<dyn Layout>) -> Self {
        Self {
            prefix: format!("{prefix}/"),
            layout,
        }
    }

    /// Returns the prefix with a trailing slash.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the etcd key of an object.
    pub(crate) fn name(&self, key: &Key) -> Result<Bytes, Failure> {
        let name = self.layout.name(key).ok_or_else(|| {
            let text = format!("{} has no place in etcd", key.collection);
            Failure::new(FailureKind::Internal, text)
        })?;
        Ok(format!("{}{name}", self.prefix).into())
    }

    /// Returns the object key for an etcd key.
    pub(crate) fn key(&self, name: &[u8]) -> Option<Key> {
        let name = std::str::from_utf8(name).ok()?;
        self.layout.key(name.strip_prefix(&self.prefix)?)
    }

    /// Decodes a value.
    pub(crate) fn entry(&self, key: &Key, kv: &KeyValue) -> Result<Entry, Unreadable> {
        let payload = self.layout.decode(key, &kv.value);
        let payload = payload.map_err(|reason| Unreadable::new(&kv.key, &*reason))?;
        let revision = Revision(kv.mod_revision);
        Ok(Entry {
            path: Arc::clone(&key.path),
            revision,
            bytes: payload.spliced(revision),
            decoded: None,
        })
    }
}

impl Unreadable {
    pub(crate) fn new(name: &[u8], reason: &dyn std::error::Error) -> Self {
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            reason: reason.to_string(),
        }
    }
}

impl From<Unreadable> for Failure {
    fn from(error: Unreadable) -> Self {
        Self::new(FailureKind::Internal, error.to_string())
    }
}

impl Shared {
    /// Returns the revision up to which changes are readable.
    pub(crate) fn applied(&self) -> Revision {
        *self.applied.borrow()
    }

    /// Waits until a revision of etcd is readable.
    pub(crate) async fn reach(&self, revision: Revision, within: Duration) -> Result<(), Failure> {
        if self.applied() >= revision {
            return Ok(());
        }
        let mut applied = self.applied.subscribe();
        let began = Instant::now();
        let mut pause = SOON;
        let mut is_stalled = false;
        while began.elapsed() < within {
            let reached = applied.wait_for(|applied| *applied >= revision);
            if let Ok(reached) = timeout(pause, reached).await {
                return match reached {
                    Ok(_) => Ok(()),
                    Err(_) => Err(Failure::new(
                        FailureKind::Unavailable,
                        "the store is closed",
                    )),
                };
            }
            pause = ASK;
            if began.elapsed() > STALLED && !is_stalled {
                is_stalled = true;
                self.stalled.notify_one();
            }
            self.progress_wanted.notify_one();
        }
        let why = self.broken.lock().as_ref().map(|(_, why)| why.clone());
        let text = match why {
            Some(why) => format!("etcd's watch is interrupted: {why}"),
            None => format!(
                "etcd's watch is at revision {}, behind {}",
                self.applied().0,
                revision.0
            ),
        };
        Err(Failure::new(FailureKind::Unavailable, text))
    }

    /// Counts and logs a value that cannot be decoded.
    pub(crate) fn note_unreadable(&self, error: &Unreadable) {
        let before = self.unreadable.fetch_add(1, Ordering::Relaxed);
        // The first ones are logged, and then fewer and fewer.
        if before < 10 || (before + 1).is_power_of_two() {
            tracing::warn!(total = before + 1, "{error}");
        }
    }
}
