//! Scores: the best of the nodes that can run a pod.
//!
//! The scores and weights are those of kube-scheduler. Among nodes with the same score, the one with the fewest pods is
//! chosen, and then the first by name, in an order that depends on the seed: the same events result in the same placement.

use std::hash::{BuildHasher, Hasher};

use crate::{
    filter::constraint_counts,
    node::NodeInfo,
    pod::{PodTerm, SpreadConstraint, Template},
    snapshot::{Snapshot, selected_by},
};

/// The highest score of a plugin.
const MOST: i64 = 100;

/// Returns the slot of the best node.
pub(crate) fn best(
    snapshot: &mut Snapshot,
    pod: &Template,
    candidates: &[usize],
    seed: u64,
) -> Option<usize> {
    if let [only] = candidates {
        return Some(*only);
    }
    let images = image_names(pod);
    let mut totals = vec![0i64; candidates.len()];
    for (weight, scores) in [
        (
            1,
            each(snapshot, candidates, |node| least_allocated(pod, node)),
        ),
        (1, each(snapshot, candidates, |node| balanced(pod, node))),
        (
            1,
            each(snapshot, candidates, |node| image_locality(&images, node)),
        ),
        (
            2,
            rising(each(snapshot, candidates, |node| {
                preferred_labels(pod, node)
            })),
        ),
        (
            3,
            falling(each(snapshot, candidates, |node| {
                unwanted_taints(pod, node)
            })),
        ),
        (2, spread(snapshot, pod, candidates)),
        (2, neighbours(snapshot, pod, candidates)),
    ] {
        for (total, score) in totals.iter_mut().zip(scores) {
            *total += weight * score;
        }
    }
    let mut best: Option<(i64, usize, u64, usize)> = None;
    for (slot, total) in candidates.iter().zip(totals) {
        let Some(node) = snapshot.node(*slot) else {
            continue;
        };
        // Lower is better for everything but the slot.
        let rank = (-total, node.pods.len(), order(seed, &node.name));
        let better = best.as_ref().is_none_or(|(score, pods, order, at)| {
            let name = snapshot.node(*at).map(|node| node.name.as_str());
            (rank, Some(node.name.as_str())) < ((*score, *pods, *order), name)
        });
        if better {
            best = Some((rank.0, rank.1, rank.2, *slot));
        }
    }
    best.map(|(_, _, _, slot)| slot)
}

/// Returns a sort key of a name for a seed. Without a seed, names are not reordered.
fn order(seed: u64, name: &str) -> u64 {
    if seed == 0 {
        return 0;
    }
    let mut hasher = foldhash::fast::FixedState::with_seed(seed).build_hasher();
    hasher.write(name.as_bytes());
    hasher.finish()
}

fn each(snapshot: &Snapshot, candidates: &[usize], score: impl Fn(&NodeInfo) -> i64) -> Vec<i64> {
    let score = |slot: &usize| snapshot.node(*slot).map_or(0, &score);
    candidates.iter().map(score).collect()
}

/// Scales scores so that the highest becomes [`MOST`].
fn rising(scores: Vec<i64>) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return scores;
    }
    scores.iter().map(|score| score * MOST / most).collect()
}

/// Scales penalties so that zero becomes [`MOST`].
fn falling(penalties: Vec<i64>) -> Vec<i64> {
    let most = penalties.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return vec![MOST; penalties.len()];
    }
    penalties
        .iter()
        .map(|score| MOST - score * MOST / most)
        .collect()
}

/// Prefers nodes with many free resources.
fn least_allocated(pod: &Template, node: &NodeInfo) -> i64 {
    let (cpu, memory) = pod.requests.assumed();
    let left = |have: i64, used: i64| {
        if have == 0 || used > have {
            return 0;
        }
        ((i128::from(have - used)) * i128::from(MOST) / i128::from(have)) as i64
    };
    let cpu = left(node.allocatable.milli_cpu, node.assumed.0 + cpu);
    let memory = left(node.allocatable.memory, node.assumed.1 + memory);
    (cpu + memory) / 2
}

/// Prefers nodes with a balanced use of resources.
fn balanced(pod: &Template, node: &NodeInfo) -> i64 {
    let share = |have: i64, used: i64| {
        if have == 0 {
            return 1.0;
        }
        (used as f64 / have as f64).min(1.0)
    };
    let (want, used) = (&pod.requests, &node.requested);
    let cpu = share(node.allocatable.milli_cpu, used.milli_cpu + want.milli_cpu);
    let memory = share(node.allocatable.memory, used.memory + want.memory);
    ((1.0 - ((cpu - memory) / 2.0).abs()) * MOST as f64) as i64
}

/// Returns the names under which nodes may have each image of a pod.
fn image_names(pod: &Template) -> Vec<[String; 2]> {
    let names = |image: &String| [image.clone(), format!("{image}:latest")];
    pod.images.iter().map(names).collect()
}

/// Prefers nodes that have the images.
fn image_locality(images: &[[String; 2]], node: &NodeInfo) -> i64 {
    const LEAST: i64 = 23 * 1024 * 1024;
    const ENOUGH: i64 = 1000 * 1024 * 1024;
    let sizes = images.iter().map(|names| {
        let found = names.iter().find_map(|name| node.images.get(name));
        found.copied().unwrap_or(0)
    });
    let most = ENOUGH * images.len().max(1) as i64;
    let size = sizes.sum::<i64>().clamp(LEAST, most);
    MOST * (size - LEAST) / (most - LEAST)
}

