//! Repeated writes that change nothing.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{Evidence, Finding, FindingKind};
use crate::run::ObjectRef;

/// The span in which writes are counted.
const SPAN: SignedDuration = SignedDuration::from_secs(60);

/// The number of such writes that is a finding.
const MANY: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut writers: BTreeMap<(ObjectRef, &str, &str), Vec<_>> = BTreeMap::new();
    let mut times: BTreeMap<(ObjectRef, &str, &str), u64> = BTreeMap::new();
    for (_, entry) in evidence.requests {
        let age = evidence.now.duration_since(entry.time);
        if age > SPAN || age.is_negative() {
            continue;
        }
        let (caller, kind) = (entry.caller(), entry.kind());
        let object = ObjectRef::new(kind.group, kind.resource, &entry.key);
        let writer = (object, caller.field_manager, kind.subresource);
        *times.entry(writer.clone()).or_default() += 1;
        if entry.unchanged {
            writers.entry(writer).or_default().push(entry);
        }
    }
    let many = writers
        .into_iter()
        .filter(|(_, entries)| entries.len() >= MANY);
    many.map(|((object, manager, subresource), entries)| {
        let all = times[&(object.clone(), manager, subresource)];
        let what = match subresource {
            "" => String::new(),
            name => format!(" ({name})"),
        };
        let message = format!(
            "{} of the last {all} writes of {object}{what} by {manager} changed nothing: compare before writing",
            entries.len()
        );
        let mut finding = Finding::new(FindingKind::WritesNothing, message);
        finding.object = Some(object);
        finding.since = entries.first().map(|entry| entry.time);
        finding.last = entries.last().map(|entry| entry.time);
        finding.count = entries.len() as u64;
        let runs = entries.iter().filter_map(|entry| entry.run.as_deref());
        finding.runs = runs.map(str::to_owned).collect();
        finding
    })
    .collect()
}
