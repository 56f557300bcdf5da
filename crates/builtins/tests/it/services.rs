//! Services, endpoints and endpoint slices.

use kubewright_builtins::core::service::allocation;
use serde_json::{Value, json};

use crate::{created, errors_of_create, named, updated};

fn service(spec: Value) -> Value {
    let mut service = json!({"metadata": named("s"), "spec": spec});
    allocation::normalize_cluster_ips(&mut service, None);
    service
}

#[test]
fn a_service_gets_its_defaults() {
    let stored = created("", "Service", service(json!({"ports": [{"port": 80}]})));
    let expected = json!({
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    });
    assert_eq!(stored["spec"], expected);
}

#[test]
fn several_ports_need_names_and_every_port_a_number() {
    let errors = errors_of_create(
        "",
        "Service",
        service(json!({"ports": [{"port": 80}, {"name": "x", "port": 0}]})),
    );
    assert_eq!(
        errors,
        [
            "spec.ports[0].name: Required value",
            "spec.ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[1].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
        ]
    );
}

#[test]
fn the_name_of_a_service_may_start_with_a_digit() {
    let mut numbered = service(json!({"ports": [{"port": 80}]}));
    numbered["metadata"]["name"] = json!("9digit");
    assert!(errors_of_create("", "Service", numbered).is_empty());
}

#[test]
fn fields_of_the_old_type_are_removed() {
    let spec = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30001}]});
    let old = created("", "Service", service(spec));
    let mut new = old.clone();
    new["spec"]["type"] = json!("ClusterIP");
    let (stored, errors) = updated("", "Service", &old, new);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(stored["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(stored["spec"].get("allocateLoadBalancerNodePorts"), None);
    assert_eq!(stored["spec"].get("externalTrafficPolicy"), None);
}

#[test]
fn the_cluster_ip_of_a_service_stays() {
    let old = created(
        "",
        "Service",
        service(json!({"clusterIP": "10.0.0.1", "ports": [{"port": 80}]})),
    );
    let mut new = old.clone();
    new["spec"]["clusterIP"] = json!("10.0.0.2");
    allocation::normalize_cluster_ips(&mut new, Some(&old));
    let (_, errors) = updated("", "Service", &old, new);
    assert_eq!(
        errors,
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"]
    );
}

#[test]
fn the_address_type_of_a_slice_stays() {
    let slice = |kind: &str| json!({"metadata": named("e"), "addressType": kind, "endpoints": []});
    let old = created("discovery.k8s.io", "EndpointSlice", slice("IPv4"));
    let (_, errors) = updated("discovery.k8s.io", "EndpointSlice", &old, slice("IPv6"));
    assert_eq!(
        errors,
        ["addressType: Invalid value: \"IPv6\": field is immutable"]
    );
}

#[test]
fn the_loopback_address_is_not_an_endpoint() {
    let subsets = json!([{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80}]}]);
    let errors = errors_of_create(
        "",
        "Endpoints",
        json!({"metadata": named("e"), "subsets": subsets}),
    );
    let expected = [
        "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
    ];
    assert_eq!(errors, expected);
}
