//! The downward API: fields and resources of a pod, as its containers see them.

use std::{collections::BTreeMap, net::Ipv4Addr};

use kubewright_machinery::quantity::{Format, Quantity};

use super::plan::{ContainerPlan, Plan, ResourceRef};

impl Plan {
    /// Returns a field of the pod in the format of the downward API.
    pub(crate) fn field(&self, path: &str, ip: Option<&str>, host: Option<Ipv4Addr>) -> String {
        let host = host.map(|host| host.to_string()).unwrap_or_default();
        match path {
            "metadata.name" => self.key.name().to_owned(),
            "metadata.namespace" => self.namespace().to_owned(),
            "metadata.uid" => self.uid.clone(),
            "metadata.labels" => listed(&self.labels),
            "metadata.annotations" => listed(&self.annotations),
            "spec.nodeName" => self.spec.node_name.clone(),
            "spec.serviceAccountName" => self.spec.service_account_name.clone(),
            "status.hostIP" | "status.hostIPs" => host,
            "status.podIP" | "status.podIPs" => ip.unwrap_or_default().to_owned(),
            path => {
                let of = |kind| path.strip_prefix(kind)?.strip_suffix("']");
                let label = of("metadata.labels['").and_then(|name| self.labels.get(name));
                let annotation = of("metadata.annotations['");
                let annotation = annotation.and_then(|name| self.annotations.get(name));
                label.or(annotation).cloned().unwrap_or_default()
            }
        }
    }

    /// Returns a request or limit of a container as a multiple of the divisor. A limit that is not set is what the node has.
    pub(crate) fn resource(
        &self,
        container: &ContainerPlan,
        wanted: &ResourceRef,
        allocatable: &BTreeMap<String, String>,
    ) -> String {
        let Some((kind, name)) = wanted.resource.split_once('.') else {
            return String::new();
        };
        let own = container.raw.resources[kind][name].as_str();
        let own = own.and_then(|text| Quantity::parse(text).ok());
        let amount = own.filter(|amount| !amount.is_zero()).or_else(|| {
            let all = (kind == "limits").then(|| allocatable.get(name))??;
            Quantity::parse(all).ok()
        });
        let amount = amount.unwrap_or_default();
        let one = Quantity::new(1, Format::DecimalSi);
        let divisor = wanted.divisor.as_ref();
        let divisor = divisor.filter(|divisor| !divisor.is_zero()).unwrap_or(&one);
        let (amount, divisor) = match name {
            "cpu" => (amount.milli_value(), divisor.milli_value()),
            _ => (amount.value(), divisor.value()),
        };
        // Fractions are rounded up.
        (amount as f64 / divisor as f64).ceil().to_string()
    }
}

fn listed(values: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::ApiResource;
    use kubewright_informer::{Compression, Ingest, ObjectKind};
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_are_multiples_of_the_divisor_and_limits_default_to_the_node() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "7"},
            "spec": {"containers": [{"name": "web", "resources": {
                "requests": {"cpu": "250m", "memory": "32Mi"},
                "limits": {"memory": "64Mi"},
            }}]},
        });
        let kind = ObjectKind::new(ApiResource::erase::<Pod>(&()), Compression::None);
        let pod = Ingest::new(kind)
            .object(pod.to_string().as_bytes())
            .unwrap();
        let plan = Plan::read(&pod).unwrap();
        let node = BTreeMap::from([("cpu".to_owned(), "8".to_owned())]);
        let resource = |name: &str, divisor: &str| {
            let wanted = ResourceRef {
                resource: name.to_owned(),
                divisor: Quantity::parse(divisor).ok(),
                ..ResourceRef::default()
            };
            plan.resource(&plan.containers[0], &wanted, &node)
        };
        assert_eq!(resource("requests.cpu", "0"), "1");
        assert_eq!(resource("requests.cpu", "1m"), "250");
        assert_eq!(resource("limits.cpu", "1"), "8");
        assert_eq!(resource("limits.memory", "1Mi"), "64");
        assert_eq!(resource("requests.memory", ""), "33554432");
        assert_eq!(resource("requests.ephemeral-storage", "1"), "0");
    }
}
