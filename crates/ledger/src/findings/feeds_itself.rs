//! Controllers that are triggered by their own writes.

use super::{Evidence, Finding, FindingKind};
use crate::run::{Run, RunRequest};

/// The number of consecutive runs that were triggered only by the previous one and repeated its write.
const IN_A_ROW: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((_, controller, key), runs) in evidence.recent_by_key() {
        let mut longest: &[&Run] = &[];
        let mut start = 0;
        for end in 1..=runs.len() {
            if end < runs.len() && repeats(runs[end - 1], runs[end]) {
                continue;
            }
            let row = &runs[start..end];
            if row.len() >= longest.len() {
                longest = row;
            }
            start = end;
        }
        let Some(target) = longest
            .split_first()
            .filter(|_| longest.len() >= IN_A_ROW)
            .and_then(|(first, rest)| common_write(first, rest))
        else {
            continue;
        };
        let (what, advice) = match target.subresource.as_str() {
            "status" => ("the status of ", ": add a predicate on metadata.generation"),
            _ => ("", ": write only if something changed"),
        };
        let count = longest.len() - 1;
        let message = format!(
            "{controller} writes {what}{} and is triggered only by that write, {count} times in a row for {key}{advice}",
            target.object
        );
        let mut finding = Finding::of_runs(FindingKind::FeedsItself, message, longest);
        let revisions = longest.iter().flat_map(|run| run.writes());
        finding.revisions = revisions.filter_map(|request| request.revision).collect();
        found.push(finding);
    }
    found
}

/// Reports whether a run was triggered only by the previous one, and repeated its write.
fn repeats(run: &Run, next: &Run) -> bool {
    feeds(run, next) && common_write(run, &[next]).is_some()
}

/// Reports whether all triggers of a run are writes of the previous one.
fn feeds(run: &Run, next: &Run) -> bool {
    let is_own = |version: &str| {
        let revision = version.parse::<u64>().ok();
        revision.is_some_and(|revision| {
            let mut writes = run.writes();
            writes.any(|request| request.revision == Some(revision))
        })
    };
    let mut triggers = next.triggers.iter();
    !next.triggers.is_empty()
        && next.triggers_dropped == 0
        && triggers.all(|trigger| is_own(&trigger.resource_version))
}

/// Returns the object and subresource that all runs wrote.
fn common_write<'a>(first: &'a Run, rest: &[&Run]) -> Option<&'a RunRequest> {
    let same = |a: &RunRequest, b: &RunRequest| {
        a.object == b.object && a.subresource == b.subresource && a.revision != b.revision
    };
    let everywhere = |request: &&RunRequest| {
        rest.iter()
            .all(|run| run.writes().any(|other| same(request, other)))
    };
    first.writes().find(everywhere)
}
