//! Keys that are reconciled all the time.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{Evidence, Finding, FindingKind};
use crate::run::Run;

/// The span in which runs are counted.
const SPAN: SignedDuration = SignedDuration::from_secs(3);

/// The largest normal number of runs in that span: five per second.
const NORMAL: usize = 15;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((_, controller, key), runs) in evidence.recent_by_key() {
        let is_hot =
            |window: &&[&Run]| window[NORMAL].start.duration_since(window[0].start) <= SPAN;
        let Some(window) = runs.windows(NORMAL + 1).rfind(is_hot) else {
            continue;
        };
        let seconds = window[NORMAL]
            .start
            .duration_since(window[0].start)
            .as_secs_f64()
            .max(0.001);
        let rate = NORMAL as f64 / seconds;
        let cause = most_frequent_trigger(window);
        let message = format!(
            "{controller} reconciles {key} {rate:.0} times per second; most runs have the trigger {cause}"
        );
        found.push(Finding::of_runs(FindingKind::HotLoop, message, window));
    }
    found
}

fn most_frequent_trigger(runs: &[&Run]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for trigger in runs.iter().flat_map(|run| &run.triggers) {
        let words = format!("{} {}", trigger.source, trigger.cause);
        *counts.entry(words).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or_else(|| "none".to_owned(), |(words, _)| words)
}
