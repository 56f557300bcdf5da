//! Resolves a service of the cluster to the address of one of its endpoints.
//!
//! Nothing routes cluster IPs here, so a service stands for its ready endpoints, as it does in kube-apiserver with
//! `--enable-aggregator-routing`.

use kubewright_machinery::{go, json::Read};
use serde_json::Value;

use super::services::ServicePort;
use crate::admission::stored::Stored;

/// The label that ties an endpoint slice to its service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Returns host and port of a ready endpoint of a service.
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
    slices
        .iter()
        .filter(|slice| slice["metadata"]["labels"][SERVICE_NAME] == name.as_str())
        .find_map(|slice| ready_address(slice, found["name"].text()))
        .ok_or_else(|| format!("no endpoints available for service {quoted}"))
}

/// Returns the first address of a slice that is ready, and its port of that name.
fn ready_address(slice: &Value, port_name: &str) -> Option<(String, u16)> {
    let ports = slice["ports"].items();
    let port = ports.iter().find(|port| port["name"].text() == port_name)?;
    let port = u16::try_from(port["port"].int()).ok().filter(|p| *p != 0)?;
    // An unknown state counts as ready.
    let ready = |endpoint: &&Value| endpoint["conditions"]["ready"].as_bool() != Some(false);
    let endpoint = slice["endpoints"].items().iter().find(ready)?;
    let address = endpoint["addresses"].texts().next()?;
    Some((address.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
