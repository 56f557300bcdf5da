//! The filter by affinity and anti-affinity to other pods.

use std::collections::HashSet;

use super::Rejection;
use crate::{
    node::NodeInfo,
    pod::{PodTerm, Template},
    snapshot::{Snapshot, selected_by},
};

/// The topology domains that a pod must run in or avoid because of other pods.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    required: Vec<Attraction>,
    /// Whether the pod may be the first of its group: it matches its own terms, and no other pod does.
    is_first: bool,
    avoided: HashSet<(String, String)>,
    /// Domains with an existing pod whose anti-affinity excludes this one.
    forbidden: HashSet<(String, String)>,
}

#[derive(Debug)]
struct Attraction {
    topology_key: String,
    domains: HashSet<String>,
}

impl Neighbours {
    pub(crate) fn new(snapshot: &mut Snapshot, pod: &Template) -> Self {
        let affinity = &pod.affinity;
        let terms = |affinity: &Option<crate::pod::PodAffinity>| {
            affinity
                .as_ref()
                .map(|a| a.required.clone())
                .unwrap_or_default()
        };
        let (wanted, avoided) = (
            terms(&affinity.pod_affinity),
            terms(&affinity.pod_anti_affinity),
        );
        let required: Vec<Attraction> = wanted
            .iter()
            .map(|term| Attraction {
                topology_key: term.topology_key.clone(),
                domains: domains(snapshot, pod, term),
            })
            .collect();
        let matches_itself = |term: &PodTerm| {
            selected_by(term, pod).is_some_and(|s| s.matches(pod, false, &snapshot.namespaces))
        };
        let is_first = required.iter().all(|term| term.domains.is_empty())
            && wanted.iter().all(matches_itself);
        let mut own = HashSet::new();
        for term in &avoided {
            let domains = domains(snapshot, pod, term).into_iter();
            own.extend(domains.map(|domain| (term.topology_key.clone(), domain)));
        }
        let mut forbidden = HashSet::new();
        for (key, counts) in snapshot.repelled(pod) {
            for (slot, node) in snapshot.nodes() {
                if counts.get(slot) > 0
                    && let Some(value) = node.labels.get(key)
                {
                    forbidden.insert((key.to_owned(), value.clone()));
                }
            }
        }
        Self {
            required,
            is_first,
            avoided: own,
            forbidden,
        }
    }

    pub(super) fn check(&self, node: &NodeInfo) -> Result<(), Rejection> {
        let attracted = self.required.iter().all(|term| {
            let value = node.labels.get(&term.topology_key);
            value.is_some_and(|value| self.is_first || term.domains.contains(value))
        });
        if !attracted {
            let reason = "node(s) didn't match pod affinity rules";
            return Err(Rejection::new(reason, false));
        }
        let is_in = |domains: &HashSet<(String, String)>| {
            let mut domains = domains.iter();
            domains.any(|(key, value)| node.labels.get(key) == Some(value))
        };
        if is_in(&self.avoided) {
            let reason = "node(s) didn't match pod anti-affinity rules";
            return Err(Rejection::new(reason, true));
        }
        if is_in(&self.forbidden) {
            let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
            return Err(Rejection::new(reason, true));
        }
        Ok(())
    }
}

/// Returns the domains with pods that match a term.
fn domains(snapshot: &mut Snapshot, pod: &Template, term: &PodTerm) -> HashSet<String> {
    let Some(selected) = selected_by(term, pod) else {
        return HashSet::new();
    };
    let counts = snapshot.count(&selected).clone();
    let nodes = snapshot.nodes();
    let nodes = nodes.filter(|(slot, _)| counts.get(*slot) > 0);
    let domains = nodes.filter_map(|(_, node)| node.labels.get(&term.topology_key).cloned());
    domains.collect()
}
