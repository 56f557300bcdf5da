//! Updates a service after a change of its type.
//!
//! A service is a union with the discriminator `type`: fields that no longer apply are removed, unless the writer
//! changed them in
//! the same write, which validation then rejects.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    general,
    json::{Read, Write, same},
};

/// Reports whether the service has, or will get, a cluster IP; `None` counts as one.
pub fn needs_cluster_ip(service: &Value) -> bool {
    service["spec"]["type"] != "ExternalName"
}

/// Reports whether the type has node ports.
pub fn needs_node_port(service: &Value) -> bool {
    matches!(service["spec"]["type"].text(), "NodePort" | "LoadBalancer")
}

/// Reports whether the service has a port for health checks.
pub fn needs_health_check_port(service: &Value) -> bool {
    let spec = &service["spec"];
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// Reports whether the service accepts traffic from outside the cluster.
pub(crate) fn externally_accessible(spec: &Value) -> bool {
    match spec["type"].text() {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec["externalIPs"].is_blank(),
        _ => false,
    }
}

/// Reports whether both services have the same cluster IPs.
pub(crate) fn same_cluster_ips(old: &Value, new: &Value) -> bool {
    let (old, new) = (&old["spec"], &new["spec"]);
    old["clusterIP"].text() == new["clusterIP"].text()
        && old["clusterIPs"].items() == new["clusterIPs"].items()
}

pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    drop_type_dependent_fields(new, old);
}

fn drop_type_dependent_fields(new: &mut Value, old: &Value) {
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        let unchanged = same_cluster_ips(old, new);
        let spec = new.field("spec");
        if unchanged {
            spec.forget("clusterIP");
            spec.forget("clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(&spec[field], &old["spec"][field]) {
                spec.forget(field);
            }
        }
    }
    if needs_node_port(old) && !needs_node_port(new) && node_ports(new).is_subset(&node_ports(old))
    {
        new.field("spec")
            .each("ports", |port| port.forget("nodePort"));
    }
    let unneeded = [
        (
            "healthCheckNodePort",
            needs_health_check_port(old) && !needs_health_check_port(new),
        ),
        (
            "allocateLoadBalancerNodePorts",
            balanced(old) && !balanced(new),
        ),
        ("loadBalancerClass", balanced(old) && !balanced(new)),
        (
            "externalTrafficPolicy",
            externally_accessible(&old["spec"]) && !externally_accessible(&new["spec"]),
        ),
    ];
    for (field, unneeded) in unneeded {
        if unneeded && new["spec"][field] == old["spec"][field] {
            new.field("spec").forget(field);
        }
    }
    if !balanced(new) {
        new.with("status", |s| s.forget("loadBalancer"));
    }
}

fn balanced(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer"
}

/// The node ports a service names.
pub(crate) fn node_ports(service: &Value) -> BTreeSet<i64> {
    let ports = service["spec"]["ports"].items().iter();
    ports
        .map(|p| p["nodePort"].int())
        .filter(|p| *p != 0)
        .collect()
}
