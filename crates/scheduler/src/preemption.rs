//! Preemption: finds pods of lower priority whose removal makes room for a pod.

use std::{cmp::Reverse, sync::Arc};

use crate::{diagnosis::Diagnosis, filter::Prepared, pod::PodInfo, snapshot::Snapshot};

/// A node, and the pods to delete there.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) node: String,
    pub(crate) victims: Vec<Arc<PodInfo>>,
}

/// Finds the best node. `rejected` has the nodes that cannot run the pod now, and whether the removal of pods could help.
///
/// # Errors
///
/// Returns the text that completes the message, if there is none.
pub(crate) fn find(
    snapshot: &mut Snapshot,
    pod: &Arc<PodInfo>,
    rejected: &[(usize, bool)],
) -> Result<Candidate, Option<String>> {
    let said = |text: &str| Some(format!("preemption: {text}"));
    if pod.template.never_preempts {
        return Err(said("not eligible due to preemptionPolicy=Never."));
    }
    if let Some(node) = pod
        .nominated
        .as_deref()
        .and_then(|name| snapshot.slot(name))
    {
        let resolvable = rejected.iter().any(|(slot, can)| *slot == node && *can);
        let mut pods = snapshot
            .node(node)
            .into_iter()
            .flat_map(|node| node.pods.values());
        let leaving = pods.any(|other| {
            other.priority() < pod.priority() && other.is_deleted && other.is_preempted
        });
        if resolvable && leaving {
            return Err(said(
                "not eligible due to a terminating pod on the nominated node.",
            ));
        }
    }
    let mut diagnosis = Diagnosis::new(snapshot.node_count());
    let mut candidates = Vec::new();
    for (slot, resolvable) in rejected {
        if !resolvable {
            diagnosis.add_reason("Preemption is not helpful for scheduling");
            continue;
        }
        match victims(snapshot, pod, *slot) {
            Ok(candidate) => candidates.push(candidate),
            Err(rejection) => diagnosis.add(&rejection),
        }
    }
    let best = candidates.into_iter().min_by_key(|candidate| {
        let priorities = || candidate.victims.iter().map(|victim| victim.priority());
        let sum: i64 = priorities()
            .map(|p| i64::from(p) - i64::from(i32::MIN))
            .sum();
        let most_important = candidate.victims.first();
        (
            priorities().max(),
            sum,
            candidate.victims.len(),
            Reverse(most_important.map_or(0, |victim| victim.created)),
            candidate.node.clone(),
        )
    });
    best.ok_or_else(|| said(&diagnosis.message()))
}

/// Finds the pods to remove from a node: all of lower priority, but those that can stay, the most important ones first.
fn victims(
    snapshot: &mut Snapshot,
    pod: &Arc<PodInfo>,
    slot: usize,
) -> Result<Candidate, crate::filter::Rejection> {
    let none = || {
        let text = "No preemption victims found for incoming pod";
        crate::filter::Rejection::new(text, false)
    };
    let node = snapshot.node(slot).ok_or_else(none)?;
    let name = node.name.clone();
    let lower = node
        .pods
        .values()
        .filter(|other| other.priority() < pod.priority());
    let mut lower: Vec<Arc<PodInfo>> = lower.cloned().collect();
    if lower.is_empty() {
        return Err(none());
    }
    for victim in &lower {
        snapshot.unassign(victim, &name);
    }
    let checked = check(snapshot, pod, slot);
    // The most important are kept first: by priority, then those that have run the longest.
    lower.sort_by_key(|victim| (Reverse(victim.priority()), victim.created));
    let mut victims = Vec::new();
    for victim in lower {
        snapshot.assign(&victim, &name);
        if checked.is_ok() && check(snapshot, pod, slot).is_err() {
            snapshot.unassign(&victim, &name);
            victims.push(victim);
        }
    }
    for victim in &victims {
        snapshot.assign(victim, &name);
    }
    checked.map(|()| Candidate {
        node: name,
        victims,
    })
}

fn check(
    snapshot: &mut Snapshot,
    pod: &Arc<PodInfo>,
    slot: usize,
) -> Result<(), crate::filter::Rejection> {
    let prepared = Prepared::new(snapshot, &pod.template);
    match snapshot.node(slot) {
        Some(node) => prepared.check(&pod.template, node),
        None => Ok(()),
    }
}
