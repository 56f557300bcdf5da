//! A model of a store: all staged changes, in order.

use std::{collections::BTreeMap, time::Duration};

use futures_util::FutureExt;
use kubewright_store::{ChangeKind, Key, MemoryStore, Payload, Revision, Store};

/// The collections of a run.
pub(crate) const COLLECTIONS: [&str; 3] = ["pods", "apps/deployments", "events"];

/// A change.
#[derive(Clone, Debug)]
pub(crate) struct Modelled {
    pub(crate) revision: Revision,
    pub(crate) key: Key,
    /// The bytes without the revision; `None` for a deletion.
    pub(crate) says: Option<String>,
    pub(crate) ttl: Option<Duration>,
}

/// All changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) changes: Vec<Modelled>,
}

/// Returns a payload with a text.
pub(crate) fn payload(says: &str, ttl: Option<Duration>) -> Payload {
    Payload {
        revision_at: Some(7),
        ttl,
        ..Payload::plain(format!(r#"{{"rv":"","says":"{says}"}}"#))
    }
}

impl Model {
    pub(crate) fn last(&self) -> Revision {
        self.changes.last().map_or(Revision(0), |c| c.revision)
    }

    /// Removes changes that were rolled back.
    pub(crate) fn truncate(&mut self, revision: Revision) {
        self.changes.retain(|change| change.revision <= revision);
    }

    /// Returns the newest change of a key.
    pub(crate) fn newest(&self, key: &Key) -> Option<&Modelled> {
        self.changes.iter().rev().find(|change| change.key == *key)
    }

    /// Returns the objects at a revision.
    fn at(&self, revision: Revision) -> BTreeMap<Key, &Modelled> {
        let mut objects = BTreeMap::new();
        let until = self.changes.iter().take_while(|c| c.revision <= revision);
        for change in until {
            match change.says {
                Some(_) => objects.insert(change.key.clone(), change),
                None => objects.remove(&change.key),
            };
        }
        objects
    }

    /// Compares a store with the model: its objects, and its readable history.
    pub(crate) fn compare(&self, store: &MemoryStore) -> Result<(), String> {
        let contents = store.contents();
        let revision = contents.revision();
        let expected = self.at(revision);
        let mut seen = 0;
        let mut difference = None;
        contents.for_each(|collection, stored| {
            seen += 1;
            let key = Key::new(collection.clone(), stored.path.clone());
            let problem = match expected.get(&key) {
                None => Some("exists unexpectedly"),
                Some(change) => change.differs(&stored),
            };
            match problem {
                None => std::ops::ControlFlow::Continue(()),
                Some(problem) => {
                    difference = Some(format!("{key:?} at {revision:?} {problem}: {stored:?}"));
                    std::ops::ControlFlow::Break(())
                }
            }
        });
        if let Some(difference) = difference {
            return Err(difference);
        }
        if seen != expected.len() {
            let wanted = expected.len();
            return Err(format!(
                "{seen} objects instead of {wanted} at {revision:?}"
            ));
        }
        self.compare_history(store, contents.floor(), revision)
    }

    fn compare_history(
        &self,
        store: &MemoryStore,
        floor: Revision,
        revision: Revision,
    ) -> Result<(), String> {
        for collection in COLLECTIONS {
            let watch = store.watch(collection, "", floor).now_or_never();
            let Some(Ok(mut watch)) = watch else {
                return Err(format!("no watch of {collection} from {floor:?} on"));
            };
            let mut expected = self.changes.iter().filter(|change| {
                &*change.key.collection == collection
                    && change.revision > floor
                    && change.revision <= revision
            });
            while let Some(Ok(changes)) = watch.next().now_or_never() {
                for change in changes {
                    let same = expected.next().is_some_and(|expected| {
                        expected.revision == change.revision
                            && *expected.key.path == *change.entry.path
                            && expected.says.is_none() == (change.kind == ChangeKind::Deleted)
                    });
                    if !same {
                        return Err(format!(
                            "a watch has an unexpected event at {:?}",
                            change.revision
                        ));
                    }
                }
            }
            if let Some(missing) = expected.next() {
                return Err(format!("a watch lacks the event at {:?}", missing.revision));
            }
        }
        Ok(())
    }
}

impl Modelled {
    fn differs(&self, stored: &kubewright_store::engine::Stored) -> Option<&'static str> {
        let says = self.says.as_deref().unwrap_or_default();
        if stored.revision != self.revision {
            return Some("has another revision");
        }
        if stored.bytes != payload(says, None).spliced(self.revision) {
            return Some("has other bytes");
        }
        let ttl = stored.lifetime.map(|(ttl, _)| ttl);
        if ttl != self.ttl {
            return Some("has another lifetime");
        }
        let left = stored
            .lifetime
            .map(|(_, deadline)| deadline.saturating_duration_since(tokio::time::Instant::now()));
        let too_long = left.zip(self.ttl).is_some_and(|(left, ttl)| left > ttl);
        let too_short = left
            .zip(self.ttl)
            .is_some_and(|(left, ttl)| left + Duration::from_secs(60) < ttl);
        (too_long || too_short).then_some("expires at another time")
    }
}
