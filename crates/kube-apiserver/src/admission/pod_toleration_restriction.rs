//! `PodTolerationRestriction`: annotations of a namespace list the taints that its pods tolerate, and those they may tolerate.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::is_best_effort;
use kubewright_machinery::{Status, gvk::GroupResource, json::Read, status};
use serde_json::{Value, json};

use super::{fields::object_mut, forbidden::is_for, stored::Stored, tolerations};

/// The annotation with the tolerations that new pods get.
const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
/// The annotation with the tolerations that pods may have.
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// The `PodTolerationRestriction` plugin.
pub(crate) struct PodTolerationRestriction(Stored);

impl PodTolerationRestriction {
    /// Returns a plugin that reads the namespaces of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    /// Returns the tolerations in an annotation of the namespace.
    async fn tolerations(&self, cx: &RequestContext, key: &str) -> Result<Vec<Value>, Status> {
        let namespace: Option<Value> = self.0.get("namespaces", cx.namespace()).await?;
        let Some(namespace) = namespace else {
            let namespaces = GroupResource::new("", "namespaces");
            return Err(status::not_found(&namespaces, cx.namespace()));
        };
        match namespace["metadata"]["annotations"][key].text() {
            "" => Ok(Vec::new()),
            text => serde_json::from_str(text).map_err(|e| status::unknown(e.to_string())),
        }
    }

    async fn check(&self, cx: &RequestContext, pod: &Value) -> Result<(), Status> {
        let own = pod["spec"]["tolerations"].items();
        if own.is_empty() {
            return Ok(());
        }
        let allowed = self.tolerations(cx, ALLOWED).await?;
        match tolerations::are_allowed(own, &allowed) {
            true => Ok(()),
            false => Err(status::unknown(
                "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
            )),
        }
    }
}

#[boxed_async]
impl Plugin for PodTolerationRestriction {
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
        if !concerns(cx, attributes) {
            return Ok(());
        }
        let mut more = match attributes.operation {
            Operation::Create => self.tolerations(cx, DEFAULTS).await?,
            _ => Vec::new(),
        };
        if !is_best_effort(pod) {
            let pressure = "node.kubernetes.io/memory-pressure";
            more.push(json!({"key": pressure, "operator": "Exists", "effect": "NoSchedule"}));
        }
        if !more.is_empty() {
            let merged = tolerations::merge(pod["spec"]["tolerations"].items(), &more);
            if let Some(spec) = object_mut(pod, &["spec"]) {
                spec.insert("tolerations".into(), json!(merged));
            }
        }
        self.check(cx, pod).await
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        match object {
            Some(pod) if concerns(cx, attributes) => self.check(cx, pod).await,
            _ => Ok(()),
        }
    }
}

fn concerns(cx: &RequestContext, attributes: &Attributes<'_>) -> bool {
    matches!(attributes.operation, Operation::Create | Operation::Update) && is_for(cx, "", "pods")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, pod};

    async fn scene(annotations: Value) -> (Scene, PodTolerationRestriction) {
        let scene = Scene::new("", "pods");
        let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
        scene.put("namespaces", "ns", namespace).await;
        let plugin = PodTolerationRestriction::new(scene.store());
        (scene, plugin)
    }

    #[tokio::test]
    async fn new_pods_get_the_tolerations_of_their_namespace() {
        let (scene, plugin) =
            scene(json!({DEFAULTS: "[{\"key\":\"a\",\"operator\":\"Exists\"}]"})).await;
        let mut pod = pod();
        scene.mutate(&plugin, &mut pod).await.unwrap();
        let tolerations = json!([{"key": "a", "operator": "Exists"}]);
        assert_eq!(pod["spec"]["tolerations"], tolerations);
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
        scene.mutate(&plugin, &mut pod).await.unwrap();
        let added = &pod["spec"]["tolerations"][1];
        assert_eq!(added["key"], "node.kubernetes.io/memory-pressure");
    }

    #[tokio::test]
    async fn other_tolerations_than_the_allowed_ones_fail() {
        let (scene, plugin) =
            scene(json!({ALLOWED: "[{\"key\":\"a\",\"operator\":\"Exists\"}]"})).await;
        let mut pod = pod();
        scene.create(&plugin, &pod).await.unwrap();
        pod["spec"]["tolerations"] = json!([{"key": "a", "operator": "Equal", "value": "x"}]);
        scene.create(&plugin, &pod).await.unwrap();
        pod["spec"]["tolerations"] = json!([{"key": "b", "operator": "Exists"}]);
        let refused = scene.create(&plugin, &pod).await.unwrap_err();
        assert_eq!(refused.code, 500);
        assert!(
            refused
                .message
                .ends_with("conflict with its namespace whitelist")
        );
        let (nothing, plugin) = self::scene(json!({ALLOWED: ""})).await;
        nothing.create(&plugin, &pod).await.unwrap();
    }
}
