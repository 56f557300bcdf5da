//! The machinery that the controllers of endpoints share: the pods of a Service, their addresses and ports.

mod triggers;

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use kube::ResourceExt;
use kubewright_controller::{Context, Handler, Manager, Result};
use kubewright_informer::IndexFn;
use kubewright_machinery::labels::LabelSelector;
use serde_json::{Value, json};

use crate::workloads::{
    objects::{Pod, Service, ServicePort},
    pods,
};

pub(crate) use triggers::Triggers;

/// The annotation with the time of the change that led to a write.
pub(crate) const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// The label of what belongs to a Service without an address of its own.
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";

/// The number of failures after which a Service is left alone until it or its pods change.
pub(crate) const MAX_RETRIES: usize = 15;

/// The index of pods by namespace.
const NAMESPACE: &str = "namespace";

/// Returns a handler that requests the Services of pods whose endpoints change.
pub(crate) fn events_of_pods(manager: &Manager) -> Handler {
    // Another controller may have added the same index.
    drop(
        manager
            .client()
            .index::<Pod>(NAMESPACE, IndexFn::namespace()),
    );
    pods::events_of_selected::<Service>(manager, selector_of, are_endpoints_changed)
}

/// Returns the selector of a Service; `None` if it has none.
fn selector_of(service: &Service) -> Option<LabelSelector> {
    let labels = json!({"matchLabels": service.spec.selector.as_ref()?});
    LabelSelector::from_label_selector(&labels).ok()
}

fn are_endpoints_changed(old: &Pod, new: &Pod) -> bool {
    let facts = |pod: &Pod| {
        (
            pod.metadata.deletion_timestamp.clone(),
            pod.ready().is_some(),
            pod.is_terminal(),
            pod.status.pod_ips.clone(),
            pod.spec.hostname.clone(),
            pod.spec.subdomain.clone(),
        )
    };
    facts(old) != facts(new)
}

/// Reports whether the controllers take care of a Service: it has a selector, and addresses of the cluster.
pub(crate) fn has_endpoints(service: &Service) -> bool {
    service.spec.r#type != "ExternalName" && service.spec.selector.is_some()
}

/// Returns the pods that a Service selects, by name.
pub(crate) async fn pods_of<S>(context: &Context<(), S>, service: &Service) -> Result<Vec<Arc<Pod>>>
where
    S: Send + Sync + 'static,
{
    let Some(selector) = selector_of(service) else {
        return Ok(Vec::new());
    };
    let cache = context.client().current_informer::<Pod>().await?;
    let namespace = service.namespace().unwrap_or_default();
    let stored = cache.indexer().snapshot().by_index(NAMESPACE, &namespace)?;
    let mut pods = Vec::new();
    for object in stored {
        let labels = object.labels();
        let label = |name: &str| {
            let label = labels.iter().find(|(key, _)| *key == name);
            label.map(|(_, value)| &**value)
        };
        if selector.matches(label) {
            let pod: Arc<Pod> = object.decode()?;
            pods.push(pod);
        }
    }
    pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    Ok(pods)
}

/// Reports whether a pod has endpoints: it has an address and has not ended.
pub(crate) fn is_endpoint(pod: &Pod) -> bool {
    let has_address = !pod.status.pod_ip.is_empty() || !pod.status.pod_ips.is_empty();
    has_address && !pod.is_terminal()
}

/// Returns the addresses of a pod in a family, `IPv4` or `IPv6`.
pub(crate) fn addresses(pod: &Pod, family: &str) -> Vec<String> {
    let addresses = pod.status.pod_ips.iter();
    let addresses = addresses.filter_map(|address| address.ip.parse::<IpAddr>().ok());
    let addresses = addresses.filter(|address| address.is_ipv6() == (family == "IPv6"));
    addresses.map(|address| address.to_string()).collect()
}

/// Returns the number of a port in a pod; `None` if no container has a port of that name.
pub(crate) fn port_of(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let name = match &port.target_port {
        Value::String(name) => name,
        number => {
            return number
                .as_i64()
                .and_then(|number| i32::try_from(number).ok());
        }
    };
    let sidecars = pod.spec.init_containers.iter();
    let sidecars = sidecars.filter(|c| c.restart_policy.as_deref() == Some("Always"));
    let mut ports = pod
        .spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|c| &c.ports);
    let found = ports.find(|known| known.name == *name && known.protocol == port.protocol);
    found.map(|found| found.container_port)
}

/// Returns the host name of a pod that belongs to the domain of a Service.
pub(crate) fn hostname<'a>(pod: &'a Pod, service: &Service) -> Option<&'a str> {
    let is_in_domain = Some(pod.spec.subdomain.as_str()) == service.metadata.name.as_deref();
    (is_in_domain && !pod.spec.hostname.is_empty()).then_some(pod.spec.hostname.as_str())
}

/// Sets or removes the time of the change that leads to a write.
pub(crate) fn set_trigger_time(
    annotations: &mut BTreeMap<String, String>,
    time: Option<jiff::Timestamp>,
) {
    match time {
        Some(time) => drop(annotations.insert(TRIGGER_TIME.to_owned(), time.to_string())),
        None => drop(annotations.remove(TRIGGER_TIME)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_port_is_found_in_containers_and_sidecars() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "containers": [{"name": "a", "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}]}],
            "initContainers": [
                {"name": "b", "ports": [{"name": "setup", "containerPort": 81, "protocol": "TCP"}]},
                {"name": "c", "restartPolicy": "Always", "ports": [{"name": "proxy", "containerPort": 82, "protocol": "TCP"}]},
            ],
        }}))
        .unwrap();
        let port = |target: Value, protocol: &str| {
            let port = ServicePort {
                target_port: target,
                protocol: protocol.to_owned(),
                ..ServicePort::default()
            };
            port_of(&pod, &port)
        };
        assert_eq!(port(json!("http"), "TCP"), Some(80));
        assert_eq!(port(json!("http"), "UDP"), None);
        assert_eq!(port(json!("setup"), "TCP"), None);
        assert_eq!(port(json!("proxy"), "TCP"), Some(82));
        assert_eq!(port(json!(9), "TCP"), Some(9));
    }
}
