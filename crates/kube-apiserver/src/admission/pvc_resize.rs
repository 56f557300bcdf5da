//! `PersistentVolumeClaimResize`: allows a bound claim to grow only if its class does.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::usage::{class_of, resource_list};
use kubewright_machinery::{Status, quantity::Quantity};
use serde_json::Value;

use super::{
    default_storage_class::STORAGE_CLASSES,
    forbidden::{forbidden, is_for},
    stored::Stored,
};

const UNBOUND: &str = "Only bound persistent volume claims can be expanded";
const STATIC: &str = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";

/// The `PersistentVolumeClaimResize` plugin.
pub(crate) struct PersistentVolumeClaimResize(Stored);

impl PersistentVolumeClaimResize {
    /// Returns a plugin that reads the classes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    async fn may_grow(&self, claim: &Value, old: &Value) -> Result<bool, Status> {
        let class = class_of(claim);
        if class.is_empty() || class != class_of(old) {
            return Ok(false);
        }
        let class: Option<Value> = self.0.get(STORAGE_CLASSES, class).await?;
        Ok(class.is_some_and(|class| class["allowVolumeExpansion"] == true))
    }
}

#[boxed_async]
impl Plugin for PersistentVolumeClaimResize {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "persistentvolumeclaims")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let (Some(claim), Some(old)) = (object, attributes.old) else {
            return Ok(());
        };
        if attributes.operation != Operation::Update
            || !is_for(cx, "", "persistentvolumeclaims")
            || size(claim) <= size(old)
        {
            return Ok(());
        }
        if old["status"]["phase"] != "Bound" {
            return Err(forbidden(cx, attributes, claim, UNBOUND));
        }
        if !self.may_grow(claim, old).await? {
            return Err(forbidden(cx, attributes, claim, STATIC));
        }
        Ok(())
    }
}

fn size(claim: &Value) -> Quantity {
    resource_list::quantity(&claim["spec"]["resources"]["requests"]["storage"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, claim};

    #[tokio::test]
    async fn only_a_bound_claim_of_an_expandable_class_grows() {
        let scene = Scene::new("", "persistentvolumeclaims");
        let plugin = PersistentVolumeClaimResize::new(scene.store());
        let mut old = claim("1Gi");
        old["spec"]["storageClassName"] = json!("fast");
        let mut new = old.clone();
        new["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
        scene.update(&plugin, &old, &old).await.unwrap();
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert_eq!(
            refused.message,
            format!("persistentvolumeclaims \"c\" is forbidden: {UNBOUND}")
        );
        old["status"]["phase"] = json!("Bound");
        let refused = scene.update(&plugin, &old, &new).await.unwrap_err();
        assert!(refused.message.ends_with(STATIC), "{}", refused.message);
        let class = json!({"metadata": {"name": "fast"}, "allowVolumeExpansion": true});
        scene.put(STORAGE_CLASSES, "fast", class).await;
        scene.update(&plugin, &old, &new).await.unwrap();
    }
}
