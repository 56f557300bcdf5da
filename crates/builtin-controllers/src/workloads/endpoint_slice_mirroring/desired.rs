//! The slices that Endpoints should have: one for each family and set of ports.

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::{
    api::{
        core::v1::{EndpointAddress, Endpoints},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt;

use super::MANAGER;
use crate::workloads::{
    endpoint_slice::{MANAGED_BY, SERVICE_NAME, port_key},
    objects::controller_reference,
    pods::name_prefix,
    services::TRIGGER_TIME,
};

/// The maximum number of addresses of a subset that are mirrored.
pub(super) const MOST: usize = 1000;

/// The annotation that `kubectl apply` writes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The slices that Endpoints should have, and the addresses that were skipped.
#[derive(Debug, Default)]
pub(super) struct Desired {
    /// By family and ports.
    pub(super) slices: BTreeMap<(String, String), EndpointSlice>,
    pub(super) invalid: usize,
    /// Those that are invalid included.
    pub(super) skipped: usize,
}

impl Desired {
    pub(super) fn of(endpoints: &Endpoints) -> Self {
        let mut desired = Self::default();
        for subset in endpoints.subsets.iter().flatten() {
            let ports: Vec<EndpointPort> = subset
                .ports
                .iter()
                .flatten()
                .map(|port| EndpointPort {
                    name: Some(port.name.clone().unwrap_or_default()),
                    port: Some(port.port),
                    protocol: port.protocol.clone(),
                    app_protocol: port.app_protocol.clone(),
                })
                .collect();
            let ready = subset
                .addresses
                .iter()
                .flatten()
                .map(|address| (address, true));
            let others = subset.not_ready_addresses.iter().flatten();
            let mut added = 0;
            for (address, is_ready) in ready.chain(others.map(|address| (address, false))) {
                let Ok(ip) = address.ip.parse::<IpAddr>() else {
                    desired.invalid += 1;
                    desired.skipped += 1;
                    continue;
                };
                if added == MOST {
                    desired.skipped += 1;
                    continue;
                }
                added += 1;
                let slice = desired.slice(endpoints, &ports, ip);
                let all = &mut slice.endpoints.get_or_insert_default();
                let new = endpoint(address, ip, is_ready);
                // An address that is listed twice is one endpoint.
                if !all.iter().any(|known| {
                    known.addresses == new.addresses && known.target_ref == new.target_ref
                }) {
                    all.push(new);
                }
            }
        }
        desired
    }

    /// Returns the slice for addresses of that family.
    fn slice(
        &mut self,
        endpoints: &Endpoints,
        ports: &[EndpointPort],
        ip: IpAddr,
    ) -> &mut EndpointSlice {
        let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
        let key = (family.to_owned(), port_key(ports));
        self.slices.entry(key).or_insert_with(|| EndpointSlice {
            metadata: ObjectMeta {
                generate_name: Some(name_prefix(&endpoints.name_any())),
                namespace: endpoints.namespace(),
                labels: Some(labels(endpoints)),
                annotations: Some(annotations(endpoints)).filter(|all| !all.is_empty()),
                owner_references: Some(vec![controller_reference(endpoints)]),
                ..ObjectMeta::default()
            },
            address_type: family.to_owned(),
            endpoints: Some(Vec::new()),
            ports: Some(ports.to_vec()),
        })
    }
}

fn labels(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut labels = endpoints.labels().clone();
    labels.insert(SERVICE_NAME.to_owned(), endpoints.name_any());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

fn annotations(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut annotations = endpoints.annotations().clone();
    annotations.remove(TRIGGER_TIME);
    annotations.remove(LAST_APPLIED);
    annotations
}

fn endpoint(address: &EndpointAddress, ip: IpAddr, is_ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![ip.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(is_ready),
            ..EndpointConditions::default()
        }),
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        hostname: address.hostname.clone().filter(|name| !name.is_empty()),
        ..Endpoint::default()
    }
}
