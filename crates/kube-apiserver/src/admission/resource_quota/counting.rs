//! Quotas that no controller has counted: their usage is computed from the store.
//!
//! A controller writes `status.hard` and `status.used`, and recounts when objects are deleted. Without one, `status.hard` is
//! empty, the limits are those of the spec, and the objects of the namespace are counted for each write. A write that has been
//! admitted counts before it is stored, so that writers at the same time cannot exceed the quota together.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use kubewright_builtins::usage::{
    Evaluator, number,
    resource_list::{self, ResourceList},
};
use kubewright_machinery::{Status, json::Read};
use kubewright_store::{Entry, Revision};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    Quota,
    check::{Change, concerns},
};
use crate::admission::stored::decode;

/// The time after which an admitted write that never appeared in the store has failed. Between admission and the store there
/// is nothing that waits.
const PATIENCE: Duration = Duration::from_secs(5);
/// The number of namespaces at which those are forgotten whose writes are all done.
const NAMESPACES: usize = 1_000;

/// The writes that have been admitted and may not be in the store yet, by namespace.
#[derive(Default)]
pub(super) struct Admitted(Mutex<HashMap<String, Vec<Write>>>);

/// An admitted write.
struct Write {
    collection: String,
    path: String,
    /// The revision of the object that it replaces.
    replaces: Option<Revision>,
    object: Value,
    at: Instant,
}

impl Admitted {
    /// Remembers a write until it is stored.
    pub(super) fn add(&self, namespace: &str, collection: &str, change: &Change<'_>) {
        let at = Instant::now();
        let write = Write {
            collection: collection.to_owned(),
            path: path_of(namespace, change.object["metadata"]["name"].text()),
            replaces: change.old.and_then(revision_of),
            object: change.object.clone(),
            at,
        };
        let mut all = self.0.lock();
        if all.len() >= NAMESPACES {
            all.retain(|_, writes| writes.iter().any(|write| !write.is_over(at)));
        }
        let writes = all.entry(namespace.to_owned()).or_default();
        writes.retain(|write| !write.is_over(at));
        writes.push(write);
    }

    /// Forgets the writes of an object that is being deleted.
    pub(super) fn forget(&self, namespace: &str, collection: &str, name: &str) {
        if let Some(writes) = self.0.lock().get_mut(namespace) {
            let path = path_of(namespace, name);
            writes.retain(|write| write.collection != collection || write.path != path);
        }
    }

    /// Returns the objects of admitted writes that are not in the store yet, by path.
    fn unstored(
        &self,
        namespace: &str,
        collection: &str,
        entries: &[Entry],
    ) -> HashMap<String, Value> {
        let mut all = self.0.lock();
        let Some(writes) = all.get_mut(namespace) else {
            return HashMap::new();
        };
        let now = Instant::now();
        let stored = |path: &str| {
            let entry = entries.binary_search_by(|entry| (*entry.path).cmp(path));
            entry.ok().and_then(|i| entries.get(i)).map(|e| e.revision)
        };
        writes.retain(|write| {
            let pending = write.collection != collection || stored(&write.path) == write.replaces;
            pending && !write.is_over(now)
        });
        let ours = writes.iter().filter(|write| write.collection == collection);
        ours.map(|write| (write.path.clone(), write.object.clone()))
            .collect()
    }
}

impl Write {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.at) > PATIENCE
    }
}

/// Counts the usage of quotas that no controller has counted. `entries` are all objects of the namespace.
pub(super) fn count(
    quotas: &mut [Quota],
    evaluator: &Evaluator,
    now: Timestamp,
    entries: &[Entry],
    admitted: &Admitted,
    (namespace, collection): (&str, &str),
) -> Result<(), Status> {
    let unstored = admitted.unstored(namespace, collection, entries);
    if let Evaluator::Objects(..) = evaluator {
        // Every object counts as one, whatever is in it.
        let stored = entries.iter().map(|entry| &*entry.path);
        let new = unstored.keys().map(String::as_str);
        let paths: std::collections::HashSet<&str> = stored.chain(new).collect();
        let number = number(i64::try_from(paths.len()).unwrap_or(i64::MAX));
        for quota in quotas.iter_mut().filter(|quota| quota.uncounted) {
            let limited = quota.hard.keys().filter(|name| evaluator.measures(name));
            quota.used = limited.map(|name| (name.clone(), number.clone())).collect();
        }
        return Ok(());
    }
    let mut objects: Vec<Value> = Vec::with_capacity(entries.len());
    for entry in entries {
        if !unstored.contains_key(&*entry.path) {
            objects.push(decode(entry)?);
        }
    }
    objects.extend(unstored.into_values());
    for quota in quotas.iter_mut().filter(|quota| quota.uncounted) {
        let limited = quota.hard.keys().filter(|name| evaluator.measures(name));
        let mut used: ResourceList = limited.map(|name| (name.clone(), number(0))).collect();
        for object in &objects {
            if concerns(quota, evaluator, object) {
                let usage = evaluator.usage(object, now.as_second());
                let usage = resource_list::only(&usage, |name| used.contains_key(name));
                resource_list::add(&mut used, &usage);
            }
        }
        quota.used = used;
    }
    Ok(())
}

fn path_of(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn revision_of(object: &Value) -> Option<Revision> {
    let text = object["metadata"]["resourceVersion"].as_str()?;
    text.parse().ok().map(Revision)
}
