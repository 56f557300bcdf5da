//! Writes from a version of an object that is older than the controller's own last write.

use std::collections::BTreeMap;

use super::{Evidence, Finding, FindingKind, RECENT};
use crate::{request::Entry, run::ObjectRef};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    // The last write of each object, with its revision.
    let mut last: BTreeMap<ObjectRef, (u64, &Entry)> = BTreeMap::new();
    let mut found: BTreeMap<(&str, ObjectRef), Finding> = BTreeMap::new();
    for (_, entry) in evidence.requests {
        for commit in entry.commits() {
            last.insert(commit.object(), (commit.revision, entry));
        }
        let Some(run) = entry.run.as_deref().filter(|_| is_conflict(entry)) else {
            continue;
        };
        let kind = entry.kind();
        let object = ObjectRef::new(kind.group, kind.resource, &entry.key);
        let Some((revision, writer)) = last.get(&object) else {
            continue;
        };
        let controller = controller_of(run);
        let is_own = writer.run.as_deref().map(controller_of) == Some(controller);
        if !is_own || evidence.now.duration_since(entry.time) > RECENT {
            continue;
        }
        let new = || {
            let (manager, name) = controller.split_once('/').unwrap_or(("", controller));
            let mut finding = Finding::new(FindingKind::StaleRead, String::new());
            finding.object = Some(object.clone());
            manager.clone_into(&mut finding.manager);
            name.clone_into(&mut finding.controller);
            finding.since = Some(entry.time);
            finding
        };
        let finding = found
            .entry((controller, object.clone()))
            .or_insert_with(new);
        finding.count += 1;
        finding.last = Some(entry.time);
        finding.runs.push(run.to_owned());
        finding.revisions.push(*revision);
        finding.message = format!(
            "{} wrote {object} from a version that is older than its own write at revision {revision}, which was a conflict: \
             use the object that the write returned, or wait until the cache has it",
            finding.controller
        );
    }
    found.into_values().collect()
}

/// Reports whether a write was refused since the object has changed. A name that is taken is another 409.
fn is_conflict(entry: &Entry) -> bool {
    let reason = entry.refusal.as_ref().map(|refusal| &*refusal.reason);
    entry.code == 409 && reason == Some("Conflict")
}

/// Returns the manager and the controller of the id of a run.
fn controller_of(run: &str) -> &str {
    run.rsplit_once('/')
        .map_or(run, |(controller, _)| controller)
}
