//! Pods that have ended, beyond a number: those that were evicted go first, then the oldest.

use std::sync::Arc;

use kubewright_controller::{Action, Context, Filter, Request, Result};

use super::{Gone, sync::delete};
use crate::workloads::objects::Pod;

/// Returns the request to check the pods that have ended.
pub(super) fn request() -> Request {
    Request::cluster_scoped("terminated-pods")
}

pub(super) async fn sync(context: &Context<(), Gone>, most: usize) -> Result<Action> {
    let pods = context.client().list::<Pod>(&Filter::new()).await?;
    for pod in surplus(pods, most) {
        delete(context, &pod, None).await?;
    }
    Ok(Action::done())
}

fn surplus(mut pods: Vec<Arc<Pod>>, most: usize) -> Vec<Arc<Pod>> {
    pods.retain(|pod| pod.is_terminal());
    let count = pods.len().saturating_sub(most);
    pods.sort_by_cached_key(|pod| {
        let is_evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
        let created = pod.metadata.creation_timestamp.as_ref().map(|at| at.0);
        (!is_evicted, created, pod.metadata.name.clone())
    });
    pods.truncate(count);
    pods
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evicted_pods_go_first_and_then_the_oldest() {
        let pod = |name: &str, phase: &str, reason: &str, second: u32| -> Arc<Pod> {
            let created = format!("2026-01-01T00:00:{second:02}Z");
            let pod = json!({
                "metadata": {"name": name, "creationTimestamp": created},
                "status": {"phase": phase, "reason": reason},
            });
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        let pods = || {
            vec![
                pod("young", "Succeeded", "", 9),
                pod("old", "Failed", "", 1),
                pod("running", "Running", "", 0),
                pod("evicted", "Failed", "Evicted", 8),
            ]
        };
        let names = |most: usize| -> Vec<String> {
            let surplus = surplus(pods(), most).into_iter();
            surplus
                .filter_map(|pod| pod.metadata.name.clone())
                .collect()
        };
        assert_eq!(names(3), [""; 0]);
        assert_eq!(names(1), ["evicted", "old"]);
        assert_eq!(names(0), ["evicted", "old", "young"]);
    }
}
