//! The total requests and limits of a pod: those of its containers, or of an init container that needs more, and those of the
//! pod itself.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::resource_list::{ResourceList, add, raise, read};

/// The parts of a pod that count.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// The resources of running containers, if they exceed the requests.
    pub status: bool,
    /// The overhead of the runtime class.
    pub overhead: bool,
    /// The resources that the pod requests as a whole.
    pub pod_level: fn(&str) -> bool,
}

/// Returns whether a pod can request a resource as a whole.
pub fn is_of_whole_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Returns the requests of a pod.
pub fn requests(pod: &Value, counting: Counting) -> ResourceList {
    let mut sum = of_containers(pod, "requests", counting);
    if counting.overhead {
        add(&mut sum, &read(&pod["spec"]["overhead"]));
    }
    sum
}

/// Returns the limits of a pod. Overhead adds to a limit, but does not create one.
pub fn limits(pod: &Value, counting: Counting) -> ResourceList {
    let mut sum = of_containers(pod, "limits", counting);
    if counting.overhead {
        for (name, overhead) in read(&pod["spec"]["overhead"]) {
            if let Some(limit) = sum.get_mut(&name).filter(|limit| !limit.is_zero()) {
                *limit += &overhead;
            }
        }
    }
    sum
}

fn of_containers(pod: &Value, which: &str, counting: Counting) -> ResourceList {
    let spec = &pod["spec"];
    let mut sum = ResourceList::new();
    for container in spec["containers"].items() {
        add(
            &mut sum,
            &of_container(pod, "containerStatuses", container, which, counting),
        );
    }
    // Sidecars run beside the containers, and beside the init containers that follow them.
    let mut sidecars = ResourceList::new();
    let mut most = ResourceList::new();
    for container in spec["initContainers"].items() {
        if container["restartPolicy"].text() == "Always" {
            let own = of_container(pod, "initContainerStatuses", container, which, counting);
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            raise(&mut most, &sidecars);
        } else {
            let mut own = read(&container["resources"][which]);
            add(&mut own, &sidecars);
            raise(&mut most, &own);
        }
    }
    raise(&mut sum, &most);
    for (name, quantity) in read(&spec["resources"][which]) {
        if (counting.pod_level)(&name) {
            sum.insert(name, quantity);
        }
    }
    sum
}

fn of_container(
    pod: &Value,
    statuses: &str,
    container: &Value,
    which: &str,
    counting: Counting,
) -> ResourceList {
    let asked = read(&container["resources"][which]);
    let status = pod["status"][statuses]
        .items()
        .iter()
        .find(|s| s["name"] == container["name"]);
    let Some(status) = status.filter(|s| counting.status && s["resources"].is_object()) else {
        return asked;
    };
    let mut has = read(&status["resources"][which]);
    if which == "requests" {
        raise(&mut has, &read(&status["allocatedResources"]));
    }
    if !resize_is_infeasible(pod) {
        raise(&mut has, &asked);
    }
    has
}

fn resize_is_infeasible(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].items();
    let pending = conditions
        .iter()
        .find(|condition| condition["type"] == "PodResizePending");
    pending.is_some_and(|condition| condition["reason"] == "Infeasible")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::usage::resource_list::print;

    const ALL: Counting = Counting {
        status: true,
        overhead: true,
        pod_level: |name| name == "memory",
    };

    #[test]
    fn init_containers_count_when_they_need_more() {
        let pod = json!({"spec": {
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
                {"name": "b", "resources": {"requests": {"cpu": "500m"}}},
            ],
            "initContainers": [
                {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
                {"name": "init", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
            ],
            "overhead": {"cpu": "10m"},
        }});
        assert_eq!(print(&requests(&pod, ALL)), "cpu=2110m,memory=1Gi");
        assert_eq!(print(&limits(&pod, ALL)), "cpu=1010m");
    }

    #[test]
    fn the_pod_has_the_last_word_on_what_it_may_say() {
        let pod = json!({"spec": {
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            "resources": {"requests": {"cpu": "9", "memory": "2Gi"}},
        }});
        assert_eq!(print(&requests(&pod, ALL)), "cpu=1,memory=2Gi");
    }

    #[test]
    fn allocated_resources_count_until_they_are_released() {
        let mut pod = json!({
            "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"containerStatuses": [
                {"name": "a", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}},
            ]},
        });
        assert_eq!(print(&requests(&pod, ALL)), "cpu=3");
        assert_eq!(
            print(&requests(
                &pod,
                Counting {
                    status: false,
                    ..ALL
                }
            )),
            "cpu=1"
        );
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("5");
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        assert_eq!(print(&requests(&pod, ALL)), "cpu=3");
    }
}