fn preferred_labels(pod: &Template, node: &NodeInfo) -> i64 {
    let preferred = pod.affinity.node_affinity.iter();
    let preferred = preferred.flat_map(|affinity| &affinity.preferred);
    preferred
        .filter(|term| term.preference.matches(&node.name, &node.labels))
        .map(|term| term.weight)
        .sum()
}

fn unwanted_taints(pod: &Template, node: &NodeInfo) -> i64 {
    let soft = node
        .taints
        .iter()
        .filter(|t| t.effect == "PreferNoSchedule");
    let untolerated = soft.filter(|taint| !pod.tolerations.iter().any(|t| t.tolerates(taint)));
    untolerated.count() as i64
}

/// Prefers domains with few similar pods, according to the pod's constraints; without any, nodes and zones with few pods of the
/// same controller.
fn spread(snapshot: &mut Snapshot, pod: &Template, candidates: &[usize]) -> Vec<i64> {
    let soft = |c: &&SpreadConstraint| c.when_unsatisfiable == "ScheduleAnyway";
    let constraints: Vec<SpreadConstraint> = pod.spread.iter().filter(soft).cloned().collect();
    let mut scores = vec![0f64; candidates.len()];
    if pod.spread.is_empty() {
        by_controller(snapshot, pod, candidates, &mut scores);
    }
    for constraint in &constraints {
        let counts = constraint_counts(snapshot, pod, constraint, &[]);
        let weight = ((counts.len() + 2) as f64).ln();
        for (score, slot) in scores.iter_mut().zip(candidates) {
            let node = snapshot.node(*slot);
            let value = node.and_then(|node| node.labels.get(&constraint.topology_key));
            let here = value.and_then(|value| counts.get(value)).copied();
            *score += here.unwrap_or(0) as f64 * weight + (constraint.max_skew - 1) as f64;
        }
    }
    let scores: Vec<i64> = scores
        .into_iter()
        .map(|score| score.round() as i64)
        .collect();
    let (least, most) = (scores.iter().min(), scores.iter().max());
    let (Some(least), Some(most)) = (least.copied(), most.copied()) else {
        return scores;
    };
    let scale = |score: &i64| match most {
        0 => MOST,
        most => MOST * (most + least - score) / most,
    };
    scores.iter().map(scale).collect()
}

fn by_controller(snapshot: &Snapshot, pod: &Template, candidates: &[usize], scores: &mut [f64]) {
    let counts = pod.owner.as_deref().and_then(|o| snapshot.count_owned(o));
    let Some(counts) = counts else {
        return;
    };
    let mut zones = std::collections::HashMap::<&str, i64>::new();
    for (slot, node) in snapshot.nodes() {
        if let Some(zone) = node.zone.as_deref() {
            *zones.entry(zone).or_default() += i64::from(counts.get(slot));
        }
    }
    let by_host = ((candidates.len() + 2) as f64).ln();
    let by_zone = ((zones.len() + 2) as f64).ln();
    for (score, slot) in scores.iter_mut().zip(candidates) {
        *score += f64::from(counts.get(*slot)) * by_host + 2.0;
        let zone = snapshot.node(*slot).and_then(|node| node.zone.as_deref());
        if let Some(zone) = zone {
            *score += zones.get(zone).copied().unwrap_or(0) as f64 * by_zone + 4.0;
        }
    }
}

/// Prefers domains according to the pod's preferred affinities and anti-affinities.
fn neighbours(snapshot: &mut Snapshot, pod: &Template, candidates: &[usize]) -> Vec<i64> {
    let affinity = &pod.affinity;
    let mut terms: Vec<(i64, PodTerm)> = Vec::new();
    for (sign, side) in [
        (1, &affinity.pod_affinity),
        (-1, &affinity.pod_anti_affinity),
    ] {
        let preferred = side.iter().flat_map(|side| &side.preferred);
        terms.extend(preferred.map(|t| (sign * t.weight, t.pod_affinity_term.clone())));
    }
    let mut scores = vec![0i64; candidates.len()];
    for (weight, term) in &terms {
        let Some(selected) = selected_by(term, pod) else {
            continue;
        };
        let counts = snapshot.count(&selected).clone();
        let mut domains = std::collections::HashMap::<&str, i64>::new();
        for (slot, node) in snapshot.nodes() {
            if let Some(value) = node.label(&term.topology_key) {
                *domains.entry(value).or_default() += i64::from(counts.get(slot));
            }
        }
        for (score, slot) in scores.iter_mut().zip(candidates) {
            let node = snapshot.node(*slot);
            let value = node.and_then(|node| node.label(&term.topology_key));
            let here = value.and_then(|value| domains.get(value)).copied();
            *score += weight * here.unwrap_or(0);
        }
    }
    let (least, most) = (scores.iter().min(), scores.iter().max());
    match (least.copied(), most.copied()) {
        (Some(least), Some(most)) if most > least => {
            let scale = |score: &i64| MOST * (score - least) / (most - least);
            scores.iter().map(scale).collect()
        }
        _ => vec![0; scores.len()],
    }
}
