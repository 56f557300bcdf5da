//! `Priority`: sets the priority of a pod from its class, and allows one default class.

use kubewright_apiserver::{
    ApiServer,
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use kubewright_store::Revision;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    fields::object_mut,
    forbidden::{forbidden, is_for},
    stored::{Stored, decode},
};

const GROUP: &str = "scheduling.k8s.io";
const PRIORITY_CLASSES: &str = "scheduling.k8s.io/priorityclasses";

/// The classes of a new cluster: name, value and description.
const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// The `Priority` plugin.
pub(crate) struct Priority {
    store: Stored,
    /// The cached default class, and the revisions of the classes it was computed from.
    default: Mutex<(Vec<Revision>, Option<Class>)>,
}

/// The fields that a pod takes from its class.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Class {
    metadata: Metadata,
    #[serde(default)]
    value: i64,
    #[serde(default)]
    global_default: bool,
    #[serde(default)]
    preemption_policy: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    name: String,
}

impl Priority {
    /// Returns a plugin that reads the classes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        let default = Mutex::default();
        Self { store, default }
    }

    /// Returns the default class; the one with the lowest value if there are several.
    async fn default_class(&self) -> Result<Option<Class>, Status> {
        let entries = self.store.entries(PRIORITY_CLASSES, String::new()).await?;
        let revisions = entries.iter().map(|entry| entry.revision);
        {
            let known = self.default.lock();
            if known.0.iter().copied().eq(revisions.clone()) {
                return Ok(known.1.clone());
            }
        }
        let mut lowest: Option<Class> = None;
        for entry in &entries {
            let class: Class = decode(entry)?;
            if class.global_default && lowest.as_ref().is_none_or(|l| class.value < l.value) {
                lowest = Some(class);
            }
        }
        *self.default.lock() = (revisions.collect(), lowest.clone());
        Ok(lowest)
    }

    /// Returns the class of a new pod.
    async fn class(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<Class, Status> {
        match pod["spec"]["priorityClassName"].text() {
            "" => Ok(self.default_class().await?.unwrap_or_else(|| Class {
                metadata: Metadata {
                    name: String::new(),
                },
                value: 0,
                global_default: false,
                preemption_policy: Some("PreemptLowerPriority".to_owned()),
            })),
            name => self
                .store
                .get(PRIORITY_CLASSES, name)
                .await?
                .ok_or_else(|| {
                    let cause = format!("no PriorityClass with name {name} was found");
                    forbidden(cx, attributes, pod, cause)
                }),
        }
    }

    async fn prioritize(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &mut Value,
    ) -> Result<(), Status> {
        let class = self.class(cx, attributes, pod).await?;
        if let Some(given) = pod["spec"]["priority"]
            .as_i64()
            .filter(|given| *given != class.value)
        {
            let cause = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
                class.value
            );
            return Err(forbidden(cx, attributes, pod, cause));
        }
        if let Some(policy) = &class.preemption_policy
            && let Some(given) = pod["spec"]["preemptionPolicy"]
                .as_str()
                .filter(|given| given != policy)
        {
            let cause = format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            );
            return Err(forbidden(cx, attributes, pod, cause));
        }
        let Some(spec) = object_mut(pod, &["spec"]) else {
            return Ok(());
        };
        if !class.metadata.name.is_empty() {
            spec.insert("priorityClassName".into(), json!(class.metadata.name));
        }
        spec.insert("priority".into(), json!(class.value));
        if let Some(policy) = class.preemption_policy {
            spec.insert("preemptionPolicy".into(), json!(policy));
        }
        Ok(())
    }
}

#[boxed_async]
impl Plugin for Priority {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "pods") || is_for(cx, GROUP, "priorityclasses")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if !is_for(cx, "", "pods") {
            return Ok(());
        }
        match (attributes.operation, attributes.old) {
            (Operation::Create, _) => self.prioritize(cx, attributes, object).await,
            (Operation::Update, Some(old)) => {
                keep(object, old);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(class) = object else { return Ok(()) };
        if !is_for(cx, GROUP, "priorityclasses") || class["globalDefault"] != true {
            return Ok(());
        }
        let Some(default) = self.default_class().await? else {
            return Ok(());
        };
        let name = default.metadata.name;
        if attributes.operation == Operation::Update && class["metadata"]["name"] == name {
            return Ok(());
        }
        let cause = format!(
            "PriorityClass {name} is already marked as default. Only one default can exist"
        );
        Err(forbidden(cx, attributes, class, cause))
    }
}

