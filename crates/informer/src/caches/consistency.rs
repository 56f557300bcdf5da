//! [`ConsistencyStore`]: what a controller has written, until its caches show it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::key::Key;
use crate::store::Indexer;
use crate::version;

/// Remembers for each owner up to which revision its controller has written, resource by resource. A controller asks
/// [`ensure_ready`](Self::ensure_ready) before it acts on an owner again, and comes back later while a cache is behind: it
/// would decide by a state from before its own writes.
///
/// ```
/// # use std::sync::Arc;
/// use kubewright_informer::caches::ConsistencyStore;
/// use kubewright_informer::{Indexer, Key};
///
/// let pods = Arc::new(Indexer::new());
/// let written = ConsistencyStore::new([("pods", pods.clone())]);
/// let owner = Key::new(Some("default"), "web");
/// # pods.bookmark("40");
/// written.wrote_at(&owner, "uid-1", "pods", "42");
/// let behind = written.ensure_ready(&owner).unwrap_err();
/// assert_eq!(behind.to_string(), "pods at 40, written at 42");
/// # pods.bookmark("43");
/// assert!(written.ensure_ready(&owner).is_ok());
/// ```
pub struct ConsistencyStore {
    caches: HashMap<String, Arc<Indexer>>,
    owners: Mutex<HashMap<Key, Written>>,
}

/// What was written for one owner.
struct Written {
    uid: String,
    /// By resource.
    versions: BTreeMap<String, String>,
}

/// A cache does not show yet what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} at {read}, written at {wrote}")]
pub struct Behind {
    /// The resource.
    pub resource: String,
    /// The revision the cache shows.
    pub read: String,
    /// The revision that was written.
    pub wrote: String,
}

impl ConsistencyStore {
    /// A store that asks these caches, by resource.
    pub fn new<R: Into<String>>(caches: impl IntoIterator<Item = (R, Arc<Indexer>)>) -> Self {
        let caches = caches.into_iter().map(|(name, cache)| (name.into(), cache));
        Self {
            caches: caches.collect(),
            owners: Mutex::default(),
        }
    }

    /// Something of that resource was written for an owner. Of several writes the newest counts; another uid under the
    /// same name is another owner.
    pub fn wrote_at(&self, owner: &Key, uid: &str, resource: &str, version: &str) {
        let mut owners = self.owners.lock();
        let written = owners.entry(owner.clone()).or_insert_with(|| Written {
            uid: uid.to_owned(),
            versions: BTreeMap::new(),
        });
        if written.uid != uid {
            uid.clone_into(&mut written.uid);
            written.versions.clear();
        }
        let newest = written.versions.entry(resource.to_owned()).or_default();
        // What cannot be compared was written later.
        if version::compare(version, newest).is_none_or(|order| order.is_gt()) {
            version.clone_into(newest);
        }
    }

    /// Whether the caches show all that was written for an owner. A cache that is not known, shows no revision, or one that
    /// cannot be compared, is not waited for.
    pub fn ensure_ready(&self, owner: &Key) -> Result<(), Behind> {
        let mut owners = self.owners.lock();
        let Some(written) = owners.get(owner) else {
            return Ok(());
        };
        for (resource, wrote) in &written.versions {
            let read = self.caches.get(resource).and_then(|c| c.resource_version());
            if let Some(read) = read
                && version::compare(&read, wrote).is_some_and(|order| order.is_lt())
            {
                return Err(Behind {
                    resource: resource.clone(),
                    read,
                    wrote: wrote.clone(),
                });
            }
        }
        owners.remove(owner);
        Ok(())
    }

    /// Forgets an owner: that one, or whoever has the name if no uid is given.
    pub fn clear(&self, owner: &Key, uid: &str) {
        let mut owners = self.owners.lock();
        if owners
            .get(owner)
            .is_some_and(|written| uid.is_empty() || written.uid == uid)
        {
            owners.remove(owner);
        }
    }
}
