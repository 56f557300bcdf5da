//! The Service, the Endpoints and the EndpointSlice as they have to be.

use std::net::IpAddr;

use kubewright_machinery::json::Read;
use serde_json::{Value, json};

use super::Ports;
use crate::service_range::ServiceRange;

const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";

/// Returns the Service of a new cluster.
pub(super) fn service(range: &ServiceRange, port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": range.first().to_string(), "type": "ClusterIP", "sessionAffinity": "None",
            "ports": service_ports(port),
        },
    })
}

fn service_ports(port: u16) -> Value {
    json!([{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}])
}

/// Returns the Service with the ports and the type that it has to have.
pub(super) fn revised_service(current: &Value, port: u16) -> Value {
    let mut revised = current.clone();
    revised["spec"]["ports"] = service_ports(port);
    revised["spec"]["type"] = "ClusterIP".into();
    revised
}

/// Returns the Endpoints with these addresses. Ports that differ are kept if `ports` says so, as kube-apiserver does after
/// its start: servers that share a store do not fight over them.
pub(super) fn endpoints(
    current: Option<&Value>,
    addresses: &[IpAddr],
    port: u16,
    ports: Ports,
) -> Value {
    let mut endpoints = current.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default"},
        })
    });
    endpoints["metadata"]["labels"][SKIP_MIRROR] = "true".into();
    let subsets = endpoints["subsets"].items();
    let kept = match subsets {
        [only] if ports == Ports::Kept => Some(only["ports"].clone()),
        _ => None,
    };
    let mut found: Vec<IpAddr> = match subsets {
        [only] => only["addresses"].items().iter(),
        _ => [].iter(),
    }
    .filter_map(|address| address["ip"].text().parse().ok())
    .collect();
    found.sort();
    let all = match subsets {
        [only] if found == addresses => only["addresses"].clone(),
        _ => addresses
            .iter()
            .map(|address| json!({"ip": address.to_string()}))
            .collect(),
    };
    let own = || json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    endpoints["subsets"] = json!([{"addresses": all, "ports": kept.unwrap_or_else(own)}]);
    endpoints
}

/// Returns the EndpointSlice that mirrors the Endpoints.
pub(super) fn endpoint_slice(current: Option<&Value>, endpoints: &Value) -> Value {
    let subset = &endpoints["subsets"][0];
    let addresses = subset["addresses"].items().iter();
    let addresses: Vec<IpAddr> = addresses
        .filter_map(|address| address["ip"].text().parse().ok())
        .collect();
    let is_ipv6 = addresses.iter().all(IpAddr::is_ipv6);
    let of_family = addresses.iter().filter(|ip| ip.is_ipv6() == is_ipv6);
    let mut slice = current.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default"},
        })
    });
    slice["metadata"]["labels"] = json!({"kubernetes.io/service-name": "kubernetes"});
    slice["addressType"] = if is_ipv6 { "IPv6" } else { "IPv4" }.into();
    slice["endpoints"] = of_family
        .map(|ip| json!({"addresses": [ip.to_string()], "conditions": {"ready": true}}))
        .collect();
    slice["ports"] = subset["ports"].clone();
    slice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn of(texts: &[&str], port: u16) -> Value {
        endpoints(None, &ips(texts), port, Ports::Corrected)
    }

    #[test]
    fn only_a_start_corrects_ports() {
        let current = of(&["192.0.2.1"], 6443);
        let addresses = ips(&["192.0.2.1"]);
        let kept = endpoints(Some(&current), &addresses, 7443, Ports::Kept);
        assert_eq!(kept, current);
        let corrected = endpoints(Some(&current), &addresses, 7443, Ports::Corrected);
        assert_eq!(corrected, of(&["192.0.2.1"], 7443));
    }

    #[test]
    fn addresses_in_another_order_are_left_alone() {
        let mut current = of(&["192.0.2.1", "192.0.2.2"], 6443);
        let addresses = current["subsets"][0]["addresses"].as_array_mut().unwrap();
        addresses.reverse();
        let two = ips(&["192.0.2.1", "192.0.2.2"]);
        assert_eq!(endpoints(Some(&current), &two, 6443, Ports::Kept), current);
        let three = ips(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
        let more = endpoints(Some(&current), &three, 6443, Ports::Kept);
        assert_eq!(more["subsets"][0]["addresses"].items().len(), 3);
    }

    #[test]
    fn endpoints_of_another_shape_and_lost_labels_are_restored() {
        let whole = of(&["192.0.2.1"], 6443);
        let mut damaged = whole.clone();
        damaged["metadata"]["labels"] = Value::Null;
        damaged["subsets"] = json!([whole["subsets"][0], whole["subsets"][0]]);
        let addresses = ips(&["192.0.2.1"]);
        let restored = endpoints(Some(&damaged), &addresses, 6443, Ports::Kept);
        assert_eq!(restored, whole);
    }

    #[test]
    fn a_slice_has_the_addresses_of_one_family() {
        let six = endpoint_slice(None, &of(&["2001:db8::1"], 6443));
        assert_eq!(six["addressType"], "IPv6");
        let both = endpoint_slice(None, &of(&["192.0.2.1", "2001:db8::1"], 6443));
        assert_eq!(both["addressType"], "IPv4");
        assert_eq!(both["endpoints"].items().len(), 1);
        let ports = json!([{"name": "https", "port": 6443, "protocol": "TCP"}]);
        assert_eq!(both["ports"], ports);
    }
}
