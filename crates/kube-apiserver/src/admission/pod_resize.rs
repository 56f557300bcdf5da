//! `PodResizeValidator`: rejects an in-place resize that does not fit on the node.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::{
    pod_resources::{self, Counting},
    resource_list,
};
use kubewright_machinery::{Status, go, json::Read};
use serde_json::Value;

use super::{
    forbidden::{forbidden, is_for_subresource},
    stored::Stored,
};

/// The `PodResizeValidator` plugin.
pub(crate) struct PodResizeValidator(Stored);

impl PodResizeValidator {
    /// Returns a plugin that reads the nodes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

#[boxed_async]
impl Plugin for PodResizeValidator {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for_subresource(cx, "", "pods", "resize")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let (Some(pod), Some(old)) = (object, attributes.old) else {
            return Ok(());
        };
        let name = pod["spec"]["nodeName"].text();
        if attributes.operation != Operation::Update
            || !is_for_subresource(cx, "", "pods", "resize")
            || name.is_empty()
            || pod["metadata"]["generation"] == old["metadata"]["generation"]
        {
            return Ok(());
        }
        let node: Option<Value> = self.0.get("nodes", name).await?;
        let Some(node) = node else {
            let cause = format!("node {} not found", go::quote(name));
            return Err(forbidden(cx, attributes, pod, cause));
        };
        if let Some(system) = node["metadata"]["labels"]["kubernetes.io/os"].as_str()
            && system != "linux"
        {
            let cause = format!(
                "pod resize is only supported on linux nodes, node {} is {}",
                go::quote(name),
                go::quote(system)
            );
            let error = forbidden(cx, attributes, pod, cause);
            return Err(error.with_cause("UnsupportedPlatform", "", ""));
        }
        match excess(pod, &node) {
            None => Ok(()),
            Some(excess) => {
                let cause = format!("node didn't have enough allocatable resources: {excess}");
                let error = forbidden(cx, attributes, pod, cause);
                Err(error.with_cause("NodeCapacity", "", ""))
            }
        }
    }
}

/// Returns the resources that the pod requests and the node does not have.
fn excess(pod: &Value, node: &Value) -> Option<String> {
    let counting = Counting {
        status: false,
        overhead: true,
        pod_level: pod_resources::is_of_whole_pods,
    };
    let requests = pod_resources::requests(pod, counting);
    let allocatable = resource_list::read(&node["status"]["allocatable"]);
    let mut parts = Vec::new();
    for (name, milli) in [("cpu", true), ("memory", false)] {
        let requested = requests.get(name).cloned().unwrap_or_default();
        let available = allocatable.get(name).cloned().unwrap_or_default();
        if requested > available {
            let number = |q: &kubewright_machinery::quantity::Quantity| {
                if milli { q.milli_value() } else { q.value() }
            };
            parts.push(format!(
                "{name}, requested: {}, allocatable: {}",
                number(&requested),
                number(&available)
            ));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn a_pod_does_not_outgrow_its_node() {
        let scene = Scene::at("", "pods", "resize");
        let plugin = PodResizeValidator::new(scene.store());
        let mut old = pod();
        old["metadata"]["generation"] = json!(1);
        old["spec"]["nodeName"] = json!("n");
        let mut new = old.clone();
        new["metadata"]["generation"] = json!(2);
        new["spec"]["containers"][0]["resources"] =
            json!({"requests": {"cpu": "2", "memory": "1Ki"}});
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: node \"n\" not found"
        );
        let node = json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}});
        scene.put("nodes", "n", node).await;
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000"
        );
        assert_eq!(refused.details.unwrap().causes[0].reason, "NodeCapacity");
        new["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1");
        scene.update(&plugin, &old, &new).await.unwrap();
    }
}
