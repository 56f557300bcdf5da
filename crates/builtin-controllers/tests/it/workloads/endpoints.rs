//! The Endpoints and EndpointSlices of Services.

use k8s_openapi::api::{
    core::v1::{Endpoints, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::fixture::Fixture;

async fn start() -> Fixture {
    let f = Fixture::start("endpoint,endpointslice").await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z1"}},
    }))
    .await;
    f
}

/// Creates a Service named `web` with more in its spec.
async fn service(f: &Fixture, more: Value) {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "labels": {"team": "a"}},
        "spec": {
            "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    });
    for (field, value) in more.as_object().unwrap() {
        service["spec"][field] = value.clone();
    }
    f.create(service).await;
    f.settled().await;
}

/// Creates a pod on a node with an address, which is ready.
async fn pod(f: &Fixture, name: &str, node: &str, ip: &str) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": [
            {"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 8080}]},
        ]},
    }))
    .await;
    f.set_pod_status(name, json!({"podIP": ip, "podIPs": [{"ip": ip}]}))
        .await;
    f.make_ready(name).await;
    f.settled().await;
}

async fn not_ready(f: &Fixture, pod: &str) {
    f.set_pod_status(
        pod,
        json!({"conditions": [{"type": "Ready", "status": "False"}]}),
    )
    .await;
    f.settled().await;
}

async fn patch(f: &Fixture, change: Value) {
    let services: Api<Service> = Api::default_namespaced(f.client());
    let (patch, params) = (Patch::Merge(change), PatchParams::default());
    services.patch("web", &params, &patch).await.unwrap();
    f.settled().await;
}

async fn slices(f: &Fixture) -> Vec<EndpointSlice> {
    let slices: Api<EndpointSlice> = Api::default_namespaced(f.client());
    let params = ListParams::default().labels("kubernetes.io/service-name=web");
    slices.list(&params).await.unwrap().items
}

async fn slice(f: &Fixture) -> Value {
    let slices = slices(f).await;
    assert_eq!(slices.len(), 1);
    json!(slices[0])
}

async fn endpoints(f: &Fixture) -> Value {
    let endpoints: Api<Endpoints> = Api::default_namespaced(f.client());
    json!(endpoints.get("web").await.unwrap())
}

/// Returns the addresses of Endpoints, those that are not ready last.
async fn addresses(f: &Fixture) -> [Vec<String>; 2] {
    let endpoints = endpoints(f).await;
    ["addresses", "notReadyAddresses"].map(|list| {
        let addresses = endpoints["subsets"][0][list].as_array().cloned();
        let addresses = addresses.unwrap_or_default().into_iter();
        addresses
            .map(|address| address["ip"].as_str().unwrap().to_owned())
            .collect()
    })
}

