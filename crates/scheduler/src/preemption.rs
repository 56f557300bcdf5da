//! Preemption: finds pods of lower priority to delete in favour of a pod.

use std::{cmp::Reverse, sync::Arc};

use crate::{
    diagnosis::{Diagnosis, NOT_HELPFUL},
    filter::Prepared,
    pod::PodInfo,
    snapshot::Snapshot,
    volumes::PodVolumes,
};

/// A node, and its pods to delete.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) node: String,
    /// The most important one first.
    pub(crate) victims: Vec<Arc<PodInfo>>,
    /// The number of victims whose deletion violates a disruption budget.
    pub(crate) violations: usize,
}

/// Finds the best candidate. `rejected` contains the nodes that cannot run the pod, and whether deleting pods could help.
///
/// # Errors
///
/// Returns the end of the message if there is no candidate.
pub(crate) fn find(
    snapshot: &mut Snapshot,
    (pod, volumes): (&Arc<PodInfo>, &PodVolumes),
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
            diagnosis.add_reason(NOT_HELPFUL);
            continue;
        }
        match victims(snapshot, (pod, volumes), *slot) {
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
            candidate.violations,
            priorities().max(),
            sum,
            candidate.victims.len(),
            Reverse(most_important.map_or(0, |victim| victim.created)),
            candidate.node.clone(),
        )
    });
    best.ok_or_else(|| said(&diagnosis.message()))
}

/// Finds the pods to delete from a node: all pods of lower priority, except those that can stay. Those whose deletion would
/// violate a disruption budget stay first, and then the most important ones.
fn victims(
    snapshot: &mut Snapshot,
    (pod, volumes): (&Arc<PodInfo>, &PodVolumes),
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
    let checked = check(snapshot, (pod, volumes), slot);
    let importance = |victim: &Arc<PodInfo>| (Reverse(victim.priority()), victim.created);
    lower.sort_by_key(importance);
    let violating = snapshot.budgets.violations(&lower);
    let mut lower: Vec<_> = lower.into_iter().zip(violating).collect();
    lower.sort_by_key(|(_, violates)| !violates);
    let (mut victims, mut violations) = (Vec::new(), 0);
    for (victim, violates) in lower {
        snapshot.assign(&victim, &name);
        if checked.is_ok() && check(snapshot, (pod, volumes), slot).is_err() {
            snapshot.unassign(&victim, &name);
            violations += usize::from(violates);
            victims.push(victim);
        }
    }
    victims.sort_by_key(importance);
    for victim in &victims {
        snapshot.assign(victim, &name);
    }
    checked.map(|()| Candidate {
        node: name,
        victims,
        violations,
    })
}

fn check(
    snapshot: &mut Snapshot,
    (pod, volumes): (&Arc<PodInfo>, &PodVolumes),
    slot: usize,
) -> Result<(), crate::filter::Rejection> {
    let prepared = Prepared::new(snapshot, &pod.template, volumes);
    match snapshot.node(slot) {
        Some(node) => prepared.check(&pod.template, node),
        None => Ok(()),
    }
}