/// Restores the fields that the plugin has set if an update leaves them out.
fn keep(pod: &mut Value, old: &Value) {
    for key in ["priority", "preemptionPolicy"] {
        let kept = &old["spec"][key];
        if !kept.is_null()
            && pod["spec"][key].is_null()
            && let Some(spec) = object_mut(pod, &["spec"])
        {
            spec.insert(key.into(), kept.clone());
        }
    }
}

/// Creates the system classes that are missing.
pub(crate) async fn bootstrap(server: &ApiServer) -> Result<(), Status> {
    for (name, value, description) in SYSTEM {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "description": description,
        });
        crate::bootstrap::create(server, "/apis/scheduling.k8s.io/v1/priorityclasses", &class)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, pod};

    fn class(name: &str, value: i64, default: bool) -> Value {
        json!({"metadata": {"name": name}, "value": value, "globalDefault": default,
               "preemptionPolicy": "Never"})
    }

    #[tokio::test]
    async fn without_classes_the_priority_is_zero() {
        let scene = Scene::new("", "pods");
        let plugin = Priority::new(scene.store());
        let mut pod = pod();
        scene.mutate(&plugin, &mut pod).await.unwrap();
        assert_eq!(pod["spec"]["priority"], 0);
        assert_eq!(pod["spec"]["preemptionPolicy"], "PreemptLowerPriority");
        assert!(pod["spec"].get("priorityClassName").is_none());
    }

    #[tokio::test]
    async fn the_class_of_a_pod_decides() {
        let scene = Scene::new("", "pods");
        let plugin = Priority::new(scene.store());
        scene
            .put(PRIORITY_CLASSES, "low", class("low", 5, true))
            .await;
        scene
            .put(PRIORITY_CLASSES, "high", class("high", 9, false))
            .await;
        let mut unnamed = pod();
        scene.mutate(&plugin, &mut unnamed).await.unwrap();
        assert_eq!(unnamed["spec"]["priorityClassName"], "low");
        assert_eq!(unnamed["spec"]["priority"], 5);
        scene
            .put(PRIORITY_CLASSES, "low", class("low", 6, true))
            .await;
        let mut later = pod();
        scene.mutate(&plugin, &mut later).await.unwrap();
        assert_eq!(later["spec"]["priority"], 6);
        let mut named = pod();
        named["spec"]["priorityClassName"] = json!("high");
        scene.mutate(&plugin, &mut named).await.unwrap();
        assert_eq!(named["spec"]["priority"], 9);
        assert_eq!(named["spec"]["preemptionPolicy"], "Never");
    }

    #[tokio::test]
    async fn a_pod_cannot_choose_its_priority() {
        let scene = Scene::new("", "pods");
        let plugin = Priority::new(scene.store());
        let mut bold = pod();
        bold["spec"]["priority"] = json!(7);
        let refused = scene.mutate(&plugin, &mut bold).await.unwrap_err();
        assert_eq!(refused.code, 403);
        assert!(
            refused
                .message
                .starts_with("pods \"p\" is forbidden: the integer value of priority (7)")
        );
        let mut lost = pod();
        lost["spec"]["priorityClassName"] = json!("nope");
        let refused = scene.mutate(&plugin, &mut lost).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: no PriorityClass with name nope was found"
        );
    }

    #[tokio::test]
    async fn there_is_one_default() {
        let scene = Scene::new(GROUP, "priorityclasses");
        let plugin = Priority::new(scene.store());
        let first = class("a", 1, true);
        scene.create(&plugin, &first).await.unwrap();
        scene.put(PRIORITY_CLASSES, "a", first.clone()).await;
        scene.update(&plugin, &first, &first).await.unwrap();
        let refused = scene
            .create(&plugin, &class("b", 2, true))
            .await
            .unwrap_err();
        assert_eq!(
            refused.message,
            "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is already marked as default. Only one default can exist"
        );
        scene.create(&plugin, &class("c", 2, false)).await.unwrap();
    }

    #[test]
    fn an_update_keeps_the_priority() {
        let old = json!({"spec": {"priority": 3, "preemptionPolicy": "Never"}});
        let mut new = json!({"spec": {"preemptionPolicy": "PreemptLowerPriority"}});
        keep(&mut new, &old);
        assert_eq!(
            new["spec"],
            json!({"priority": 3, "preemptionPolicy": "PreemptLowerPriority"})
        );
    }
}
