//! [`Moment`]: the objects of a cluster after a write, and the checks that must hold after every one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kubewright_store::{Change, ChangeKind, MemoryStore, Range, Store};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

/// The objects of some resources after a write. They are as they are stored: with UIDs, versions and times.
///
/// ```
/// use kubewright_testing::{Moment, perturb};
///
/// # fn program(manager: kubewright_controller::ManagerBuilder) -> Result<kubewright_controller::Manager, kubewright_controller::ManagerError> { manager.build() }
/// # async fn story(_: kubewright_testing::World) {}
/// perturb(program, story)
///     .always("there is at most one secret", ["secrets"], |moment: &Moment| {
///         match moment.of("secrets").count() {
///             0 | 1 => Ok(()),
///             count => Err(format!("there are {count}")),
///         }
///     })
///     .without_leader_election()
///     .at_most(3)
///     .run();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Moment(BTreeMap<(String, Arc<str>), Value>);

impl Moment {
    /// Returns the objects of a resource (`secrets`, `deployments.apps`), which must be one of those of the check.
    pub fn of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Value> {
        let all = self.0.iter();
        all.filter(move |((known, _), _)| known == resource)
            .map(|(_, object)| object)
    }

    /// Returns the object of a resource with a key: `namespace/name`, or `name`.
    pub fn get(&self, resource: &str, key: &str) -> Option<&Value> {
        self.0.get(&(resource.to_owned(), key.into()))
    }
}

/// Says what is wrong with the objects at a moment.
type Check = dyn Fn(&Moment) -> Result<(), String> + Send + Sync;

/// A check that must hold after every write.
#[derive(Clone)]
pub(super) struct Always {
    pub(super) name: String,
    pub(super) resources: Vec<String>,
    pub(super) holds: Arc<Check>,
}

/// The changes of a run, from its start.
pub(super) struct History {
    start: Moment,
    recorded: Arc<Mutex<Recorded>>,
    _watches: JoinSet<()>,
}

#[derive(Default)]
struct Recorded {
    changes: Vec<(String, Arc<Change>)>,
    /// The reason for which changes are missing.
    problem: Option<String>,
}

impl History {
    /// Begins to record the changes that the checks need.
    pub(super) async fn begin(store: &MemoryStore, checks: &[Always]) -> Result<Self, String> {
        let resources = checks.iter().flat_map(|check| &check.resources);
        let resources: BTreeSet<&String> = resources.collect();
        let mut history = Self {
            start: Moment::default(),
            recorded: Arc::default(),
            _watches: JoinSet::new(),
        };
        let cannot = |error: &dyn std::fmt::Display| format!("cannot read the store: {error}");
        let now = store.snapshot(None).await.map_err(|e| cannot(&e))?;
        for resource in resources {
            let collection = collection_of(resource);
            let page = now.range(&collection, Range::default()).await;
            for entry in page.map_err(|e| cannot(&e))?.entries {
                let object = serde_json::from_slice(&entry.bytes).map_err(|e| cannot(&e))?;
                let key = (resource.clone(), entry.path.clone());
                history.start.0.insert(key, object);
            }
            let watch = store.watch(&collection, "", now.revision()).await;
            let mut watch = watch.map_err(|e| cannot(&e))?;
            let (resource, recorded) = (resource.clone(), history.recorded.clone());
            history._watches.spawn(async move {
                loop {
                    match watch.next().await {
                        Ok(changes) => {
                            let changes = changes.into_iter();
                            let changes = changes.map(|change| (resource.clone(), change));
                            recorded.lock().changes.extend(changes);
                        }
                        Err(error) => {
                            recorded.lock().problem = Some(error.to_string());
                            return;
                        }
                    }
                }
            });
        }
        Ok(history)
    }

    /// Replays the changes, and checks the objects after each one.
    pub(super) fn check(&self, checks: &[Always]) -> Result<(), String> {
        let recorded = self.recorded.lock();
        if let Some(problem) = &recorded.problem {
            return Err(format!("not every write could be checked: {problem}"));
        }
        let mut changes: Vec<&(String, Arc<Change>)> = recorded.changes.iter().collect();
        changes.sort_by_key(|(_, change)| change.revision);
        let mut moment = self.start.clone();
        for (resource, change) in changes {
            let key = (resource.clone(), change.entry.path.clone());
            match change.kind {
                ChangeKind::Deleted => drop(moment.0.remove(&key)),
                ChangeKind::Created | ChangeKind::Updated => {
                    let object = serde_json::from_slice(&change.entry.bytes);
                    let object = object.map_err(|error| format!("cannot decode: {error}"))?;
                    moment.0.insert(key, object);
                }
            }
            for check in checks.iter().filter(|c| c.resources.contains(resource)) {
                (check.holds)(&moment).map_err(|reason| {
                    let (name, path) = (&check.name, &change.entry.path);
                    let kind = match change.kind {
                        ChangeKind::Created => "created",
                        ChangeKind::Updated => "updated",
                        ChangeKind::Deleted => "deleted",
                    };
                    let revision = change.revision.0;
                    format!(
                        "{name}: {reason}, after {resource} {path} was {kind} (revision {revision})"
                    )
                })?;
            }
        }
        Ok(())
    }
}

/// Returns the collection of a resource in the store.
fn collection_of(resource: &str) -> String {
    match resource.split_once('.') {
        Some((plural, group)) => format!("{group}/{plural}"),
        None => resource.to_owned(),
    }
}
