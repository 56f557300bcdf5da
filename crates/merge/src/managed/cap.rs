//! The cap on entries from updates.
//!
//! Every client that updates an object leaves an entry. Beyond ten, the oldest of one version are merged into an entry
//! of the manager `ancient-changes`.

use super::entry::{Entry, ManagedFields, Operation};
use kubewright_machinery::time::Time;
use std::collections::BTreeMap;

const MAX_UPDATE_MANAGERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest update entries until at most ten are left, or no two have the same version.
pub(super) fn cap(managed: &mut ManagedFields) {
    let updates = managed
        .entries
        .iter()
        .filter(|e| e.operation == Operation::Update)
        .count();
    if updates <= MAX_UPDATE_MANAGERS {
        return;
    }
    let entries = std::mem::take(&mut managed.entries);
    let mut by_id: BTreeMap<String, Entry> = entries
        .into_iter()
        .map(|entry| (entry.identifier(), entry))
        .collect();
    let mut oldest: Vec<(i64, String)> = by_id
        .iter()
        .filter(|(_, entry)| entry.operation == Operation::Update)
        .map(|(id, entry)| (entry.time.map_or(0, Time::unix_seconds), id.clone()))
        .collect();
    oldest.sort();

    let mut left = oldest.len();
    let mut first_of_version: BTreeMap<String, String> = BTreeMap::new();
    for (_, id) in oldest {
        if left <= MAX_UPDATE_MANAGERS {
            break;
        }
        let Some(entry) = by_id.get(&id) else {
            continue;
        };
        let version = entry.api_version.clone();
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, id);
            continue;
        };
        let Some(entry) = by_id.remove(&id) else {
            continue;
        };
        let mut bucket = Entry {
            manager: ANCIENT.to_owned(),
            subresource: String::new(),
            operation: Operation::Update,
            ..entry
        };
        let bucket_id = bucket.identifier();
        let earlier = by_id.remove(&bucket_id).or_else(|| by_id.remove(first));
        if let Some(earlier) = earlier {
            bucket.fields = bucket.fields.union(&earlier.fields);
        }
        by_id.insert(bucket_id, bucket);
        left -= 1;
    }
    managed.entries = by_id.into_values().collect();
}
