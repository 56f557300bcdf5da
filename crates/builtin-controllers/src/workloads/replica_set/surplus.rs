//! The choice of the pods that go when there are too many.

use std::{collections::HashMap, sync::Arc};

use kube::Resource;
use kubewright_controller::{Context, Result, events::Recorder, owner::controller_of};

use super::Replicated;
use crate::workloads::{
    objects::{Pod, ReplicaSet},
    pods::{Ranked, by_preference, owned_by},
};

/// Chooses the pods to delete. Of pods that are equally useful, those go that share their node with other pods of sets
/// with the same controller.
pub(super) async fn choose<K: Replicated>(
    context: &Context<(), Recorder>,
    set: &K,
    active: &[Arc<Pod>],
    count: usize,
) -> Result<Vec<Arc<Pod>>> {
    if count >= active.len() {
        return Ok(active.to_vec());
    }
    let colocated = colocated(context, set).await?;
    let mut pods: Vec<Ranked<Arc<Pod>>> = active
        .iter()
        .map(|pod| Ranked {
            pod: pod.clone(),
            colocated: colocated.get(&pod.spec.node_name).copied().unwrap_or(0),
        })
        .collect();
    let now = context.now();
    pods.sort_by(|a, b| by_preference(a, b, now));
    Ok(pods
        .into_iter()
        .take(count)
        .map(|ranked| ranked.pod)
        .collect())
}

/// Returns the number of active pods of ReplicaSets with the same controller, by node. A set without a controller has no
/// related sets, not even itself.
async fn colocated<K: Replicated>(
    context: &Context<(), Recorder>,
    set: &K,
) -> Result<HashMap<String, usize>> {
    let mut counts = HashMap::new();
    let Some(controller) = controller_of(set) else {
        return Ok(counts);
    };
    let client = context.client();
    for related in owned_by::<ReplicaSet>(client, &controller.kind, &controller.uid).await? {
        let pods = owned_by::<Pod>(client, &ReplicaSet::kind(&()), related.uid()).await?;
        for pod in pods {
            let pod: Arc<Pod> = pod.decode()?;
            if pod.is_active() {
                *counts.entry(pod.spec.node_name.clone()).or_insert(0) += 1;
            }
        }
    }
    Ok(counts)
}
