//! The Service `default/kubernetes`: its objects at the start of a server, after changes, and with several servers.

use std::{sync::Arc, time::Duration};

use kubewright_kube_apiserver::{
    FIRST_REVISION, KubeApiServer, KubeApiServerBuilder, StorageLayout,
};
use kubewright_store::{MemoryStore, Range, Store};
use serde_json::{Value, json};

use crate::client::Client;

const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
const CIDR: &str = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";

/// More than the interval at which the objects are checked.
const WHILE: Duration = Duration::from_secs(11);

fn on(store: &MemoryStore, address: &str) -> KubeApiServerBuilder {
    KubeApiServer::builder()
        .store(Arc::new(store.clone()))
        .address(address)
}

fn store() -> MemoryStore {
    MemoryStore::starting_at(FIRST_REVISION)
}

/// The addresses and ports of the three objects.
async fn reachable(client: &Client) -> Value {
    let service = client.get(SERVICE).await;
    let endpoints = client.get(ENDPOINTS).await;
    let slice = client.get(SLICE).await;
    let subset = &endpoints["subsets"][0];
    let ips = |list: &Value, pointer: &str| -> Vec<Value> {
        let items = list.as_array().expect("addresses");
        items
            .iter()
            .map(|i| i.pointer(pointer).unwrap().clone())
            .collect()
    };
    json!({
        "service": service["spec"]["ports"][0]["targetPort"],
        "endpoints": [ips(&subset["addresses"], "/ip"), subset["ports"][0]["port"]],
        "slice": [ips(&slice["endpoints"], "/addresses/0"), slice["ports"][0]["port"]],
    })
}

fn reached(addresses: &[&str], port: u16) -> Value {
    json!({"service": port, "endpoints": [addresses, port], "slice": [addresses, port]})
}

/// An object without what differs from server to server.
fn stable(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    ] {
        assert!(metadata.remove(key).is_some(), "{key}");
    }
    object
}

#[tokio::test]
async fn the_service_of_the_server_is_there() {
    let client = Client::of(KubeApiServer::builder().address("192.0.2.2:7443")).await;
    let service = client.get(SERVICE).await;
    assert_eq!(
        service["metadata"]["managedFields"][0]["manager"],
        "kube-apiserver"
    );
    assert_eq!(
        stable(service),
        json!({
            "kind": "Service", "apiVersion": "v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 7443}],
                "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "type": "ClusterIP",
                "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
            "status": {"loadBalancer": {}},
        })
    );
    let endpoints = client.get(ENDPOINTS).await;
    assert_eq!(
        stable(endpoints),
        json!({
            "kind": "Endpoints", "apiVersion": "v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{
                "addresses": [{"ip": "192.0.2.2"}],
                "ports": [{"name": "https", "port": 7443, "protocol": "TCP"}],
            }],
        })
    );
    let slice = client.get(SLICE).await;
    assert_eq!(
        stable(slice),
        json!({
            "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default", "generation": 1,
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.2"], "conditions": {"ready": true}}],
            "ports": [{"name": "https", "protocol": "TCP", "port": 7443}],
        })
    );
}

#[tokio::test]
async fn a_restart_at_another_address_corrects_it() {
    let store = store();
    let first = Client::of(on(&store, "127.0.0.1:7443")).await;
    assert_eq!(reachable(&first).await, reached(&["127.0.0.1"], 7443));
    let uid = first.get(SLICE).await["metadata"]["uid"].clone();
    drop(first);
    let second = Client::of(on(&store, "127.0.0.1:8443")).await;
    assert_eq!(reachable(&second).await, reached(&["127.0.0.1"], 8443));
    let slice = second.get(SLICE).await;
    assert_eq!(slice["metadata"]["generation"], 2);
    assert_eq!(slice["metadata"]["uid"], uid);
    assert_eq!(second.get(SERVICE).await["spec"]["clusterIP"], "10.96.0.1");
    drop(second);
    // The type of the addresses of a slice cannot be changed.
    let third = Client::of(on(&store, "[::1]:8443")).await;
    assert_eq!(reachable(&third).await, reached(&["::1"], 8443));
    let slice = third.get(SLICE).await;
    assert_eq!(slice["addressType"], "IPv6");
    assert_ne!(slice["metadata"]["uid"], uid);
}

#[tokio::test]
async fn a_restart_at_the_same_address_writes_nothing() {
    let store = store();
    let first = Client::of(on(&store, "127.0.0.1:7443")).await;
    let versions = async |client: &Client| {
        let mut versions = Vec::new();
        for path in [SERVICE, ENDPOINTS, SLICE, CIDR] {
            versions.push(client.get(path).await["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let before = versions(&first).await;
    drop(first);
    let second = Client::of(on(&store, "127.0.0.1:7443")).await;
    assert_eq!(versions(&second).await, before);
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_or_changed_comes_back() {
    let client = Client::of(KubeApiServer::builder().address("127.0.0.1:7443")).await;
    let whole = reachable(&client).await;
    for path in [SERVICE, ENDPOINTS, SLICE, CIDR] {
        assert_eq!(client.delete(path).await.0, 200, "{path}");
        assert_eq!(client.get(path).await["code"], 404, "{path}");
    }
    tokio::time::sleep(WHILE).await;
    assert_eq!(reachable(&client).await, whole);
    assert_eq!(
        client.get(CIDR).await["spec"]["cidrs"],
        json!(["10.96.0.0/12"])
    );

    let elsewhere =
        json!({"subsets": [{"addresses": [{"ip": "192.0.2.9"}], "ports": [{"port": 1}]}]});
    assert_eq!(client.patch(ENDPOINTS, &elsewhere).await.0, 200);
    let nobody = json!({"endpoints": null, "metadata": {"labels": null}});
    assert_eq!(client.patch(SLICE, &nobody).await.0, 200);
    tokio::time::sleep(WHILE).await;
    let endpoints = client.get(ENDPOINTS).await;
    assert_eq!(
        endpoints["subsets"][0]["addresses"],
        json!([{"ip": "127.0.0.1"}])
    );
    // Only a start corrects ports.
    assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], 1);
    let slice = client.get(SLICE).await;
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["127.0.0.1"]));
    assert_eq!(
        slice["metadata"]["labels"]["kubernetes.io/service-name"],
        "kubernetes"
    );
}

#[tokio::test(start_paused = true)]
async fn servers_with_one_store_are_listed_while_they_run() {
    let store = store();
    let first = Client::of(on(&store, "192.0.2.1:6443").shared_store()).await;
    let second = Client::of(on(&store, "192.0.2.2:6443").shared_store()).await;
    let both = reached(&["192.0.2.1", "192.0.2.2"], 6443);
    assert_eq!(reachable(&first).await, both);
    let snapshot = store.snapshot(None).await.unwrap();
    let leases = snapshot.range(StorageLayout::SERVER_LEASES, Range::default());
    for lease in leases.await.unwrap().entries {
        assert!(StorageLayout::is_own_lease(&lease.bytes), "{lease:?}");
    }
    // A server without an address has no part in it.
    let third = Client::of(on(&store, "").shared_store()).await;
    assert_eq!(reachable(&third).await, both);

    drop(first);
    for _ in 0..3 {
        tokio::time::sleep(WHILE).await;
        store.expire_due();
    }
    tokio::time::sleep(WHILE).await;
    assert_eq!(reachable(&second).await, reached(&["192.0.2.2"], 6443));
}
