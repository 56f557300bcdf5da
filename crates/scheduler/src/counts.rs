//! [`Counts`]: the number of pods on each node that match a selector, updated pod by pod.
//!
//! A selector is counted from its first use, so that the cost of placing a pod does not grow with the number of pods.

use std::collections::{BTreeSet, HashMap};

use crate::{
    pod::Template,
    selector::{Labels, Selector},
};

/// The maximum number of selectors that are counted.
const CAPACITY: usize = 256;

/// Pods of some namespaces that match a selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Selected {
    /// The namespaces by name.
    pub(crate) namespaces: BTreeSet<String>,
    /// Further namespaces, by their labels.
    pub(crate) namespace_selector: Option<Selector>,
    pub(crate) selector: Selector,
    /// Whether terminating pods count.
    pub(crate) deleted: bool,
}

/// Numbers of pods by the slot of their node.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerNode(Vec<u32>);

#[derive(Debug, Default)]
pub(crate) struct Counts {
    counted: HashMap<Selected, Counted, foldhash::fast::RandomState>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Counted {
    per_node: PerNode,
    used: u64,
}

impl Selected {
    pub(crate) fn matches(
        &self,
        pod: &Template,
        is_deleted: bool,
        namespaces: &Namespaces,
    ) -> bool {
        (self.deleted || !is_deleted)
            && self.selects_namespace(&pod.namespace, namespaces)
            && self.selector.matches(&pod.labels)
    }

    pub(crate) fn selects_namespace(&self, name: &str, namespaces: &Namespaces) -> bool {
        self.namespaces.contains(name)
            || self.namespace_selector.as_ref().is_some_and(|selector| {
                selector.is_empty() || namespaces.labels(name).is_some_and(|l| selector.matches(l))
            })
    }
}

/// The labels of namespaces.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(pub(crate) HashMap<String, Labels>);

impl Namespaces {
    fn labels(&self, name: &str) -> Option<&Labels> {
        self.0.get(name)
    }
}

impl PerNode {
    pub(crate) fn get(&self, slot: usize) -> u32 {
        self.0.get(slot).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, slot: usize) {
        if self.0.len() <= slot {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] += 1;
    }

    pub(crate) fn subtract(&mut self, slot: usize) {
        if let Some(count) = self.0.get_mut(slot) {
            *count = count.saturating_sub(1);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }
}

impl Counts {
    /// Returns the numbers of a selector; `count` computes them if the selector is new.
    pub(crate) fn of(&mut self, selected: &Selected, count: impl FnOnce() -> PerNode) -> &PerNode {
        self.clock += 1;
        let now = self.clock;
        if !self.counted.contains_key(selected) {
            if self.counted.len() >= CAPACITY {
                self.forget_oldest();
            }
            let counted = Counted {
                per_node: count(),
                used: now,
            };
            self.counted.insert(selected.clone(), counted);
        }
        let counted = self.counted.entry(selected.clone()).or_default();
        counted.used = now;
        &counted.per_node
    }

    /// Counts a pod on its node.
    pub(crate) fn add(&mut self, pod: &Template, deleted: bool, slot: usize, names: &Namespaces) {
        for (selected, counted) in &mut self.counted {
            if selected.matches(pod, deleted, names) {
                counted.per_node.add(slot);
            }
        }
    }

    /// Removes a pod from the numbers of its node.
    pub(crate) fn subtract(
        &mut self,
        pod: &Template,
        deleted: bool,
        slot: usize,
        names: &Namespaces,
    ) {
        for (selected, counted) in &mut self.counted {
            if selected.matches(pod, deleted, names) {
                counted.per_node.subtract(slot);
            }
        }
    }

    /// Removes all numbers that depend on labels of namespaces, after these have changed.
    pub(crate) fn forget_by_namespace(&mut self) {
        self.counted
            .retain(|selected, _| selected.namespace_selector.is_none());
    }

    fn forget_oldest(&mut self) {
        let oldest = self.counted.iter().min_by_key(|(_, counted)| counted.used);
        if let Some(oldest) = oldest.map(|(selected, _)| selected.clone()) {
            self.counted.remove(&oldest);
        }
    }
}
