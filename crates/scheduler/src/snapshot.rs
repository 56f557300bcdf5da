//! [`Snapshot`]: the nodes and their pods, updated by events.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    budgets::Budgets,
    counts::{Counts, Namespaces, PerNode, Selected},
    node::{NodeInfo, RawNode},
    pod::{PodInfo, PodTerm, Template},
    volumes::Volumes,
};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The nodes and their pods.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The nodes by slot. Free slots are reused.
    slots: Vec<Option<NodeInfo>>,
    by_name: std::collections::BTreeMap<String, usize>,
    /// The pods on unknown nodes, by the name of the node.
    waiting: Map<String, Vec<Arc<PodInfo>>>,
    counts: Counts,
    /// For each controller, the number of its pods on each node.
    owners: Map<String, PerNode>,
    /// For each required anti-affinity of an assigned pod, the number of pods with it on each node.
    anti_affinity: Map<Repelling, PerNode>,
    pub(crate) namespaces: Namespaces,
    pub(crate) volumes: Volumes,
    pub(crate) budgets: Budgets,
    /// Counts changes that may make a pod schedulable.
    growth: u64,
}

/// A required anti-affinity of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Repelling {
    topology_key: String,
    selected: Selected,
}

impl Snapshot {
    /// Iterates over the nodes with their slots, by name.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (usize, &NodeInfo)> {
        let slots = self.by_name.values();
        slots.filter_map(|slot| Some((*slot, self.node(*slot)?)))
    }

    pub(crate) fn node(&self, slot: usize) -> Option<&NodeInfo> {
        self.slots.get(slot)?.as_ref()
    }

    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn node_count(&self) -> usize {
        self.by_name.len()
    }

    /// Returns a counter of changes that may make a pod schedulable.
    pub(crate) fn growth(&self) -> u64 {
        self.growth
    }

    /// Adds or updates a node. Returns whether that matters for scheduling.
    pub(crate) fn set_node(&mut self, name: &str, raw: RawNode) -> bool {
        let slot = match self.by_name.get(name) {
            Some(slot) => *slot,
            None => {
                let free = self.slots.iter().position(Option::is_none);
                let slot = free.unwrap_or(self.slots.len());
                if slot == self.slots.len() {
                    self.slots.push(None);
                }
                self.slots[slot] = Some(NodeInfo::default());
                self.by_name.insert(name.to_owned(), slot);
                slot
            }
        };
        let Some(node) = self.slots[slot].as_mut() else {
            return false;
        };
        let changed = node.update(raw);
        if changed {
            self.growth += 1;
        }
        for pod in self.waiting.remove(name).unwrap_or_default() {
            self.assign(&pod, name);
        }
        changed
    }

    /// Removes a node. Its pods are kept in case it returns.
    pub(crate) fn remove_node(&mut self, name: &str) {
        let Some(slot) = self.by_name.remove(name) else {
            return;
        };
        let node = self.slots.get_mut(slot).and_then(Option::take);
        let pods: Vec<_> = node
            .into_iter()
            .flat_map(|node| node.pods.into_values())
            .collect();
        for pod in &pods {
            self.uncount(pod, slot);
        }
        if !pods.is_empty() {
            self.waiting.insert(name.to_owned(), pods);
        }
        // The domains of other pods may be smaller now.
        self.growth += 1;
    }

    /// Counts a pod on a node.
    pub(crate) fn assign(&mut self, pod: &Arc<PodInfo>, node: &str) {
        let Some(slot) = self.slot(node) else {
            self.waiting
                .entry(node.to_owned())
                .or_default()
                .push(pod.clone());
            return;
        };
        if let Some(node) = self.slots[slot].as_mut() {
            node.add(pod);
        }
        self.counts
            .add(&pod.template, pod.is_deleted, slot, &self.namespaces);
        if let Some(owner) = &pod.template.owner {
            self.owners.entry(owner.clone()).or_default().add(slot);
        }
        for repelling in repelling(&pod.template) {
            self.anti_affinity.entry(repelling).or_default().add(slot);
        }
    }

    /// Removes a pod from the counts of a node.
    pub(crate) fn unassign(&mut self, pod: &Arc<PodInfo>, node: &str) {
        self.growth += 1;
        let Some(slot) = self.slot(node) else {
            if let Some(pods) = self.waiting.get_mut(node) {
                pods.retain(|other| other.uid != pod.uid);
                if pods.is_empty() {
                    self.waiting.remove(node);
                }
            }
            return;
        };
        if let Some(node) = self.slots[slot].as_mut() {
            node.remove(&pod.uid);
        }
        self.uncount(pod, slot);
    }

    fn uncount(&mut self, pod: &PodInfo, slot: usize) {
        self.counts
            .subtract(&pod.template, pod.is_deleted, slot, &self.namespaces);
        if let Some(owner) = &pod.template.owner
            && let Some(counts) = self.owners.get_mut(owner)
        {
            counts.subtract(slot);
            if counts.is_empty() {
                self.owners.remove(owner);
            }
        }
        for repelling in repelling(&pod.template) {
            if let Some(counts) = self.anti_affinity.get_mut(&repelling) {
                counts.subtract(slot);
                if counts.is_empty() {
                    self.anti_affinity.remove(&repelling);
                }
            }
        }
    }

    /// Updates the labels of a namespace.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: Option<crate::selector::Labels>) {
        match labels {
            Some(labels) => self.namespaces.0.insert(name.to_owned(), labels),
            None => self.namespaces.0.remove(name),
        };
        self.counts.forget_by_namespace();
        self.growth += 1;
    }

    /// Returns the number of matching pods on each node.
    pub(crate) fn count(&mut self, selected: &Selected) -> &PerNode {
        let Self {
            slots,
            counts,
            namespaces,
            ..
        } = self;
        counts.of(selected, || {
            let mut per_node = PerNode::default();
            for (slot, node) in slots.iter().enumerate() {
                for pod in node.iter().flat_map(|node| node.pods.values()) {
                    if selected.matches(&pod.template, pod.is_deleted, namespaces) {
                        per_node.add(slot);
                    }
                }
            }
            per_node
        })
    }

    /// Returns the number of pods of a controller on each node.
    pub(crate) fn count_owned(&self, owner: &str) -> Option<&PerNode> {
        self.owners.get(owner)
    }

    /// Returns the topology keys, and the pods by node, of required anti-affinities that match a pod.
    pub(crate) fn repelled(&self, pod: &Template) -> Vec<(&str, &PerNode)> {
        self.anti_affinity
            .iter()
            .filter(|(repelling, _)| repelling.selected.matches(pod, false, &self.namespaces))
            .map(|(repelling, counts)| (repelling.topology_key.as_str(), counts))
            .collect()
    }
}

/// Returns the pods that a term selects.
pub(crate) fn selected_by(term: &PodTerm, pod: &Template) -> Option<Selected> {
    let mut selector = term.label_selector.clone()?;
    for key in &term.match_label_keys {
        if let Some(value) = pod.labels.get(key) {
            selector.match_labels.insert(key.clone(), value.clone());
        }
    }
    let mut namespaces: BTreeSet<String> = term.namespaces.iter().cloned().collect();
    if namespaces.is_empty() && term.namespace_selector.is_none() {
        namespaces.insert(pod.namespace.clone());
    }
    Some(Selected {
        namespaces,
        namespace_selector: term.namespace_selector.clone(),
        selector,
        deleted: true,
    })
}

fn repelling(pod: &Template) -> impl Iterator<Item = Repelling> {
    let terms = pod.affinity.pod_anti_affinity.iter();
    let terms = terms.flat_map(|affinity| &affinity.required);
    terms.filter_map(|term| {
        Some(Repelling {
            topology_key: term.topology_key.clone(),
            selected: selected_by(term, pod)?,
        })
    })
}
