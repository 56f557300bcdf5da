//! The files of `/sys/fs/cgroup` and `/proc` that show the resources of containers and pods.

use std::cmp::max;

use jiff::Timestamp;
use kubewright_machinery::quantity::Quantity;
use serde_json::Value;

use crate::{
    files::{Entry, absolute},
    nodes::Shared,
    pod::plan::{ContainerPlan, Kind, Plan},
};

/// The directory of control groups.
const ROOT: &str = "/sys/fs/cgroup";

/// The period of the processor's quota, in microseconds.
const PERIOD: i64 = 100_000;

/// The smallest share of a processor.
const LEAST_SHARES: i64 = 2;

/// The resources of a control group: processors in thousandths and memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Group {
    cpu_request: Option<i64>,
    cpu_limit: Option<i64>,
    memory_limit: Option<i64>,
}

impl Shared {
    /// Writes the control group of a pod that mounts those of its node.
    pub(super) fn show_group(&self, plan: &Plan, now: Timestamp) {
        let mut hosts = plan
            .spec
            .volumes
            .iter()
            .filter_map(|v| v.host_path.as_ref());
        let is_mounted =
            hosts.any(|host| host.path.starts_with(ROOT) || ROOT.starts_with(&host.path));
        if !is_mounted {
            return;
        }
        let node = self.files_of_node(&plan.spec.node_name);
        let mut tree = node.lock();
        let directory = directory(&plan.status.qos_class, &plan.uid);
        for (name, text) in Group::of_pod(plan).files() {
            let path = absolute("/", &format!("{directory}/{name}"));
            let parent = &path[..path.len().saturating_sub(1)];
            // A node without space shows no more groups.
            let _ = tree.create_all(parent, now);
            let _ = tree.put(&path, Entry::file(text.into_bytes(), 0o644, now));
        }
    }

    /// Removes the control group of a pod from its node.
    pub(crate) fn remove_group(&self, node: &str, uid: &str) {
        let Some(node) = self.existing_files_of_node(node) else {
            return;
        };
        let mut tree = node.lock();
        for class in ["Guaranteed", "Burstable", "BestEffort"] {
            let path = absolute("/", &directory(class, uid));
            // Most pods have no group there.
            let _ = tree.remove(&path);
        }
    }
}

/// Returns the files of a container with these resources on a node with this memory: paths and texts.
pub(super) fn files(
    plan: &Plan,
    resources: &Value,
    node_memory: i64,
) -> impl Iterator<Item = (String, String)> {
    let score = match plan.status.qos_class.as_str() {
        "Guaranteed" => -997,
        "BestEffort" => 1000,
        _ => {
            let requested = amount(resources, "requests", "memory");
            let share = 1000 * requested.map_or(0, |request| request.value()) / node_memory.max(1);
            (1000 - share).clamp(3, 999)
        }
    };
    let own = Group::of(resources).within(Group::of(&plan.spec.resources));
    let files = own
        .files()
        .map(|(name, text)| (format!("{ROOT}/{name}"), text));
    let score = ("/proc/1/oom_score_adj".to_owned(), format!("{score}\n"));
    files.into_iter().chain([score])
}

impl Group {
    fn of(resources: &Value) -> Self {
        let cpu = |kind: &str| amount(resources, kind, "cpu").map(|cpu| cpu.milli_value());
        let memory = amount(resources, "limits", "memory");
        Self {
            cpu_request: cpu("requests").or_else(|| cpu("limits")),
            cpu_limit: cpu("limits"),
            memory_limit: memory.map(|memory| memory.value()),
        }
    }

    /// Returns the group of a container in a pod with these resources. A limit that it lacks is that of the pod.
    fn within(self, pod: Self) -> Self {
        Self {
            cpu_request: self.cpu_request,
            cpu_limit: self.cpu_limit.or(pod.cpu_limit),
            memory_limit: self.memory_limit.or(pod.memory_limit),
        }
    }

    /// Returns the group of a pod: its own resources, or else those of its containers. It has a limit if all containers have.
    fn of_pod(plan: &Plan) -> Self {
        let all = |is_wanted: fn(Kind) -> bool| {
            let wanted = plan.containers.iter().filter(move |c| is_wanted(c.kind));
            wanted.map(|container: &ContainerPlan| Self::of(&container.raw.resources))
        };
        let together = |a: Self, b: Self| Self {
            cpu_request: Some(a.cpu_request.unwrap_or(0) + b.cpu_request.unwrap_or(0)),
            cpu_limit: a.cpu_limit.zip(b.cpu_limit).map(|(a, b)| a + b),
            memory_limit: a.memory_limit.zip(b.memory_limit).map(|(a, b)| a + b),
        };
        let either = |a: Self, b: Self| Self {
            cpu_request: max(a.cpu_request, b.cpu_request),
            cpu_limit: a.cpu_limit.zip(b.cpu_limit).map(|(a, b)| max(a, b)),
            memory_limit: a.memory_limit.zip(b.memory_limit).map(|(a, b)| max(a, b)),
        };
        let running = all(|kind| matches!(kind, Kind::Main | Kind::Sidecar)).reduce(together);
        let sum = all(|kind| kind == Kind::Init).fold(running.unwrap_or_default(), either);
        let own = Self::of(&plan.spec.resources);
        Self {
            cpu_request: own.cpu_request.or(sum.cpu_request),
            ..own.within(sum)
        }
    }

    fn files(self) -> [(&'static str, String); 3] {
        let quota = match self.cpu_limit {
            // A quota is at least a millisecond.
            Some(limit) => (limit * PERIOD / 1000).max(1000).to_string(),
            None => "max".to_owned(),
        };
        let shares = self.cpu_request.map_or(0, |request| request * 1024 / 1000);
        let shares = shares.max(LEAST_SHARES);
        let weight = 1 + (shares - LEAST_SHARES) * 9999 / 262_142;
        let memory = self.memory_limit.map(|limit| limit.to_string());
        let memory = memory.unwrap_or_else(|| "max".to_owned());
        [
            ("cpu.max", format!("{quota} {PERIOD}\n")),
            ("cpu.weight", format!("{weight}\n")),
            ("memory.max", format!("{memory}\n")),
        ]
    }
}

fn amount(resources: &Value, kind: &str, name: &str) -> Option<Quantity> {
    let text = resources[kind][name].as_str();
    text.and_then(|text| Quantity::parse(text).ok())
        .filter(|amount| !amount.is_zero())
}

/// Returns the directory of the control group of a pod on its node.
fn directory(qos_class: &str, uid: &str) -> String {
    let uid = uid.replace('-', "_");
    match qos_class {
        "Guaranteed" => format!("{ROOT}/kubepods.slice/kubepods-pod{uid}.slice"),
        class => {
            let class = class.to_lowercase();
            format!("{ROOT}/kubepods.slice/kubepods-{class}.slice/kubepods-{class}-pod{uid}.slice")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_of_the_pod_are_those_of_containers_without_limits() {
        let pod = Group::of(&json!({"limits": {"cpu": "200m", "memory": "1Mi"}}));
        let own = Group::of(&json!({"limits": {"cpu": "100m"}}));
        let group = own.within(pod);
        assert_eq!(
            (group.cpu_limit, group.memory_limit),
            (Some(100), Some(1 << 20))
        );
        let [quota, _, memory] = group.files();
        assert_eq!(quota.1, "10000 100000\n");
        assert_eq!(memory.1, "1048576\n");
        let [quota, weight, memory] = Group::default().files();
        assert_eq!(
            (&*quota.1, &*weight.1, &*memory.1),
            ("max 100000\n", "1\n", "max\n")
        );
    }
}
