//! The usage of services.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{evaluator::number, resource_list::ResourceList};

/// The resources of services that can be limited.
pub(super) const MEASURED: [&str; 4] = [
    "count/services",
    "services",
    "services.nodeports",
    "services.loadbalancers",
];

/// Returns the usage of a service. Requested ports count whether they are allocated or not.
pub(super) fn usage(service: &Value) -> ResourceList {
    let spec = &service["spec"];
    let ports = spec["ports"].items();
    let (node_ports, load_balancers) = match spec["type"].as_str() {
        Some("NodePort") => (ports.len(), 0),
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == false => {
            let named = ports
                .iter()
                .filter(|port| port["nodePort"].as_i64().unwrap_or(0) != 0);
            (named.count(), 1)
        }
        Some("LoadBalancer") => (ports.len(), 1),
        _ => (0, 0),
    };
    let node_ports = i64::try_from(node_ports).unwrap_or(i64::MAX);
    let amounts = [1, 1, node_ports, load_balancers];
    MEASURED
        .iter()
        .zip(amounts)
        .map(|(name, n)| ((*name).to_owned(), number(n)))
        .collect()
}
