//! Services of the type `LoadBalancer`.

use k8s_openapi::api::core::v1::Service;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn services(f: &Fixture) -> Api<Service> {
    Api::default_namespaced(f.client())
}

async fn create(f: &Fixture, name: &str, changes: Value) {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    for (field, value) in changes.as_object().unwrap() {
        service["spec"][field] = value.clone();
    }
    f.create(service).await;
    f.settled().await;
}

/// Returns the addresses of a service, and its finalizers.
async fn seen(f: &Fixture, name: &str) -> (Value, Value) {
    let service = json!(services(f).get(name).await.unwrap());
    let ingress = service["status"]["loadBalancer"]["ingress"].clone();
    (ingress, service["metadata"]["finalizers"].clone())
}

#[tokio::test]
async fn services_have_addresses_until_they_are_deleted_or_change_their_type() {
    let f = Fixture::start("simulated-load-balancer").await;
    create(&f, "a", json!({})).await;
    create(&f, "b", json!({"loadBalancerIP": "198.51.100.77"})).await;
    let finalizers = json!(["service.kubernetes.io/load-balancer-cleanup"]);
    let of = |ip: &str| (json!([{"ip": ip, "ipMode": "VIP"}]), finalizers.clone());
    assert_eq!(seen(&f, "a").await, of("198.51.100.1"));
    assert_eq!(seen(&f, "b").await, of("198.51.100.77"));
    let events = f.events("a").await;
    for (reason, message) in [
        ("EnsuringLoadBalancer", "Ensuring load balancer"),
        ("EnsuredLoadBalancer", "Ensured load balancer"),
    ] {
        let event = (reason.to_owned(), message.to_owned());
        assert!(events.contains_key(&event), "{events:?}");
    }
    let internal = Patch::Merge(json!({"spec": {"type": "ClusterIP"}}));
    let params = PatchParams::default();
    services(&f).patch("a", &params, &internal).await.unwrap();
    f.settled().await;
    assert_eq!(seen(&f, "a").await, (Value::Null, Value::Null));
    services(&f).delete("b", &Default::default()).await.unwrap();
    f.settled().await;
    assert!(services(&f).get_opt("b").await.unwrap().is_none());
    // The address is free again.
    create(&f, "c", json!({"loadBalancerIP": "198.51.100.77"})).await;
    assert_eq!(seen(&f, "c").await, of("198.51.100.77"));
}

#[tokio::test]
async fn other_services_and_those_of_other_classes_have_no_address() {
    let f = Fixture::start("simulated-load-balancer").await;
    create(&f, "a", json!({"type": "NodePort"})).await;
    create(&f, "b", json!({"loadBalancerClass": "example.com/own"})).await;
    for name in ["a", "b"] {
        assert_eq!(seen(&f, name).await, (Value::Null, Value::Null), "{name}");
    }
    // Without the controller, the address stays pending, as without a cloud.
    let f = Fixture::start("*").await;
    create(&f, "c", json!({})).await;
    assert_eq!(seen(&f, "c").await, (Value::Null, Value::Null));
}
