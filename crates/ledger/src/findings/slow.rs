//! Runs that are slow, or wait for long.

use std::collections::BTreeMap;

use super::{Evidence, Finding, FindingKind};
use crate::run::{Run, RunRequest};

/// The normal duration of a run, or of its wait, in seconds.
const NORMAL: f64 = 1.0;

/// The number of runs that a finding names.
const NAMED: usize = 10;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut controllers: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    for ((manager, controller, _), runs) in evidence.recent_by_key() {
        let slow = runs
            .into_iter()
            .filter(|run| run.duration_seconds.max(run.queue_seconds) > NORMAL);
        let of = controllers.entry((manager, controller)).or_default();
        of.extend(slow);
    }
    let mut found = Vec::new();
    for ((_, controller), mut runs) in controllers {
        runs.sort_by_key(|run| run.end);
        let total = |run: &&&Run| run.duration_seconds + run.queue_seconds;
        let Some(worst) = runs.iter().max_by(|a, b| total(a).total_cmp(&total(b))) else {
            continue;
        };
        let message = format!(
            "{} recent runs of {controller} were slow; {} waited {:.1} s in the queue and took {:.1} s{}",
            runs.len(),
            worst.key,
            worst.queue_seconds,
            worst.duration_seconds,
            longest_request(worst)
        );
        let newest = &runs[runs.len().saturating_sub(NAMED)..];
        let mut finding = Finding::of_runs(FindingKind::Slow, message, newest);
        finding.object = worst.object();
        finding.key.clone_from(&worst.key);
        finding.count = runs.len() as u64;
        found.push(finding);
    }
    found
}

/// Describes the request that took the largest part of a run.
fn longest_request(run: &Run) -> String {
    let by_time =
        |a: &&RunRequest, b: &&RunRequest| a.duration_seconds.total_cmp(&b.duration_seconds);
    match run.requests.iter().max_by(by_time) {
        Some(request) if request.duration_seconds * 2.0 > run.duration_seconds => {
            let (verb, object) = (&request.verb, &request.object);
            format!(
                ", of which {:.1} s for {verb} {object}",
                request.duration_seconds
            )
        }
        _ => ", not for a single request".to_owned(),
    }
}
