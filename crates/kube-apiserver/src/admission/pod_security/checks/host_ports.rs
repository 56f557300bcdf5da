//! A container may not use ports of its node.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, containers, name, plural};

pub(super) const CHECK: Check = Check {
    id: "hostPorts",
    revisions: &[(0, check)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad: Vec<&str> = pod
        .containers()
        .filter(|container| host_ports(container).next().is_some())
        .map(name)
        .collect();
    if bad.is_empty() {
        return None;
    }
    // Sorted as texts: 10 comes before 9.
    let ports: BTreeSet<String> = pod.containers().flat_map(host_ports).collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&bad),
        plural("uses", "use", bad.len()),
        plural("hostPort", "hostPorts", ports.len()),
        ports.into_iter().collect::<Vec<_>>().join(", ")
    );
    Some(Violation::new("hostPort", detail))
}

fn host_ports(container: &Value) -> impl Iterator<Item = String> {
    let ports = container["ports"].items().iter();
    let ports = ports.map(|port| port["hostPort"].int());
    ports.filter(|port| *port != 0).map(|port| port.to_string())
}
