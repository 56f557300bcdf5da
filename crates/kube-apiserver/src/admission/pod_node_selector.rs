//! `PodNodeSelector`: pods run on the nodes that an annotation of their namespace selects.

use std::collections::BTreeMap;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{
    Status,
    field::{self, Path},
    json::Read,
    status,
    validation::names::{is_label_value, is_qualified_name},
};
use serde_json::Value;

use super::{
    fields::object_mut,
    forbidden::{forbidden, is_for},
    stored::Stored,
};

/// The annotation of namespaces.
const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// The `PodNodeSelector` plugin.
pub(crate) struct PodNodeSelector(Stored);

impl PodNodeSelector {
    /// Returns a plugin that reads the namespaces of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    /// Returns the labels that the namespace asks for, unless the pod asks for others.
    async fn selector(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<BTreeMap<String, String>, Status> {
        let namespace: Value =
            self.0
                .get("namespaces", cx.namespace())
                .await?
                .ok_or_else(|| {
                    status::internal(format!("namespace {} does not exist", cx.namespace()))
                })?;
        let text = namespace["metadata"]["annotations"][ANNOTATION].text();
        let selector = parse(text).map_err(status::unknown)?;
        let own = &pod["spec"]["nodeSelector"];
        let conflicts = selector
            .iter()
            .any(|(key, value)| own.get(key).is_some_and(|own| own != value.as_str()));
        match conflicts {
            false => Ok(selector),
            true => {
                let cause =
                    "pod node label selector conflicts with its namespace node label selector";
                Err(forbidden(cx, attributes, pod, cause))
            }
        }
    }
}

#[boxed_async]
impl Plugin for PodNodeSelector {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        if attributes.operation != Operation::Create || !is_for(cx, "", "pods") {
            return Ok(());
        }
        let selector = self.selector(cx, attributes, pod).await?;
        if selector.is_empty() {
            return Ok(());
        }
        if let Some(own) = object_mut(pod, &["spec", "nodeSelector"]) {
            own.extend(selector.into_iter().map(|(key, value)| (key, value.into())));
        }
        Ok(())
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        if attributes.operation != Operation::Create || !is_for(cx, "", "pods") {
            return Ok(());
        }
        self.selector(cx, attributes, pod).await.map(drop)
    }
}

/// Reads `a=b,c=d`. The errors are those of Go, which knows no path here.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    if text.is_empty() {
        return Ok(labels);
    }
    for label in text.split(',') {
        let parts: Vec<&str> = label.split('=').collect();
        let [key, value] = parts[..] else {
            return Err(format!("invalid selector: [{}]", parts.join(" ")));
        };
        let (key, value) = (key.trim(), value.trim());
        let check = |path: Path, value: &str, errors: Vec<String>| match errors.is_empty() {
            true => Ok(()),
            false => Err(field::invalid_str(&path, value, errors.join("; ")).to_string()),
        };
        check(Path::new("<nil>"), key, is_qualified_name(key))?;
        check(Path::root().key(key), value, is_label_value(value))?;
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    async fn scene(selector: &str) -> (Scene, PodNodeSelector) {
        let scene = Scene::new("", "pods");
        let metadata = json!({"name": "ns", "annotations": {ANNOTATION: selector}});
        scene
            .put("namespaces", "ns", json!({"metadata": metadata}))
            .await;
        let plugin = PodNodeSelector::new(scene.store());
        (scene, plugin)
    }

    #[tokio::test]
    async fn a_pod_takes_the_selector_of_its_namespace() {
        let (scene, plugin) = scene("zone=a, disk = ssd").await;
        let mut pod = pod();
        pod["spec"]["nodeSelector"] = json!({"own": "x", "zone": "a"});
        scene.mutate(&plugin, &mut pod).await.unwrap();
        let expected = json!({"own": "x", "zone": "a", "disk": "ssd"});
        assert_eq!(pod["spec"]["nodeSelector"], expected);
        scene.create(&plugin, &pod).await.unwrap();
        pod["spec"]["nodeSelector"]["zone"] = json!("b");
        let refused = scene.create(&plugin, &pod).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: pod node label selector conflicts with its namespace node label selector"
        );
    }

    #[tokio::test]
    async fn a_selector_that_is_none_fails() {
        let (scene, plugin) = scene("a=b=c").await;
        let refused = scene.mutate(&plugin, &mut pod()).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (500, "invalid selector: [a b c]")
        );
        assert!(
            parse("a b=c")
                .unwrap_err()
                .starts_with("<nil>: Invalid value: \"a b\": ")
        );
        assert!(
            parse("a=b c")
                .unwrap_err()
                .starts_with("[a]: Invalid value: \"b c\": ")
        );
    }
}
