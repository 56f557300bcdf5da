//! Pods that several budgets select. The eviction of such pods fails.

use std::{collections::HashSet, sync::Arc};

use kube::ResourceExt;
use kubewright_controller::{Context, events::EventType};
use kubewright_informer::Key;
use kubewright_machinery::labels::LabelSelector;

use super::{Disruption, selector_of};
use crate::workloads::objects::{Pod, PodDisruptionBudget};

/// Reports each pod once that other budgets select as well. Only the first of the budgets does so.
pub(super) fn report(
    context: &Context<(), Disruption>,
    budget: &PodDisruptionBudget,
    key: &Key,
    pods: &[Arc<Pod>],
) {
    let (namespace, name) = (budget.namespace(), budget.name_any());
    let all = context.client().informer::<PodDisruptionBudget>();
    let all = all.lister().list(&Default::default());
    let others = all
        .iter()
        .filter(|other| other.namespace() == namespace && other.name_any() != name);
    let selectors: Vec<(String, LabelSelector)> = others
        .filter_map(|other| Some((other.name_any(), selector_of(other)?)))
        .collect();
    let selects = |selector: &LabelSelector, pod: &Pod| selector.matches(|name| pod.label(name));
    let is_shared = |pod: &&Arc<Pod>| {
        let mut others = selectors
            .iter()
            .filter(|(_, selector)| selects(selector, pod));
        others.clone().next().is_some() && others.all(|(other, _)| name < *other)
    };
    let shared: Vec<&Arc<Pod>> = match selectors.is_empty() {
        true => Vec::new(),
        false => pods.iter().filter(is_shared).collect(),
    };
    let uids: HashSet<String> = shared.iter().map(|pod| pod.uid().to_owned()).collect();
    let known = match uids.is_empty() {
        true => context.state().shared.lock().remove(key),
        false => context.state().shared.lock().insert(key.clone(), uids),
    };
    let known = known.unwrap_or_default();
    for pod in shared {
        if known.contains(pod.uid()) {
            continue;
        }
        let message = format!(
            "Pod {:?}/{:?} matches multiple PodDisruptionBudgets.  Chose {name:?} arbitrarily.",
            pod.namespace().unwrap_or_default(),
            pod.name_any()
        );
        let reason = "MultiplePodDisruptionBudgets";
        let recorder = &context.state().recorder;
        recorder.event(&**pod, EventType::Warning, reason, message);
    }
}
