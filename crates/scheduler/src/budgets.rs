//! [`Budgets`]: disruption budgets, which preemption violates only if nothing else helps.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use kubewright_informer::{Event, Key};
use serde::{Deserialize, de::IgnoredAny};

use crate::{pod::PodInfo, selector::Selector};

/// The disruption budgets of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Budgets(BTreeMap<Key, Budget>);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Budget {
    spec: Spec,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    selector: Option<Selector>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    disruptions_allowed: i64,
    disrupted_pods: HashMap<String, IgnoredAny>,
}

impl Budgets {
    /// Handles a change of a budget.
    pub(crate) fn change(&mut self, event: &Event<()>) {
        let key = event.key().clone();
        match event {
            Event::Deleted { .. } => drop(self.0.remove(&key)),
            Event::Added { object, .. } | Event::Updated { object, .. } => {
                match serde_json::from_slice(&object.json()) {
                    Ok(budget) => drop(self.0.insert(key, budget)),
                    Err(error) => tracing::warn!(%key, %error, "cannot decode a disruption budget"),
                }
            }
        }
    }

    /// Returns which deletions would violate a budget, if the pods were deleted in order.
    pub(crate) fn violations(&self, pods: &[Arc<PodInfo>]) -> Vec<bool> {
        let mut left: HashMap<&Key, i64> = HashMap::new();
        let mut violates = |pod: &Arc<PodInfo>| {
            let mut is_violated = false;
            for (key, budget) in self.0.iter().filter(|(_, budget)| budget.covers(pod)) {
                if key.namespace() != Some(pod.namespace()) {
                    continue;
                }
                let left = left.entry(key).or_insert(budget.status.disruptions_allowed);
                *left -= 1;
                is_violated |= *left < 0;
            }
            is_violated
        };
        pods.iter().map(&mut violates).collect()
    }
}

impl Budget {
    /// Reports whether the deletion of a pod counts. An empty selector selects nothing, and the API server has already
    /// counted pods that are being evicted.
    fn covers(&self, pod: &PodInfo) -> bool {
        let selector = self.spec.selector.as_ref().filter(|s| !s.is_empty());
        let labels = &pod.template.labels;
        !labels.is_empty()
            && selector.is_some_and(|selector| selector.matches(labels))
            && !self.status.disrupted_pods.contains_key(pod.name())
    }
}
