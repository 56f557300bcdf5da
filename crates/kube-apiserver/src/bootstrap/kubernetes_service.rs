//! The Service `kubernetes` in the namespace `default`: how programs in the cluster find the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::Method;
use kubewright_apiserver::{ApiServer, registry::payload, rfc3339};
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, Store, WriteError};
use serde_json::{Value, json};

use super::{create, send};
use crate::{
    kinds::{Environment, collection},
    service_range::ServiceRange,
};

/// An address of the kind that endpoints may have. It stands in for the server's own, which may be a loopback address:
/// those are not valid in endpoints that clients write.
const STAND_IN: &str = "192.0.2.1";
/// The port of a server whose address is not known.
const PORT: u16 = 6443;

/// The address that the server listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    address: IpAddr,
    port: u16,
}

impl Endpoint {
    /// Reads `address:port`. A server without a known address is on this machine.
    pub(crate) fn of(address: &str) -> Self {
        let known = address.parse::<SocketAddr>().ok();
        let reachable = known.map(|a| a.ip()).filter(|ip| !ip.is_unspecified());
        Self {
            address: reachable.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: known.map_or(PORT, |a| a.port()),
        }
    }
}

/// Creates the default ServiceCIDR, and marks it as ready.
pub(crate) async fn service_cidr(
    server: &ApiServer,
    environment: &Environment,
) -> Result<(), Status> {
    const PATH: &str = "/apis/networking.k8s.io/v1/servicecidrs";
    let cidr = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [environment.service_range.to_string()]},
    });
    if send(server, Method::POST, PATH, "application/json", &cidr)
        .await?
        .is_none()
    {
        return Ok(());
    }
    let ready = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": rfc3339(environment.clock.now()),
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    });
    let path = format!(
        "{PATH}/kubernetes/status?fieldManager=kubernetes-service-cidr-controller&force=true"
    );
    send(
        server,
        Method::PATCH,
        &path,
        "application/apply-patch+yaml",
        &ready,
    )
    .await
    .map(drop)
}

/// Creates the Service, its Endpoints and its EndpointSlice.
pub(crate) async fn kubernetes_service(
    server: &ApiServer,
    environment: &Environment,
    endpoint: Endpoint,
) -> Result<(), Status> {
    let store = &*environment.store;
    let key = Key::new(collection("", "services"), "default/kubernetes");
    // Its address is taken where it exists already, so trying to create it would be another error.
    if store.get(&key).await.map_err(status::internal)?.is_none() {
        let service = service(&environment.service_range, endpoint.port);
        create(server, "/api/v1/namespaces/default/services", &service).await?;
    }
    put(
        server,
        store,
        ("", "v1", "endpoints"),
        &endpoints(endpoint.port),
        endpoint,
    )
    .await?;
    put(
        server,
        store,
        ("discovery.k8s.io", "v1", "endpointslices"),
        &endpoint_slice(endpoint),
        endpoint,
    )
    .await
}

fn service(range: &ServiceRange, port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": range.first().to_string(), "type": "ClusterIP", "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        },
    })
}

fn endpoints(port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": STAND_IN}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }],
    })
}

fn endpoint_slice(endpoint: Endpoint) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [STAND_IN], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": endpoint.port, "protocol": "TCP"}],
    })
}

/// Stores an object of the namespace `default` with the server's address in it.
async fn put(
    server: &ApiServer,
    store: &dyn Store,
    (group, version, plural): (&str, &str, &str),
    object: &Value,
    endpoint: Endpoint,
) -> Result<(), Status> {
    let base = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let path = format!("{base}/namespaces/default/{plural}?dryRun=All");
    let Some(mut object) = send(server, Method::POST, &path, "application/json", object).await?
    else {
        return Ok(());
    };
    replace_address(&mut object, &endpoint.address.to_string());
    if endpoint.address.is_ipv6() && plural == "endpointslices" {
        object["addressType"] = json!("IPv6");
    }
    let key = Key::new(collection(group, plural), "default/kubernetes");
    match store.create(key, payload(&object)).await {
        Ok(_) | Err(WriteError::Exists(_)) => Ok(()),
        Err(e) => Err(status::internal(e)),
    }
}

fn replace_address(value: &mut Value, address: &str) {
    match value {
        Value::String(text) if text == STAND_IN => address.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|v| replace_address(v, address)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|v| replace_address(v, address)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_where_clients_reach_the_server() {
        for (text, address, port) in [
            ("192.0.2.7:8443", "192.0.2.7", 8443),
            ("0.0.0.0:7000", "127.0.0.1", 7000),
            ("[::1]:7000", "::1", 7000),
            ("", "127.0.0.1", 6443),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(Endpoint::of(text), Endpoint { address, port }, "{text}");
        }
    }
}
