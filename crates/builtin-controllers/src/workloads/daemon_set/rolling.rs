//! The replacement of pods of older templates.

use std::sync::Arc;

use super::{
    nodes::Plan,
    placement::{Fit, fit},
    sync::Pass,
};
use crate::workloads::{
    deployment::{Rounding, scaled},
    objects::Pod,
};

/// The pods of a node: at most one of the new template and one of an older one.
struct Pair<'a> {
    new: Option<&'a Arc<Pod>>,
    old: Option<&'a Arc<Pod>>,
}

/// Returns the surge and the number of unavailable pods that are allowed; if both are 0, one pod may be unavailable.
pub(super) fn limits(pass: &Pass<'_>) -> (usize, usize) {
    let limits = &pass.set.spec.update_strategy.rolling_update;
    let desired = i32::try_from(pass.desired()).unwrap_or(i32::MAX);
    let number = |value| usize::try_from(scaled(value, desired, Rounding::Up)).unwrap_or(0);
    match (number(&limits.max_surge), number(&limits.max_unavailable)) {
        (0, 0) => (0, 1),
        limits => limits,
    }
}

/// Returns the pods to delete, or to create beside old ones. Nodes are visited by name.
pub(super) fn plan(pass: &Pass<'_>) -> Plan {
    match limits(pass) {
        (0, unavailable) => delete_first(pass, unavailable),
        (surge, _) => create_first(pass, surge),
    }
}

fn pair<'a>(pass: &Pass<'_>, pods: &'a [Arc<Pod>]) -> Option<Pair<'a>> {
    let pods = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let (new, old): (Vec<_>, Vec<_>) = pods.partition(|pod| pass.is_updated(pod));
    (new.len() <= 1 && old.len() <= 1).then(|| Pair {
        new: new.first().copied(),
        old: old.first().copied(),
    })
}

/// Deletes old pods: those that are not available, and others as far as the limit allows.
fn delete_first(pass: &Pass<'_>, limit: usize) -> Plan {
    let mut unavailable = 0;
    let (mut replaced, mut candidates) = (Vec::new(), Vec::new());
    for pods in pass.pods.values() {
        match pair(pass, pods) {
            Some(Pair {
                new: Some(new),
                old: None,
            }) => {
                unavailable += usize::from(!pass.is_available(new));
            }
            Some(Pair {
                new: None,
                old: Some(old),
            }) if !pass.is_available(old) => {
                replaced.push(old.clone());
                unavailable += 1;
            }
            Some(Pair {
                new: None,
                old: Some(old),
            }) => {
                if unavailable < limit {
                    candidates.push(old.clone());
                }
            }
            // The next pass deletes what is too much, or creates what is missing.
            _ => unavailable += 1,
        }
    }
    candidates.truncate(limit.saturating_sub(unavailable));
    replaced.extend(candidates);
    Plan {
        delete: replaced,
        ..Plan::default()
    }
}

/// Creates new pods beside old ones, and deletes old ones once the new are available.
fn create_first(pass: &Pass<'_>, limit: usize) -> Plan {
    let mut plan = Plan::default();
    let (mut surge, mut available) = (0, 0);
    let (mut candidates, mut misplaced) = (Vec::new(), Vec::new());
    for (name, pods) in &pass.pods {
        let Some(Pair { new, old }) = pair(pass, pods) else {
            surge += 1;
            continue;
        };
        available += usize::from(old.or(new).is_some_and(|pod| pass.is_available(pod)));
        let Some(old) = old else {
            continue;
        };
        match new {
            Some(new) if pass.is_available(new) => plan.delete.push(old.clone()),
            Some(_) => surge += 1,
            None => {
                let node = pass.nodes.iter();
                let mut node = node.filter(|node| node.metadata.name.as_ref() == Some(name));
                let should_run = node
                    .next()
                    .is_some_and(|node| fit(pass.set, node) == Fit::Run);
                match (pass.is_available(old), should_run) {
                    (false, true) => plan.create.push(name.clone()),
                    (false, false) => plan.delete.push(old.clone()),
                    (true, false) => misplaced.push(old.clone()),
                    (true, true) if surge < limit => candidates.push(name.clone()),
                    (true, true) => {}
                }
            }
        }
    }
    misplaced.truncate(available.saturating_sub(pass.desired()));
    plan.delete.extend(misplaced);
    candidates.truncate(limit.saturating_sub(surge));
    plan.create.extend(candidates);
    plan
}
