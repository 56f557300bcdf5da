//! The filter by topology spread constraints.

use std::collections::{BTreeSet, HashMap};

use super::{Rejection, node::has_untolerated, node::matches_affinity};
use crate::{
    counts::Selected,
    node::NodeInfo,
    pod::{SpreadConstraint, Template},
    snapshot::Snapshot,
};

/// The constraints of a pod, and the number of pods in each domain.
#[derive(Debug, Default)]
pub(crate) struct Domains(Vec<Domain>);

#[derive(Debug)]
struct Domain {
    topology_key: String,
    max_skew: i64,
    counts: HashMap<String, i64>,
    least: i64,
    /// 1 if the pod matches its own constraint.
    own: i64,
}

impl Domains {
    pub(crate) fn new(snapshot: &mut Snapshot, pod: &Template) -> Self {
        let hard = |c: &&SpreadConstraint| c.when_unsatisfiable != "ScheduleAnyway";
        let constraints: Vec<&SpreadConstraint> = pod.spread.iter().filter(hard).collect();
        let keys: Vec<&str> = constraints
            .iter()
            .map(|c| c.topology_key.as_str())
            .collect();
        let domains = constraints.iter().map(|constraint| {
            let counts = constraint_counts(snapshot, pod, constraint, &keys);
            let least = counts.values().copied().min().unwrap_or(0);
            let enough = counts.len() as i64 >= constraint.min_domains.unwrap_or(1);
            let selected = selected_by(constraint, pod);
            let own = selected.is_some_and(|s| s.matches(pod, false, &snapshot.namespaces));
            Domain {
                topology_key: constraint.topology_key.clone(),
                max_skew: constraint.max_skew,
                counts,
                least: if enough { least } else { 0 },
                own: i64::from(own),
            }
        });
        Self(domains.collect())
    }

    pub(super) fn check(&self, node: &NodeInfo) -> Result<(), Rejection> {
        for domain in &self.0 {
            let Some(value) = node.labels.get(&domain.topology_key) else {
                return Err(Rejection::new(
                    "node(s) didn't match pod topology spread constraints (missing required label)",
                    false,
                ));
            };
            let here = domain.counts.get(value).copied().unwrap_or(0);
            if here + domain.own - domain.least > domain.max_skew {
                return Err(Rejection::new(
                    "node(s) didn't match pod topology spread constraints",
                    true,
                ));
            }
        }
        Ok(())
    }
}

/// Returns the number of matching pods in each domain of a constraint. Nodes without one of the topology keys, and nodes that the
/// policies of the constraint exclude, are left out.
pub(crate) fn constraint_counts(
    snapshot: &mut Snapshot,
    pod: &Template,
    constraint: &SpreadConstraint,
    keys: &[&str],
) -> HashMap<String, i64> {
    let per_node = selected_by(constraint, pod).map(|selected| snapshot.count(&selected).clone());
    let honours =
        |policy: &Option<String>, default: &str| policy.as_deref().unwrap_or(default) == "Honor";
    let by_affinity = honours(&constraint.node_affinity_policy, "Honor");
    let by_taints = honours(&constraint.node_taints_policy, "Ignore");
    let mut counts = HashMap::new();
    for (slot, node) in snapshot.nodes() {
        let has_keys = keys.iter().all(|key| node.labels.contains_key(*key));
        let Some(value) = node.labels.get(&constraint.topology_key) else {
            continue;
        };
        if !has_keys
            || (by_affinity && !matches_affinity(pod, node))
            || (by_taints && has_untolerated(pod, node))
        {
            continue;
        }
        let here = per_node.as_ref().map_or(0, |counts| counts.get(slot));
        *counts.entry(value.clone()).or_insert(0) += i64::from(here);
    }
    counts
}

fn selected_by(constraint: &SpreadConstraint, pod: &Template) -> Option<Selected> {
    let mut selector = constraint.label_selector.clone()?;
    for key in &constraint.match_label_keys {
        if let Some(value) = pod.labels.get(key) {
            selector.match_labels.insert(key.clone(), value.clone());
        }
    }
    Some(Selected {
        namespaces: BTreeSet::from([pod.namespace.clone()]),
        namespace_selector: None,
        selector,
        deleted: false,
    })
}
