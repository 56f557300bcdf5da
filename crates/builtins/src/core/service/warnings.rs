//! Warnings for services that are accepted.

use kubewright_machinery::field::Path;
use serde_json::Value;

use crate::{address, json::Read};

pub(crate) fn warnings(service: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let spec = &service["spec"];
    let path = Path::new("spec");
    let hints = "service.kubernetes.io/topology-aware-hints";
    if service["metadata"]["annotations"][hints].is_set() {
        out.push(format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    if spec["clusterIP"] != "None" {
        for (i, ip) in spec["clusterIPs"].items().iter().enumerate() {
            out.extend(address::warnings(
                ip.text(),
                &path.child("clusterIPs").index(i),
            ));
        }
    }
    if headless {
        for (field, shown) in [
            ("loadBalancerIP", "loadBalancerIP"),
            ("externalIPs", "externalIPs"),
        ] {
            if !spec[field].is_blank() {
                out.push(format!("spec.{shown} is ignored for headless services"));
            }
        }
        if spec["sessionAffinity"] != "None" {
            out.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    let external = spec["externalIPs"].items();
    for (i, ip) in external.iter().enumerate() {
        out.extend(address::warnings(
            ip.text(),
            &path.child("externalIPs").index(i),
        ));
    }
    let named = spec["type"] == "ExternalName";
    if !external.is_empty() && !headless && !named {
        out.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    if !spec["loadBalancerIP"].is_blank() {
        out.extend(address::warnings(
            spec["loadBalancerIP"].text(),
            &path.child("loadBalancerIP"),
        ));
    }
    if named && !external.is_empty() {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !named && !spec["externalName"].is_blank() {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        out.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
    out
}