#[tokio::test]
async fn a_pod_of_a_service_is_its_endpoint() {
    let f = start().await;
    service(&f, json!({})).await;
    pod(&f, "p1", "n1", "10.0.0.1").await;
    let slice = slice(&f).await;
    let uid = json!(f.pods().get("p1").await.unwrap().uid());
    assert_eq!(slice["metadata"]["generateName"], "web-");
    assert_eq!(
        slice["metadata"]["labels"],
        json!({
            "team": "a", "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        })
    );
    let owner = &slice["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("Service"), &json!(true))
    );
    assert_eq!(slice["addressType"], "IPv4");
    assert_eq!(
        slice["ports"],
        json!([{"name": "http", "port": 8080, "protocol": "TCP"}])
    );
    assert_eq!(
        slice["endpoints"],
        json!([{
            "addresses": ["10.0.0.1"], "nodeName": "n1", "zone": "z1",
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p1", "uid": uid},
        }])
    );
    let annotation = "endpoints.kubernetes.io/last-change-trigger-time";
    assert!(slice["metadata"]["annotations"][annotation].is_string());
    let endpoints = endpoints(&f).await;
    assert_eq!(
        endpoints["metadata"]["labels"],
        json!({"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"})
    );
    assert_eq!(
        endpoints["subsets"],
        json!([{
            "addresses": [{
                "ip": "10.0.0.1", "nodeName": "n1",
                "targetRef": {"kind": "Pod", "namespace": "default", "name": "p1", "uid": uid},
            }],
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        }])
    );
}

#[tokio::test]
async fn a_service_without_pods_has_one_empty_slice() {
    let f = start().await;
    service(&f, json!({})).await;
    let empty = slice(&f).await;
    assert_eq!(
        (&empty["endpoints"], &empty["ports"]),
        (&Value::Null, &Value::Null)
    );
    pod(&f, "p1", "n1", "10.0.0.1").await;
    // The empty slice is used.
    assert_eq!(
        slice(&f).await["metadata"]["name"],
        empty["metadata"]["name"]
    );
    let force = DeleteParams::default().grace_period(0);
    f.pods().delete("p1", &force).await.unwrap();
    f.settled().await;
    assert_eq!(slice(&f).await["ports"], Value::Null);
    assert_eq!(endpoints(&f).await["subsets"], Value::Null);
}

#[tokio::test]
async fn endpoints_say_whether_pods_are_ready_or_terminate() {
    let f = start().await;
    service(&f, json!({})).await;
    pod(&f, "p1", "n1", "10.0.0.1").await;
    pod(&f, "p2", "n1", "10.0.0.2").await;
    not_ready(&f, "p1").await;
    f.pods()
        .delete("p2", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    let slice = slice(&f).await;
    let conditions: Vec<&Value> = slice["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|endpoint| &endpoint["conditions"])
        .collect();
    assert_eq!(
        conditions,
        [
            &json!({"ready": false, "serving": false, "terminating": false}),
            &json!({"ready": false, "serving": true, "terminating": true}),
        ]
    );
    assert_eq!(addresses(&f).await, [vec![], vec!["10.0.0.1".to_owned()]]);
    patch(&f, json!({"spec": {"publishNotReadyAddresses": true}})).await;
    assert_eq!(addresses(&f).await[0].len(), 2);
    f.set_pod_status("p1", json!({"phase": "Succeeded"})).await;
    f.settled().await;
    assert_eq!(addresses(&f).await[0], ["10.0.0.2"]);
}

#[tokio::test]
async fn a_headless_service_says_so_and_its_pods_have_names() {
    let f = start().await;
    service(&f, json!({"clusterIP": "None", "ports": []})).await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p1", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "nodeName": "n1", "hostname": "db-0", "subdomain": "web",
            "containers": [{"name": "c", "image": "i"}],
        },
    }))
    .await;
    let address = json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]});
    f.set_pod_status("p1", address).await;
    f.settled().await;
    let slice = slice(&f).await;
    assert_eq!(
        slice["metadata"]["labels"]["service.kubernetes.io/headless"],
        ""
    );
    assert_eq!(slice["endpoints"][0]["hostname"], "db-0");
    let endpoints = endpoints(&f).await;
    assert_eq!(
        endpoints["metadata"]["labels"]["service.kubernetes.io/headless"],
        ""
    );
    assert_eq!(
        endpoints["subsets"][0]["notReadyAddresses"][0]["hostname"],
        "db-0"
    );
}

#[tokio::test]
async fn slices_hold_a_hundred_endpoints() {
    let f = start().await;
    service(&f, json!({})).await;
    for i in 0..120 {
        let name = format!("p{i:03}");
        f.create(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        }))
        .await;
        let ip = format!("10.0.0.{i}");
        let status = json!({"podIP": ip, "podIPs": [{"ip": ip}]});
        f.set_pod_status(&name, status).await;
    }
    f.settled().await;
    let sizes = |slices: Vec<EndpointSlice>| {
        let mut sizes: Vec<usize> = slices
            .iter()
            .map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len))
            .collect();
        sizes.sort_unstable();
        sizes
    };
    let all = sizes(slices(&f).await);
    assert_eq!(all.iter().sum::<usize>(), 120);
    assert!(all.iter().all(|size| *size <= 100));
}

