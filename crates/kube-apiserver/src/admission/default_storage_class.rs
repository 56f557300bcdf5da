//! `DefaultStorageClass`: sets the default class of a claim that names none.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::{default_class, fields::object_mut, forbidden::is_for, stored::Stored};

/// The collection of storage classes.
pub(super) const STORAGE_CLASSES: &str = "storage.k8s.io/storageclasses";
const MARKS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
/// The deprecated annotation that names the class of a claim.
pub(super) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The `DefaultStorageClass` plugin.
pub(crate) struct DefaultStorageClass(Stored);

impl DefaultStorageClass {
    /// Returns a plugin that reads the classes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

#[boxed_async]
impl Plugin for DefaultStorageClass {
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
        if attributes.operation != Operation::Create
            || !is_for(cx, "", "persistentvolumeclaims")
            || has_class(object)
        {
            return Ok(());
        }
        if let Some(name) = default_class::find(&self.0, STORAGE_CLASSES, &MARKS).await?
            && let Some(spec) = object_mut(object, &["spec"])
        {
            spec.insert("storageClassName".into(), json!(name));
        }
        Ok(())
    }
}

/// Returns whether a claim names a class. An empty name requests a volume without a class.
fn has_class(claim: &Value) -> bool {
    claim["metadata"]["annotations"]
        .get(CLASS_ANNOTATION)
        .is_some()
        || claim["spec"]["storageClassName"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, claim};
    use kubewright_builtins::usage::class_of;

    fn class(name: &str, created: &str, default: &str) -> Value {
        json!({"metadata": {
            "name": name, "creationTimestamp": created, "annotations": {MARKS[0]: default},
        }})
    }

    #[tokio::test]
    async fn the_newest_default_wins_and_then_the_name() {
        let scene = Scene::new("", "persistentvolumeclaims");
        let plugin = DefaultStorageClass::new(scene.store());
        let mut unbound = claim("1Gi");
        scene.mutate(&plugin, &mut unbound).await.unwrap();
        assert!(unbound["spec"].get("storageClassName").is_none());

        scene
            .put(
                STORAGE_CLASSES,
                "a",
                class("a", "2024-01-01T00:00:00Z", "true"),
            )
            .await;
        scene
            .put(
                STORAGE_CLASSES,
                "c",
                class("c", "2024-01-02T00:00:00Z", "true"),
            )
            .await;
        scene
            .put(
                STORAGE_CLASSES,
                "b",
                class("b", "2024-01-02T00:00:00Z", "true"),
            )
            .await;
        scene
            .put(
                STORAGE_CLASSES,
                "z",
                class("z", "2025-01-02T00:00:00Z", "false"),
            )
            .await;
        scene.mutate(&plugin, &mut unbound).await.unwrap();
        assert_eq!(unbound["spec"]["storageClassName"], "b");
    }

    #[tokio::test]
    async fn a_claim_that_says_no_class_keeps_it() {
        let scene = Scene::new("", "persistentvolumeclaims");
        scene
            .put(
                STORAGE_CLASSES,
                "a",
                class("a", "2024-01-01T00:00:00Z", "true"),
            )
            .await;
        let plugin = DefaultStorageClass::new(scene.store());
        let mut none = claim("1Gi");
        none["spec"]["storageClassName"] = json!("");
        scene.mutate(&plugin, &mut none).await.unwrap();
        assert_eq!(none["spec"]["storageClassName"], "");
        let mut annotated = claim("1Gi");
        annotated["metadata"]["annotations"] = json!({CLASS_ANNOTATION: "old"});
        scene.mutate(&plugin, &mut annotated).await.unwrap();
        assert_eq!(class_of(&annotated), "old");
        assert!(annotated["spec"].get("storageClassName").is_none());
    }
}
