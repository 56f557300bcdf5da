//! The pods that count, and their requests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use kubewright_machinery::quantity::Quantity;

use super::metrics::{Sample, Samples};

/// The time after its start in which the processor usage of a pod counts only if it was measured after it became ready.
const INITIALIZATION: SignedDuration = SignedDuration::from_mins(5);

/// The time after its start in which a pod that was never ready does not count.
const READINESS_DELAY: SignedDuration = SignedDuration::from_secs(30);

/// The pods of a target.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) ready: usize,
    pub(super) unready: BTreeSet<String>,
    pub(super) missing: BTreeSet<String>,
    pub(super) ignored: BTreeSet<String>,
}

impl Groups {
    pub(super) fn of(pods: &[Arc<Pod>], samples: &Samples, is_cpu: bool, now: Timestamp) -> Self {
        let mut groups = Self::default();
        for pod in pods {
            let name = pod.name_any();
            let phase = phase_of(pod);
            if pod.metadata.deletion_timestamp.is_some() || phase == "Failed" {
                groups.ignored.insert(name);
            } else if phase == "Pending" {
                groups.unready.insert(name);
            } else if let Some(sample) = samples.get(&name) {
                match is_cpu && is_unready(pod, sample, now) {
                    true => drop(groups.unready.insert(name)),
                    false => groups.ready += 1,
                }
            } else {
                groups.missing.insert(name);
            }
        }
        groups
    }
}

pub(super) fn phase_of(pod: &Pod) -> &str {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// Returns whether a pod is ready, and since when it is or is not.
pub(super) fn readiness(pod: &Pod) -> Option<(bool, Timestamp)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")?;
    let since = ready.last_transition_time.as_ref().map(|at| at.0);
    Some((
        ready.status == "True",
        since.unwrap_or(Timestamp::UNIX_EPOCH),
    ))
}

/// Reports whether the processor usage of a pod says nothing yet.
fn is_unready(pod: &Pod, sample: &Sample, now: Timestamp) -> bool {
    let started = pod
        .status
        .as_ref()
        .and_then(|status| status.start_time.as_ref());
    let (Some(started), Some((is_ready, since))) = (started, readiness(pod)) else {
        return true;
    };
    let after = |time: Timestamp, wait: SignedDuration| time.saturating_add(wait).unwrap_or(time);
    match after(started.0, INITIALIZATION) > now {
        true => !is_ready || sample.at < after(since, sample.window),
        false => !is_ready && after(started.0, READINESS_DELAY) > since,
    }
}

/// Returns what each pod requests of a resource, in thousandths, or what one container of it does.
pub(super) fn requests(
    pods: &[Arc<Pod>],
    resource: &str,
    container: Option<&str>,
) -> Result<BTreeMap<String, i64>, String> {
    let mut requests = BTreeMap::new();
    for pod in pods {
        let own = match container {
            None if is_of_whole_pod(pod) => of_pod(pod, resource)?,
            container => of_containers(pod, resource, container)?,
        };
        requests.insert(pod.name_any(), own);
    }
    Ok(requests)
}

fn is_of_whole_pod(pod: &Pod) -> bool {
    let resources = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    requests.is_some_and(|requests| !requests.is_empty())
}

fn of_pod(pod: &Pod, resource: &str) -> Result<i64, String> {
    use kubewright_builtins::usage::pod_resources::{self, Counting, is_of_whole_pods};
    let counting = Counting {
        status: false,
        overhead: true,
        pod_level: is_of_whole_pods,
    };
    let json = serde_json::to_value(pod).map_err(|error| error.to_string())?;
    let requests = pod_resources::requests(&json, counting);
    let missing = || {
        format!(
            "missing pod-level request for {resource} in Pod {}",
            pod.name_any()
        )
    };
    Ok(requests.get(resource).ok_or_else(missing)?.milli_value())
}

fn of_containers(pod: &Pod, resource: &str, container: Option<&str>) -> Result<i64, String> {
    let name = pod.name_any();
    let spec = pod.spec.as_ref();
    let sidecars = spec
        .iter()
        .flat_map(|spec| spec.init_containers.iter().flatten());
    let sidecars = sidecars.filter(|init| init.restart_policy.as_deref() == Some("Always"));
    let containers = spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .chain(sidecars);
    let chosen: Vec<&Container> = containers
        .filter(|known| container.is_none_or(|name| known.name == name))
        .collect();
    if let (Some(container), true) = (container, chosen.is_empty()) {
        return Err(format!("container {container} not found in Pod {name}"));
    }
    let mut sum = 0_i64;
    for container in chosen {
        let requests = container
            .resources
            .as_ref()
            .and_then(|all| all.requests.as_ref());
        let request = requests.and_then(|requests| requests.get(resource));
        let request = request.and_then(|request| Quantity::parse(&request.0).ok());
        let missing = || {
            format!(
                "missing request for {resource} in container {} of Pod {name}",
                container.name
            )
        };
        sum = sum.saturating_add(request.ok_or_else(missing)?.milli_value());
    }
    Ok(sum)
}