#[tokio::test]
async fn a_service_that_prefers_what_is_close_gives_hints() {
    let f = start().await;
    service(&f, json!({"trafficDistribution": "PreferSameNode"})).await;
    pod(&f, "p1", "n1", "10.0.0.1").await;
    assert_eq!(
        slice(&f).await["endpoints"][0]["hints"],
        json!({"forZones": [{"name": "z1"}], "forNodes": [{"name": "n1"}]})
    );
    patch(&f, json!({"spec": {"trafficDistribution": null}})).await;
    assert_eq!(slice(&f).await["endpoints"][0]["hints"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_an_unknown_node_is_left_out_and_reported() {
    let f = start().await;
    service(&f, json!({})).await;
    pod(&f, "p1", "gone", "10.0.0.1").await;
    assert_eq!(slice(&f).await["endpoints"], Value::Null);
    assert_eq!(addresses(&f).await[0], ["10.0.0.1"]);
    let message = "Error updating Endpoint Slices for Service default/web: skipping Pod p1 for Service default/web: Node gone Not Found";
    let reason = "FailedToUpdateEndpointSlices";
    assert!(
        f.events("web")
            .await
            .contains_key(&(reason.to_owned(), message.to_owned()))
    );
    patch(&f, json!({"spec": {"publishNotReadyAddresses": true}})).await;
    assert_eq!(slice(&f).await["endpoints"][0]["nodeName"], "gone");
}

#[tokio::test]
async fn changed_labels_reach_the_slices_and_pods_follow_their_labels() {
    let f = start().await;
    service(&f, json!({})).await;
    pod(&f, "p1", "n1", "10.0.0.1").await;
    patch(&f, json!({"metadata": {"labels": {"team": "b"}}})).await;
    assert_eq!(slice(&f).await["metadata"]["labels"]["team"], "b");
    assert_eq!(endpoints(&f).await["metadata"]["labels"]["team"], "b");
    let relabel = Patch::Merge(json!({"metadata": {"labels": {"app": "other"}}}));
    let params = PatchParams::default();
    f.pods().patch("p1", &params, &relabel).await.unwrap();
    f.settled().await;
    assert_eq!(slice(&f).await["endpoints"], Value::Null);
}

#[tokio::test]
async fn endpoints_go_with_their_service_and_others_are_left_alone() {
    let f = start().await;
    service(&f, json!({})).await;
    service_without_selector(&f).await;
    let services: Api<Service> = Api::default_namespaced(f.client());
    services
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    let all: Api<Endpoints> = Api::default_namespaced(f.client());
    assert!(all.get_opt("web").await.unwrap().is_none());
    let own = all.get("own").await.unwrap();
    assert_eq!(json!(own.subsets)[0]["addresses"][0]["ip"], "192.0.2.1");
}

#[tokio::test]
async fn endpoints_that_are_created_without_a_service_are_left_alone() {
    let f = start().await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "own", "namespace": "default"},
        "subsets": [{"addresses": [{"ip": "10.0.0.24"}], "ports": [{"port": 80}]}],
    }))
    .await;
    f.settled().await;
    let endpoints: Api<Endpoints> = Api::default_namespaced(f.cluster.client());
    assert!(endpoints.get_opt("own").await.unwrap().is_some());
}

async fn service_without_selector(f: &Fixture) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "own", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    }))
    .await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "own", "namespace": "default"},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}],
    }))
    .await;
    f.settled().await;
}

async fn mirrored(f: &Fixture) -> Vec<EndpointSlice> {
    let slices: Api<EndpointSlice> = Api::default_namespaced(f.client());
    let own = ListParams::default()
        .labels("endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io");
    slices.list(&own).await.unwrap().items
}

async fn outside(f: &Fixture, name: &str, metadata: Value, addresses: Value) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"ports": [{"port": 80}]},
    }))
    .await;
    let mut endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": name, "namespace": "default"},
        "subsets": [{
            "addresses": addresses, "notReadyAddresses": [{"ip": "10.0.0.9"}],
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        }],
    });
    for (field, value) in metadata.as_object().unwrap() {
        endpoints["metadata"][field] = value.clone();
    }
    f.create(endpoints).await;
    f.settled().await;
}

#[tokio::test]
async fn endpoints_of_others_are_mirrored() {
    let f = Fixture::start("endpointslicemirroring").await;
    let metadata = json!({"labels": {"a": "b"}, "annotations": {"c": "d"}});
    outside(
        &f,
        "db",
        metadata,
        json!([{"ip": "10.0.0.1", "hostname": "h"}, {"ip": "fd00::1"}]),
    )
    .await;
    let mut slices = mirrored(&f).await;
    slices.sort_by_key(|slice| slice.address_type.clone());
    assert_eq!(slices.len(), 2);
    let first = json!(slices[0]);
    assert!(slices[0].name_any().starts_with("db-"));
    assert_eq!(first["metadata"]["labels"]["a"], "b");
    assert_eq!(
        first["metadata"]["labels"]["kubernetes.io/service-name"],
        "db"
    );
    assert_eq!(first["metadata"]["annotations"], json!({"c": "d"}));
    assert_eq!(first["metadata"]["ownerReferences"][0]["kind"], "Endpoints");
    assert_eq!(
        first["ports"],
        json!([{"name": "http", "port": 8080, "protocol": "TCP"}])
    );
    assert_eq!(
        first["endpoints"],
        json!([
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "hostname": "h"},
            {"addresses": ["10.0.0.9"], "conditions": {"ready": false}},
        ])
    );
    assert_eq!(
        json!(slices[1])["endpoints"][0]["addresses"],
        json!(["fd00::1"])
    );
    let services: Api<Service> = Api::default_namespaced(f.client());
    services
        .delete("db", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert!(mirrored(&f).await.is_empty());
}

#[tokio::test]
async fn some_endpoints_are_not_mirrored() {
    let f = Fixture::start("endpointslicemirroring").await;
    let address = || json!([{"ip": "10.0.0.1"}]);
    let skipped = json!({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}});
    outside(&f, "skipped", skipped, address()).await;
    let leader = json!({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}});
    outside(&f, "leader", leader, address()).await;
    assert!(mirrored(&f).await.is_empty());
}
