//! Resolves a service of the cluster to the address of one of its endpoints.
//!
//! Cluster IPs are not routed here, so a service is reached at its ready endpoints, as in kube-apiserver with
//! `--enable-aggregator-routing`.

use kubewright_machinery::{go, json::Read};
use rand::seq::IndexedRandom;
use serde_json::Value;

use super::services::ServicePort;
use crate::admission::stored::Stored;

/// The label that ties an endpoint slice to its service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Returns host and port of a ready endpoint of a service, any of those of its primary family of addresses.
///
/// # Errors
///
/// Returns the message of kube-apiserver if there is no such service, port or endpoint.
pub(super) async fn endpoint(
    stored: &Stored,
    wanted: &ServicePort,
) -> Result<(String, u16), String> {
    let ServicePort {
        namespace,
        name,
        port,
    } = wanted;
    let path = format!("{namespace}/{name}");
    let service: Option<Value> = stored
        .get("services", &path)
        .await
        .map_err(|e| e.message.clone())?;
    let quoted = go::quote(name);
    let service = service.ok_or_else(|| format!("service {quoted} not found"))?;
    let kind = service["spec"]["type"].text_or("ClusterIP");
    match kind {
        "ClusterIP" | "LoadBalancer" | "NodePort" => {}
        "ExternalName" => return Ok((service["spec"]["externalName"].text().to_owned(), *port)),
        other => return Err(format!("unsupported service type {}", go::quote(other))),
    }
    let ports = service["spec"]["ports"].items();
    let found = ports.iter().find(|p| p["port"].int() == i64::from(*port));
    let found =
        found.ok_or_else(|| format!("no service port {port} found for service {quoted}"))?;
    let slices: Vec<Value> = stored
        .list("discovery.k8s.io/endpointslices", format!("{namespace}/"))
        .await
        .map_err(|e| e.message.clone())?;
    let slices: Vec<&Value> = slices
        .iter()
        .filter(|slice| slice["metadata"]["labels"][SERVICE_NAME] == name.as_str())
        .collect();
    let family = service["spec"]["ipFamilies"][0].text();
    let of_family = |slice: &&&Value| slice["addressType"].text() == family;
    let port_name = found["name"].text();
    let addresses = |slices: &mut dyn Iterator<Item = &&Value>| -> Vec<(String, u16)> {
        slices
            .flat_map(|slice| ready_addresses(slice, port_name))
            .collect()
    };
    let preferred = addresses(&mut slices.iter().filter(of_family));
    let all = match preferred.is_empty() {
        true => addresses(&mut slices.iter()),
        false => preferred,
    };
    all.choose(&mut rand::rng())
        .cloned()
        .ok_or_else(|| format!("no endpoints available for service {quoted}"))
}

