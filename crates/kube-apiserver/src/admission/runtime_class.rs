//! `RuntimeClass`: sets overhead, node selector and tolerations of a pod from its runtime class.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::resource_list;
use kubewright_machinery::{Status, go, json::Read, status};
use serde_json::{Value, json};

use super::{
    fields::object_mut,
    forbidden::{forbidden, is_for},
    stored::Stored,
    tolerations,
};

const RUNTIME_CLASSES: &str = "node.k8s.io/runtimeclasses";
const DIFFERS: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const UNFOUNDED: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// The `RuntimeClass` plugin.
pub(crate) struct RuntimeClass(Stored);

impl RuntimeClass {
    /// Returns a plugin that reads the classes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    /// Returns the class of a pod, or null if it names none.
    async fn class(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<Value, Status> {
        match pod["spec"]["runtimeClassName"].as_str() {
            None => Ok(Value::Null),
            Some("") => Err(status::unknown("resource name may not be empty")),
            Some(name) => self.0.get(RUNTIME_CLASSES, name).await?.ok_or_else(|| {
                let cause = format!("pod rejected: RuntimeClass {} not found", go::quote(name));
                forbidden(cx, attributes, pod, cause)
            }),
        }
    }
}

#[boxed_async]
impl Plugin for RuntimeClass {
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
        if attributes.operation != Operation::Create || !is_for(cx, "", "pods") {
            return Ok(());
        }
        let class = self.class(cx, attributes, object).await?;
        set_overhead(object, &class)
            .and_then(|()| set_scheduling(object, &class["scheduling"]))
            .map_err(|cause| forbidden(cx, attributes, object, cause))
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
        let class = self.class(cx, attributes, pod).await?;
        let overhead = &pod["spec"]["overhead"];
        let defined = &class["overhead"];
        let cause = if defined.is_object() {
            (!equal(&defined["podFixed"], overhead)).then_some(DIFFERS)
        } else {
            overhead.is_object().then_some(UNFOUNDED)
        };
        cause.map_or(Ok(()), |cause| Err(forbidden(cx, attributes, pod, cause)))
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    resource_list::read(a) == resource_list::read(b)
}

fn set_overhead(pod: &mut Value, class: &Value) -> Result<(), String> {
    let Some(defined) = class["overhead"].as_object() else {
        return Ok(());
    };
    let fixed = defined.get("podFixed").filter(|fixed| fixed.is_object());
    let given = &pod["spec"]["overhead"];
    if given.as_object().is_some_and(|given| !given.is_empty())
        && !equal(given, fixed.unwrap_or(&Value::Null))
    {
        return Err(DIFFERS.to_owned());
    }
    if let (Some(spec), Some(fixed)) = (object_mut(pod, &["spec"]), fixed) {
        spec.insert("overhead".into(), fixed.clone());
    }
    Ok(())
}

fn set_scheduling(pod: &mut Value, scheduling: &Value) -> Result<(), String> {
    if !scheduling.is_object() {
        return Ok(());
    }
    for (key, wanted) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        let Some(selector) = object_mut(pod, &["spec", "nodeSelector"]) else {
            break;
        };
        match selector.get(key) {
            Some(given) if given != wanted => {
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    wanted.text(),
                    given.text()
                ));
            }
            _ => {
                selector.insert(key.clone(), wanted.clone());
            }
        }
    }
    let merged = tolerations::merge(
        pod["spec"]["tolerations"].items(),
        scheduling["tolerations"].items(),
    );
    match object_mut(pod, &["spec"]) {
        Some(spec) if !merged.is_empty() => {
            spec.insert("tolerations".into(), json!(merged));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, pod};

    fn pod_of(class: &str) -> Value {
        let mut pod = pod();
        pod["spec"]["runtimeClassName"] = json!(class);
        pod
    }

    async fn scene() -> (Scene, RuntimeClass) {
        let scene = Scene::new("", "pods");
        let class = json!({
            "metadata": {"name": "kata"}, "handler": "kata",
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {
                "nodeSelector": {"vm": "yes"},
                "tolerations": [{"key": "vm", "operator": "Exists"}],
            },
        });
        scene.put(RUNTIME_CLASSES, "kata", class).await;
        let plugin = RuntimeClass::new(scene.store());
        (scene, plugin)
    }

    #[tokio::test]
    async fn a_pod_takes_what_its_class_defines() {
        let (scene, plugin) = scene().await;
        let mut pod = pod_of("kata");
        scene.mutate(&plugin, &mut pod).await.unwrap();
        assert_eq!(pod["spec"]["overhead"], json!({"cpu": "250m"}));
        assert_eq!(pod["spec"]["nodeSelector"], json!({"vm": "yes"}));
        assert_eq!(
            pod["spec"]["tolerations"],
            json!([{"key": "vm", "operator": "Exists"}])
        );
        scene.create(&plugin, &pod).await.unwrap();
    }

    #[tokio::test]
    async fn an_unknown_class_and_a_conflict_are_refused() {
        let (scene, plugin) = scene().await;
        let refused = scene
            .mutate(&plugin, &mut pod_of("gvisor"))
            .await
            .unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found"
        );
        let mut picky = pod_of("kata");
        picky["spec"]["nodeSelector"] = json!({"vm": "no"});
        let refused = scene.mutate(&plugin, &mut picky).await.unwrap_err();
        assert!(refused.message.ends_with(
            "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no"
        ));
    }

    #[tokio::test]
    async fn overhead_comes_from_the_class_alone() {
        let (scene, plugin) = scene().await;
        let mut own = pod_of("kata");
        own["spec"]["overhead"] = json!({"cpu": "1"});
        let refused = scene.mutate(&plugin, &mut own).await.unwrap_err();
        assert!(refused.message.ends_with(DIFFERS));
        own["spec"]["overhead"] = json!({"cpu": "0.25"});
        scene.mutate(&plugin, &mut own).await.unwrap();
        let mut unfounded = pod();
        unfounded["spec"]["overhead"] = json!({"cpu": "1"});
        let refused = scene.create(&plugin, &unfounded).await.unwrap_err();
        assert!(refused.message.ends_with(UNFOUNDED));
    }
}
