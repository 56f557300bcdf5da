//! `PodTopologyLabels`: labels a pod with the zone and the region of its node.
//!
//! If a binding chooses the node, the labels are added to the binding, and copied from there to the pod.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Map, Value};

use super::{
    fields::object_mut,
    forbidden::{is_for, is_for_subresource},
    stored::Stored,
};

const LABELS: [&str; 2] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// The `PodTopologyLabels` plugin.
pub(crate) struct PodTopologyLabels(Stored);

impl PodTopologyLabels {
    /// Returns a plugin that reads the nodes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    async fn labels_of(&self, node: &str) -> Result<Map<String, Value>, Status> {
        let node: Option<Value> = match node {
            "" => None,
            node => self.0.get("nodes", node).await?,
        };
        let labels = node.as_ref().map(|node| &node["metadata"]["labels"]);
        let found = LABELS.iter().filter_map(|label| {
            let value = labels?.get(*label)?;
            Some(((*label).to_owned(), value.clone()))
        });
        Ok(found.collect())
    }
}

#[boxed_async]
impl Plugin for PodTopologyLabels {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if attributes.operation != Operation::Create {
            return Ok(());
        }
        let node = if is_for(cx, "", "pods") {
            object["spec"]["nodeName"].text()
        } else if is_for_subresource(cx, "", "pods", "binding")
            && object["target"]["kind"] == "Node"
        {
            object["target"]["name"].text()
        } else {
            return Ok(());
        };
        let labels = self.labels_of(node).await?;
        if labels.is_empty() {
            return Ok(());
        }
        if let Some(own) = object_mut(object, &["metadata", "labels"]) {
            own.extend(labels);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    async fn with_node(scene: &Scene) {
        let labels = json!({LABELS[0]: "z1", "other": "x"});
        scene
            .put(
                "nodes",
                "n",
                json!({"metadata": {"name": "n", "labels": labels}}),
            )
            .await;
    }

    #[tokio::test]
    async fn a_pod_on_a_node_takes_its_zone() {
        let scene = Scene::new("", "pods");
        with_node(&scene).await;
        let plugin = PodTopologyLabels::new(scene.store());
        let mut pod = pod();
        scene.mutate(&plugin, &mut pod).await.unwrap();
        assert!(pod["metadata"].get("labels").is_none());
        pod["spec"]["nodeName"] = json!("n");
        pod["metadata"]["labels"] = json!({LABELS[0]: "mine", "app": "a"});
        scene.mutate(&plugin, &mut pod).await.unwrap();
        assert_eq!(
            pod["metadata"]["labels"],
            json!({LABELS[0]: "z1", "app": "a"})
        );
    }

    #[tokio::test]
    async fn a_binding_to_a_node_takes_its_zone() {
        let scene = Scene::at("", "pods", "binding");
        with_node(&scene).await;
        let plugin = PodTopologyLabels::new(scene.store());
        let mut binding =
            json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
        scene.mutate(&plugin, &mut binding).await.unwrap();
        assert_eq!(binding["metadata"]["labels"], json!({LABELS[0]: "z1"}));
    }
}
