//! Defaults of services.

use serde_json::{Value, json};

use super::strategy::externally_accessible;
use crate::json::{Read, Write};

const AFFINITY_SECONDS: i64 = 10800;

/// The defaults of a service.
pub(crate) fn service(service: &mut Value) {
    let spec = service.field("spec");
    spec.put_if_blank("sessionAffinity", "None");
    match spec["sessionAffinity"].text() {
        "None" => spec.forget("sessionAffinityConfig"),
        "ClientIP" if !spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_set() => {
            let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
            spec.put("sessionAffinityConfig", config);
        }
        _ => {}
    }
    spec.put_if_blank("type", "ClusterIP");
    spec.each("ports", |port| {
        port.put_if_blank("protocol", "TCP");
        let number = port["port"].int();
        port.put_if_blank("targetPort", number);
    });
    if externally_accessible(spec) {
        spec.put_if_blank("externalTrafficPolicy", "Cluster");
    }
    let kind = spec["type"].text();
    let balanced = kind == "LoadBalancer";
    if balanced || kind == "NodePort" || kind == "ClusterIP" {
        spec.put_if_unset("internalTrafficPolicy", "Cluster");
    }
    if balanced {
        spec.put_if_unset("allocateLoadBalancerNodePorts", true);
        service.with("status", |status| {
            status.with("loadBalancer", |lb| {
                lb.each("ingress", |ingress| {
                    if !ingress["ip"].is_blank() {
                        ingress.put_if_unset("ipMode", "VIP");
                    }
                });
            });
        });
    }
}
