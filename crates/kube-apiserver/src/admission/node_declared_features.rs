//! `NodeDeclaredFeatureValidator`: an update of a pod may not need features that its node does not declare.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::resource_list;
use kubewright_machinery::{
    Status, go,
    json::{Read, same},
};
use serde_json::Value;

use super::{
    forbidden::{forbidden, is_for, is_for_subresource},
    stored::Stored,
};

/// The features that updates may need, sorted, and whether one does.
const FEATURES: [(&str, Needs); 2] = [
    (
        "InPlacePodLevelResourcesVerticalScaling",
        changes_pod_resources,
    ),
    (
        "InPlacePodVerticalScalingInitContainers",
        changes_resources_of_init_containers,
    ),
];

/// Reports whether the change from one spec to another needs a feature.
type Needs = fn(&Value, &Value) -> bool;

/// The `NodeDeclaredFeatureValidator` plugin.
pub(crate) struct NodeDeclaredFeatureValidator(Stored);

impl NodeDeclaredFeatureValidator {
    /// Returns a plugin that reads the nodes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

#[boxed_async]
impl Plugin for NodeDeclaredFeatureValidator {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
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
        let is_for_pods = is_for(cx, "", "pods") || is_for_subresource(cx, "", "pods", "resize");
        let node = pod["spec"]["nodeName"].text();
        if attributes.operation != Operation::Update || !is_for_pods || node.is_empty() {
            return Ok(());
        }
        let needed = FEATURES
            .iter()
            .filter(|(_, is_needed)| is_needed(&old["spec"], &pod["spec"]));
        let needed: Vec<&str> = needed.map(|(name, _)| *name).collect();
        if needed.is_empty() {
            return Ok(());
        }
        let refuse = |cause: String| Err(forbidden(cx, attributes, pod, cause));
        let Some(found) = self.0.get::<Value>("nodes", node).await? else {
            return refuse(format!("node {} not found", go::quote(node)));
        };
        let declared: Vec<&str> = found["status"]["declaredFeatures"].texts().collect();
        let missing: Vec<&str> = needed
            .into_iter()
            .filter(|name| !declared.contains(name))
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => refuse(format!(
                "pod update requires features {} which are not available on node {}",
                missing.join(", "),
                go::quote(node)
            )),
        }
    }
}

fn changes_pod_resources(old: &Value, new: &Value) -> bool {
    let (old, new) = (&old["resources"], &new["resources"]);
    old.is_set() != new.is_set()
        || ["requests", "limits"]
            .iter()
            .any(|list| resource_list::read(&old[*list]) != resource_list::read(&new[*list]))
        || !same(&old["claims"], &new["claims"])
}

/// Init containers that are restarted always are sidecars, which every node can resize.
fn changes_resources_of_init_containers(old: &Value, new: &Value) -> bool {
    let (old, new) = (old["initContainers"].items(), new["initContainers"].items());
    let mut pairs = old.iter().zip(new);
    pairs.any(|(old, new)| {
        old["restartPolicy"] != "Always" && !same(&old["resources"], &new["resources"])
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn a_resize_needs_a_node_that_can_do_it() {
        let scene = Scene::at("", "pods", "resize");
        let plugin = NodeDeclaredFeatureValidator::new(scene.store());
        let old = pod();
        let mut new = old.clone();
        new["spec"]["resources"] = json!({"requests": {"cpu": "2"}});
        scene.update(&plugin, &old, &new).await.unwrap();
        new["spec"]["nodeName"] = json!("n");
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: node \"n\" not found"
        );
        scene
            .put("nodes", "n", json!({"metadata": {"name": "n"}}))
            .await;
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling \
             which are not available on node \"n\""
        );
        let declared = json!(["InPlacePodLevelResourcesVerticalScaling"]);
        let node = json!({"metadata": {"name": "n"}, "status": {"declaredFeatures": declared}});
        scene.put("nodes", "n", node).await;
        scene.update(&plugin, &old, &new).await.unwrap();
        let mut same = new.clone();
        same["spec"]["resources"] = json!({"requests": {"cpu": "2000m"}});
        scene
            .put("nodes", "n", json!({"metadata": {"name": "n"}}))
            .await;
        scene.update(&plugin, &new, &same).await.unwrap();
    }

    #[test]
    fn sidecars_need_nothing() {
        let spec = |policy: &str, cpu: &str| {
            let resources = json!({"requests": {"cpu": cpu}});
            json!({"initContainers": [{"restartPolicy": policy, "resources": resources}]})
        };
        let changes = changes_resources_of_init_containers;
        assert!(changes(&spec("", "1"), &spec("", "2")));
        assert!(!changes(&spec("", "1"), &spec("", "1")));
        assert!(!changes(&spec("Always", "1"), &spec("Always", "2")));
    }
}
