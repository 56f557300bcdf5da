//! The endpoint of a pod.

use k8s_openapi::api::{
    core::v1::ObjectReference,
    discovery::v1::{Endpoint, EndpointConditions, EndpointHints, EndpointPort, ForNode, ForZone},
};
use kube::ResourceExt;

use crate::workloads::{
    objects::{Pod, Service},
    services::{addresses, hostname, port_of},
};

/// Returns the endpoint of a pod on a node in a zone.
pub(super) fn endpoint(
    service: &Service,
    pod: &Pod,
    zone: Option<String>,
    family: &str,
) -> Endpoint {
    let is_serving = pod.ready().is_some();
    let is_terminating = pod.metadata.deletion_timestamp.is_some();
    let is_ready = service.spec.publish_not_ready_addresses || (is_serving && !is_terminating);
    let node = Some(pod.spec.node_name.clone()).filter(|node| !node.is_empty());
    Endpoint {
        addresses: addresses(pod, family),
        conditions: Some(EndpointConditions {
            ready: Some(is_ready),
            serving: Some(is_serving),
            terminating: Some(is_terminating),
        }),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.namespace(),
            name: Some(pod.name_any()),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        hints: hints(service, zone.as_ref(), node.as_ref()).filter(|_| is_ready),
        node_name: node,
        zone,
        hostname: hostname(pod, service).map(str::to_owned),
        ..Endpoint::default()
    }
}

/// Returns the zone or node hint of an endpoint, if the Service prefers close endpoints.
fn hints(service: &Service, zone: Option<&String>, node: Option<&String>) -> Option<EndpointHints> {
    let by_node = match service.spec.traffic_distribution.as_deref()? {
        "PreferClose" | "PreferSameZone" => false,
        "PreferSameNode" => true,
        _ => return None,
    };
    let for_zones = zone.map(|name| vec![ForZone { name: name.clone() }]);
    let node = node.filter(|_| by_node);
    let for_nodes = node.map(|name| vec![ForNode { name: name.clone() }]);
    (for_zones.is_some() || for_nodes.is_some()).then_some(EndpointHints {
        for_zones,
        for_nodes,
    })
}

/// Returns the ports of a pod for a Service. One that the pod does not have is left out.
pub(super) fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let ports = service.spec.ports.iter();
    let ports = ports.filter_map(|port| {
        Some(EndpointPort {
            name: Some(port.name.clone()),
            port: Some(port_of(pod, port)?),
            protocol: Some(port.protocol.clone()),
            app_protocol: port.app_protocol.clone(),
        })
    });
    ports.collect()
}
