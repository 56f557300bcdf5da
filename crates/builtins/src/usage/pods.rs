//! The usage of pods: requests and limits until they terminate, and their count.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::{json::Read, time::Time};
use serde_json::Value;

use super::{
    evaluator::number,
    pod_resources::{self, Counting, is_of_whole_pods},
    resource_list::{self, ResourceList, add, is_extended_name, is_native},
    scopes::Selector,
};

const COUNT: &str = "count/pods";
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";
const MEASURED: [&str; 11] = [
    COUNT,
    "pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
/// If these are limited, every container must request them.
const DEMANDED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

/// The resources of pods that can be limited.
pub(super) fn measures(name: &str) -> bool {
    let requested = name.strip_prefix(REQUESTS);
    MEASURED.contains(&name)
        || requested.unwrap_or(name).starts_with(HUGE_PAGES)
        || requested.is_some_and(|resource| !is_native(name) || resource.starts_with(DEVICE_CLASS))
}

/// Returns whether the pod has a deadline (`activeDeadlineSeconds`).
///
/// ```
/// use kubewright_builtins::usage::is_terminating;
/// use serde_json::json;
///
/// assert!(is_terminating(&json!({"spec": {"activeDeadlineSeconds": 60}})));
/// ```
pub fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0)
}

/// Returns whether a pod matches a scope.
pub(super) fn in_scope(selector: &Selector, pod: &Value) -> bool {
    match selector.scope.as_str() {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            let class = pod["spec"]["priorityClassName"].text();
            selector.selects(Some(class).filter(|class| !class.is_empty()))
        }
        "CrossNamespacePodAffinity" => crosses_namespaces(&pod["spec"]["affinity"]),
        _ => false,
    }
}

/// Returns the containers that do not request a limited resource.
pub(super) fn missing(limited: &[&str], pod: &Value) -> Option<String> {
    let spec = &pod["spec"];
    let of_pod = ["requests", "limits"].map(|which| spec["resources"][which].as_object());
    if of_pod
        .into_iter()
        .flatten()
        .any(|list| list.keys().any(|name| is_of_whole_pods(name)))
    {
        return None;
    }
    let demanded: Vec<&str> = DEMANDED
        .into_iter()
        .filter(|name| limited.contains(name))
        .collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in spec["containers"]
        .items()
        .iter()
        .chain(spec["initContainers"].items())
    {
        let resources = &container["resources"];
        let used = compute_usage(
            &resource_list::read(&resources["requests"]),
            &resource_list::read(&resources["limits"]),
        );
        for name in demanded.iter().filter(|name| !used.contains_key(**name)) {
            missing
                .entry(name)
                .or_default()
                .insert(container["name"].text());
        }
    }
    if missing.is_empty() {
        return None;
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| {
            let containers: Vec<&str> = containers.into_iter().collect();
            format!("{name} for: {}", containers.join(","))
        })
        .collect();
    Some(format!("must specify {}", parts.join("; ")))
}

/// Returns the usage of a pod. One that has terminated, or is past its grace period, counts only as an object.
pub(super) fn usage(pod: &Value, now: i64) -> ResourceList {
    let mut out = ResourceList::from([(COUNT.to_owned(), number(1))]);
    if lives(pod, now) {
        let counting = Counting {
            status: true,
            overhead: true,
            pod_level: is_of_whole_pods,
        };
        let requests = pod_resources::requests(pod, counting);
        let limits = pod_resources::limits(pod, counting);
        add(&mut out, &compute_usage(&requests, &limits));
    }
    out
}

/// Returns requests and limits by the names that quotas use.
fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut out = ResourceList::from([("pods".to_owned(), number(1))]);
    for (name, request) in requests {
        let plain = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        if plain || name.starts_with(HUGE_PAGES) {
            out.insert(name.clone(), request.clone());
            out.insert(format!("{REQUESTS}{name}"), request.clone());
        } else if is_extended(name) {
            out.insert(format!("{REQUESTS}{name}"), request.clone());
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(limit) = limits.get(name) {
            out.insert(format!("limits.{name}"), limit.clone());
        }
    }
    out
}

fn is_extended(name: &str) -> bool {
    is_extended_name(name) || name.starts_with(DEVICE_CLASS)
}

/// Returns whether a pod uses resources: it has neither ended nor outlived its grace period.
///
/// ```
/// use kubewright_builtins::usage::lives;
/// use serde_json::json;
///
/// assert!(lives(&json!({"status": {"phase": "Running"}}), 0));
/// assert!(!lives(&json!({"status": {"phase": "Succeeded"}}), 0));
/// ```
pub fn lives(pod: &Value, now: i64) -> bool {
    if matches!(
        pod["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    ) {
        return false;
    }
    let metadata = &pod["metadata"];
    let due = Time::parse(metadata["deletionTimestamp"].text()).ok();
    let grace = metadata["deletionGracePeriodSeconds"].as_i64();
    let (Some(due), Some(grace)) = (due, grace) else {
        return true;
    };
    now <= due.unix_seconds().saturating_add(grace)
}

/// Returns whether the pod asks for nothing.
///
/// ```
/// use kubewright_builtins::usage::is_best_effort;
/// use serde_json::json;
///
/// let container = json!({"name": "c", "resources": {"requests": {"cpu": "1"}}});
/// assert!(!is_best_effort(&json!({"spec": {"containers": [container]}})));
/// ```
pub fn is_best_effort(pod: &Value) -> bool {
    if let Some(class) = pod["status"]["qosClass"]
        .as_str()
        .filter(|class| !class.is_empty())
    {
        return class == "BestEffort";
    }
    let spec = &pod["spec"];
    let asks = |resources: &Value| {
        ["requests", "limits"].into_iter().any(|which| {
            ["cpu", "memory"].into_iter().any(|name| {
                resource_list::quantity(&resources[which][name]).is_some_and(|q| q.sign() > 0)
            })
        })
    };
    if spec["resources"].is_object() {
        return !asks(&spec["resources"]);
    }
    let mut containers = spec["containers"]
        .items()
        .iter()
        .chain(spec["initContainers"].items());
    !containers.any(|container| asks(&container["resources"]))
}

/// Returns whether the pod has affinity terms for other namespaces.
fn crosses_namespaces(affinity: &Value) -> bool {
    let crosses = |term: &Value| {
        !term["namespaces"].items().is_empty() || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = &affinity[kind];
        terms["requiredDuringSchedulingIgnoredDuringExecution"]
            .items()
            .iter()
            .any(crosses)
            || terms["preferredDuringSchedulingIgnoredDuringExecution"]
                .items()
                .iter()
                .any(|weighted| crosses(&weighted["podAffinityTerm"]))
    })
}
