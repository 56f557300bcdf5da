//! `ExtendedResourceToleration`: a pod that asks for an extended resource tolerates the taint of the same name, which keeps
//! other pods off nodes that have it.

use std::collections::BTreeSet;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::resource_list::is_extended_name;
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::{fields::push, forbidden::is_for};

/// The `ExtendedResourceToleration` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtendedResourceToleration;

#[boxed_async]
impl Plugin for ExtendedResourceToleration {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "pods")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        if writes && is_for(cx, "", "pods") {
            tolerate(pod);
        }
        Ok(())
    }
}

fn tolerate(pod: &mut Value) {
    for name in extended_resources(&pod["spec"]) {
        let toleration = json!({"key": name, "operator": "Exists", "effect": "NoSchedule"});
        let fields = ["key", "operator", "effect", "value"];
        let matches = |own: &Value| {
            fields
                .iter()
                .all(|field| own[*field].text() == toleration[*field].text())
        };
        let own = pod["spec"]["tolerations"].as_array_mut();
        let own = own.map(Vec::as_mut_slice).unwrap_or_default();
        let mut matching: Vec<&mut Value> = own.iter_mut().filter(|own| matches(own)).collect();
        if matching.is_empty() {
            push(pod, &["spec", "tolerations"], toleration);
        } else if !matching.iter().any(|own| **own == toleration) {
            matching
                .iter_mut()
                .for_each(|own| **own = toleration.clone());
        }
    }
}

/// Returns the extended resources that containers ask for, sorted.
fn extended_resources(spec: &Value) -> BTreeSet<String> {
    let containers = spec["containers"].items().iter();
    let containers = containers.chain(spec["initContainers"].items());
    let requests = containers.flat_map(|container| container["resources"]["requests"].entries());
    let names = requests.map(|(name, _)| name.to_owned());
    names.filter(|name| is_extended_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_taints_of_extended_resources_are_tolerated() {
        let requests =
            json!({"cpu": "1", "example.com/gpu": "1", "kubernetes.io/x": "1", "b.org/d": "2"});
        let mut pod = json!({"spec": {
            "containers": [{"name": "c", "resources": {"requests": requests}}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        }});
        let toleration =
            |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"});
        let expected = json!([
            {"key": "a", "operator": "Exists"}, toleration("b.org/d"), toleration("example.com/gpu"),
        ]);
        tolerate(&mut pod);
        assert_eq!(pod["spec"]["tolerations"], expected);
        tolerate(&mut pod);
        assert_eq!(pod["spec"]["tolerations"], expected);
        pod["spec"]["tolerations"][1]["tolerationSeconds"] = json!(3);
        tolerate(&mut pod);
        assert_eq!(pod["spec"]["tolerations"], expected);
    }
}