/// Returns the addresses of a slice that are ready, with the port of that name.
fn ready_addresses(slice: &Value, port_name: &str) -> Vec<(String, u16)> {
    let ports = slice["ports"].items();
    let port = ports.iter().find(|port| port["name"].text() == port_name);
    let port = port.and_then(|port| u16::try_from(port["port"].int()).ok());
    let Some(port) = port.filter(|port| *port != 0) else {
        return Vec::new();
    };
    // An unknown state counts as ready.
    let ready = |endpoint: &&Value| endpoint["conditions"]["ready"].as_bool() != Some(false);
    let ready = slice["endpoints"].items().iter().filter(ready);
    let addresses = ready.filter_map(|endpoint| endpoint["addresses"].texts().next());
    addresses
        .map(|address| (address.to_owned(), port))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use kubewright_apiserver::registry::payload;
    use kubewright_store::{Key, MemoryStore, Store};
    use serde_json::json;

    use super::*;

    async fn resolve(objects: &[(&str, &str, Value)]) -> Result<(String, u16), String> {
        let store = MemoryStore::new();
        for (collection, path, object) in objects {
            let key = Key::new(*collection, *path);
            store.create(key, payload(object)).await.unwrap();
        }
        let wanted = ServicePort {
            namespace: "ns".into(),
            name: "hooks".into(),
            port: 443,
        };
        endpoint(&Stored(Arc::new(store)), &wanted).await
    }

    fn service(spec: Value) -> (&'static str, &'static str, Value) {
        ("services", "ns/hooks", json!({"spec": spec}))
    }

    fn slice(of: &str, ready: Option<bool>) -> (&'static str, &'static str, Value) {
        let slice = json!({
            "metadata": {"labels": {SERVICE_NAME: of}},
            "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
            "ports": [{"name": "https", "port": 9443}],
        });
        ("discovery.k8s.io/endpointslices", "ns/a", slice)
    }

    #[tokio::test]
    async fn a_ready_endpoint_is_found() {
        let ports = json!({"ports": [{"name": "https", "port": 443}]});
        for ready in [Some(true), None] {
            let found = resolve(&[service(ports.clone()), slice("hooks", ready)]).await;
            assert_eq!(found, Ok(("10.1.2.3".to_owned(), 9443)));
        }
        let none = "no endpoints available for service \"hooks\"".to_owned();
        for other in [slice("other", Some(true)), slice("hooks", Some(false))] {
            let found = resolve(&[service(ports.clone()), other]).await;
            assert_eq!(found, Err(none.clone()));
        }
    }

    #[tokio::test]
    async fn every_ready_endpoint_of_the_primary_family_is_chosen_at_times() {
        let ports =
            json!({"ports": [{"name": "https", "port": 443}], "ipFamilies": ["IPv4", "IPv6"]});
        let endpoint = |address: &str, ready: bool| json!({"addresses": [address], "conditions": {"ready": ready}});
        let slice = |path, family: &str, endpoints: Value| {
            let slice = json!({
                "metadata": {"labels": {SERVICE_NAME: "hooks"}},
                "addressType": family,
                "endpoints": endpoints,
                "ports": [{"name": "https", "port": 9443}],
            });
            ("discovery.k8s.io/endpointslices", path, slice)
        };
        let six = slice("ns/0", "IPv6", json!([endpoint("fd00::1", true)]));
        let one = [endpoint("10.0.0.1", true), endpoint("10.0.0.2", false)];
        let other = [endpoint("10.0.0.3", true)];
        let objects = [
            service(ports),
            six.clone(),
            slice("ns/a", "IPv4", json!(one)),
            slice("ns/b", "IPv4", json!(other)),
        ];
        let mut found = BTreeSet::new();
        while found.len() < 2 {
            found.insert(resolve(&objects).await.unwrap().0);
        }
        for _ in 0..20 {
            found.insert(resolve(&objects).await.unwrap().0);
        }
        assert_eq!(Vec::from_iter(found), ["10.0.0.1", "10.0.0.3"]);
        // Another family is better than none.
        let found = resolve(&[objects[0].clone(), six]).await;
        assert_eq!(found, Ok(("fd00::1".to_owned(), 9443)));
    }

    #[tokio::test]
    async fn services_that_lead_nowhere_have_the_words_of_kube_apiserver() {
        let said = |objects: Vec<(&'static str, &'static str, Value)>| async move {
            resolve(&objects).await.unwrap_err()
        };
        assert_eq!(said(vec![]).await, "service \"hooks\" not found");
        let other = service(json!({"ports": [{"port": 80}]}));
        assert_eq!(
            said(vec![other]).await,
            "no service port 443 found for service \"hooks\""
        );
        let strange = service(json!({"type": "Magic"}));
        assert_eq!(
            said(vec![strange]).await,
            "unsupported service type \"Magic\""
        );
        let external = service(json!({"type": "ExternalName", "externalName": "a.example.com"}));
        let found = resolve(&[external]).await;
        assert_eq!(found, Ok(("a.example.com".to_owned(), 443)));
    }
}
