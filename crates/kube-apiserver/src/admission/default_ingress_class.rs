//! `DefaultIngressClass`: sets the default class of an ingress that names none.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::{default_class, fields::object_mut, forbidden::is_for, stored::Stored};

const INGRESS_CLASSES: &str = "networking.k8s.io/ingressclasses";
const MARK: &str = "ingressclass.kubernetes.io/is-default-class";
/// The deprecated annotation that names the class of an ingress.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The `DefaultIngressClass` plugin.
pub(crate) struct DefaultIngressClass(Stored);

impl DefaultIngressClass {
    /// Returns a plugin that reads the classes of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

#[boxed_async]
impl Plugin for DefaultIngressClass {
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
            || !is_for(cx, "networking.k8s.io", "ingresses")
            || object["spec"]["ingressClassName"].is_string()
            || object["metadata"]["annotations"]
                .get(CLASS_ANNOTATION)
                .is_some()
        {
            return Ok(());
        }
        if let Some(name) = default_class::find(&self.0, INGRESS_CLASSES, &[MARK]).await?
            && let Some(spec) = object_mut(object, &["spec"])
        {
            spec.insert("ingressClassName".into(), json!(name));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::Scene;

    #[tokio::test]
    async fn an_ingress_without_a_class_gets_the_default() {
        let scene = Scene::new("networking.k8s.io", "ingresses");
        let plugin = DefaultIngressClass::new(scene.store());
        let class = json!({"metadata": {"name": "nginx", "annotations": {MARK: "true"}}});
        scene.put(INGRESS_CLASSES, "nginx", class).await;
        let mut ingress = json!({"metadata": {"name": "i"}});
        scene.mutate(&plugin, &mut ingress).await.unwrap();
        assert_eq!(ingress["spec"]["ingressClassName"], "nginx");
        let mut annotated =
            json!({"metadata": {"name": "i", "annotations": {CLASS_ANNOTATION: "x"}}});
        scene.mutate(&plugin, &mut annotated).await.unwrap();
        assert!(annotated.get("spec").is_none());
    }
}
