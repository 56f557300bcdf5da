//! Managers that overwrite each other's values.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Evidence, Finding, FindingKind};
use crate::{
    history::Revision,
    run::ObjectRef,
    value::{FieldChange, Op},
};

/// The time within which the old value returns.
const WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// A value that a manager wrote to a field.
struct Written<'a> {
    by: &'a str,
    value: &'a Value,
    at: Timestamp,
    revision: u64,
    run: Option<&'a String>,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let changes = evidence.changes.iter();
    changes
        .flat_map(|(object, changes)| fights(object, changes))
        .collect()
}

/// Returns the fields that two managers overwrite: one sets a value, another sets a different one, and the first restores the old
/// value, within a minute.
///
/// ```
/// use kubewright_ledger::{FieldChange, ObjectRef, Op, Revision, fights};
///
/// let set = |revision: u64, manager: &str, before: u64, after: u64| Revision {
///     revision,
///     time: Some(jiff::Timestamp::from_second(revision as i64).unwrap()),
///     field_manager: manager.to_owned(),
///     diff: vec![FieldChange {
///         path: "spec.replicas".to_owned(),
///         op: Op::Replace,
///         before: Some(before.into()),
///         after: Some(after.into()),
///     }],
///     ..Revision::default()
/// };
/// let changes = [set(1, "one", 2, 3), set(2, "two", 3, 2), set(3, "one", 2, 3)];
/// let found = fights(&ObjectRef::new("apps", "deployments", "default/web"), &changes);
/// assert_eq!(found[0].field, "spec.replicas");
/// ```
pub fn fights(object: &ObjectRef, changes: &[Revision]) -> Vec<Finding> {
    let mut fields: BTreeMap<&str, Vec<Written<'_>>> = BTreeMap::new();
    for change in changes {
        let Some(at) = change.time else {
            continue;
        };
        for field in &change.diff {
            let written = Written {
                by: &change.field_manager,
                value: value_of(field),
                at,
                revision: change.revision,
                run: change.run.as_ref(),
            };
            fields.entry(&field.path).or_default().push(written);
        }
    }
    let mut found = Vec::new();
    for (path, written) in fields {
        let rounds: Vec<&[Written<'_>]> = written.windows(3).filter(|it| is_round(it)).collect();
        let Some(last) = rounds.last() else {
            continue;
        };
        let message = format!(
            "{} and {} overwrite {path} of {object}: {}, {}, {} again",
            last[0].by, last[1].by, last[0].value, last[1].value, last[2].value
        );
        let mut finding = Finding::new(FindingKind::Fight, message);
        finding.object = Some(object.clone());
        finding.field = path.to_owned();
        finding.since = rounds.first().map(|round| round[0].at);
        finding.last = Some(last[2].at);
        finding.count = rounds.len() as u64;
        finding.revisions = last.iter().map(|it| it.revision).collect();
        finding.runs = last.iter().filter_map(|it| it.run.cloned()).collect();
        found.push(finding);
    }
    found
}

fn is_round(written: &[Written<'_>]) -> bool {
    let [first, other, again] = written else {
        return false;
    };
    first.by == again.by
        && first.by != other.by
        && first.value == again.value
        && first.value != other.value
        && again.at.duration_since(first.at) <= WITHIN
}

fn value_of(change: &FieldChange) -> &Value {
    match (change.op, &change.after) {
        (Op::Add | Op::Replace, Some(value)) => value,
        _ => &Value::Null,
    }
}
