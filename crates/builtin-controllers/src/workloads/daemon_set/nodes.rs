//! The pods that a node lacks or has too many of.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use kube::ResourceExt;
use kubewright_controller::events::EventType;

use super::{
    placement::{Fit, fit},
    sync::Pass,
};
use crate::workloads::objects::{Node, Pod};

/// The label with the revision of a pod.
pub(super) const REVISION: &str = "controller-revision-hash";

/// The label with the generation of the template of a pod.
pub(super) const GENERATION: &str = "pod-template-generation";

/// The pods to create and to delete.
#[derive(Default)]
pub(super) struct Plan {
    /// The names of the nodes that get a pod.
    pub(super) create: Vec<String>,
    pub(super) delete: Vec<Arc<Pod>>,
    /// The time until a failed pod may be deleted.
    pub(super) wait: Option<SignedDuration>,
}

/// Compares pods: those that are scheduled come first, then the oldest.
pub(super) fn by_age(a: &Arc<Pod>, b: &Arc<Pod>) -> Ordering {
    let key = |pod: &Pod| {
        let created = pod.metadata.creation_timestamp.as_ref().map(|at| at.0);
        (
            pod.spec.node_name.is_empty(),
            created,
            pod.metadata.name.clone(),
        )
    };
    key(a).cmp(&key(b))
}

/// Returns the pods to create and delete on all nodes, regardless of their templates.
pub(super) fn plan(pass: &Pass<'_>) -> Plan {
    let mut plan = Plan::default();
    let no_pods = Vec::new();
    for node in &pass.nodes {
        let name = node.name_any();
        let pods = pass.pods.get(&name);
        match (fit(pass.set, node), pods) {
            (Fit::Run, None) => plan.create.push(name),
            (Fit::Never, Some(pods)) => {
                let left = pods
                    .iter()
                    .filter(|pod| pod.metadata.deletion_timestamp.is_none());
                plan.delete.extend(left.cloned());
            }
            (Fit::Never, None) => {}
            (fit, pods) => keep(pass, node, fit, pods.unwrap_or(&no_pods), &mut plan),
        }
    }
    plan.delete.extend(stranded(&pass.nodes, &pass.pods));
    plan
}

/// Deletes pods that have ended, and those that are too many for a node.
fn keep(pass: &Pass<'_>, node: &Node, fit: Fit, pods: &[Arc<Pod>], plan: &mut Plan) {
    let node = node.name_any();
    let mut running: Vec<Arc<Pod>> = Vec::new();
    for pod in pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
    {
        let name = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
        match pod.status.phase.as_str() {
            "Failed" => {
                if let Some(wait) = pass.backoff(&node) {
                    plan.wait = plan.wait.into_iter().chain([wait]).min();
                    continue;
                }
                let message =
                    format!("Found failed daemon pod {name} on node {node}, will try to kill it");
                pass.tell(EventType::Warning, "FailedDaemonPod", message);
                plan.delete.push(pod.clone());
            }
            "Succeeded" => {
                let message = format!(
                    "Found succeeded daemon pod {name} on node {node}, will try to delete it"
                );
                pass.tell(EventType::Normal, "SucceededDaemonPod", message);
                plan.delete.push(pod.clone());
            }
            _ => running.push(pod.clone()),
        }
    }
    running.sort_by(by_age);
    if !pass.allows_surge() {
        plan.delete.extend(running.into_iter().skip(1));
    } else if running.is_empty() && fit == Fit::Run {
        plan.create.push(node);
    } else if running.len() > 1 {
        keep_two(pass, running, plan);
    }
}

/// With a surge, keeps a new pod beside an old one until the new is available or the old is not ready.
fn keep_two(pass: &Pass<'_>, running: Vec<Arc<Pod>>, plan: &mut Plan) {
    let (new, old): (Vec<_>, Vec<_>) = running
        .into_iter()
        .partition(|pod| pod.label(REVISION) == Some(pass.hash));
    let (mut new, mut old) = (new.into_iter(), old.into_iter());
    let (first_new, first_old) = (new.next(), old.next());
    plan.delete.extend(new.chain(old));
    if let (Some(new), Some(old)) = (first_new, first_old)
        && (old.ready().is_none() || pass.is_available(&new))
    {
        plan.delete.push(old);
    }
}

/// Returns pods for nodes that do not exist: nothing schedules them.
fn stranded(nodes: &[Arc<Node>], pods: &BTreeMap<String, Vec<Arc<Pod>>>) -> Vec<Arc<Pod>> {
    let exists = |name: &str| {
        nodes
            .iter()
            .any(|node| node.metadata.name.as_deref() == Some(name))
    };
    let gone = pods.iter().filter(|(node, _)| !exists(node));
    let pods = gone.flat_map(|(_, pods)| pods);
    pods.filter(|pod| pod.spec.node_name.is_empty())
        .cloned()
        .collect()
}
