//! `LimitPodHardAntiAffinityTopology`: a pod may keep others off its node, and not off more than that.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::Value;

use super::forbidden::{forbidden, is_for};

const HOSTNAME: &str = "kubernetes.io/hostname";
const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The `LimitPodHardAntiAffinityTopology` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitPodHardAntiAffinityTopology;

#[boxed_async]
impl Plugin for LimitPodHardAntiAffinityTopology {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "pods")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        if !writes || !is_for(cx, "", "pods") {
            return Ok(());
        }
        let terms = pod["spec"]["affinity"]["podAntiAffinity"][TERMS].items();
        let mut keys = terms.iter().map(|term| term["topologyKey"].text());
        match keys.find(|key| *key != HOSTNAME) {
            None => Ok(()),
            Some(key) => {
                let cause = format!(
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOSTNAME} is allowed"
                );
                Err(forbidden(cx, attributes, pod, cause))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn only_the_node_may_be_kept_free() {
        let scene = Scene::new("", "pods");
        let plugin = LimitPodHardAntiAffinityTopology;
        let mut pod = pod();
        scene.create(&plugin, &pod).await.unwrap();
        pod["spec"]["affinity"]["podAntiAffinity"][TERMS] = json!([{"topologyKey": HOSTNAME}]);
        scene.create(&plugin, &pod).await.unwrap();
        pod["spec"]["affinity"]["podAntiAffinity"][TERMS] = json!([{"topologyKey": "zone"}]);
        let refused = scene.create(&plugin, &pod).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone \
             but only key kubernetes.io/hostname is allowed"
        );
    }
}
