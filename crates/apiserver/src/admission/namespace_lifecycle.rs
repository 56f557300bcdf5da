//! `NamespaceLifecycle`: rejects creates in namespaces that are missing or terminating, and deletes of some namespaces.

use std::sync::Arc;

use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::Value;

use super::{Attributes, Operation, Plugin};
use crate::request::RequestContext;

/// The phase of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespacePhase {
    /// In use.
    Active,
    /// Terminating.
    Terminating,
}

/// A source of namespaces.
#[boxed_async]
pub trait Namespaces: Send + Sync {
    /// Returns the phase of a namespace, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the failure of the store.
    async fn phase(&self, name: &str) -> Result<Option<NamespacePhase>, Status>;
}

/// The `NamespaceLifecycle` plugin.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::admission::{NamespaceLifecycle, NamespacePhase, Namespaces};
/// use kubewright_machinery::Status;
///
/// struct OnlyDefault;
///
/// #[boxed_async]
/// impl Namespaces for OnlyDefault {
///     async fn phase(&self, name: &str) -> Result<Option<NamespacePhase>, Status> {
///         Ok((name == "default").then_some(NamespacePhase::Active))
///     }
/// }
///
/// let plugin = NamespaceLifecycle::new(Arc::new(OnlyDefault));
/// ```
pub struct NamespaceLifecycle {
    namespaces: Arc<dyn Namespaces>,
    immortal: &'static [&'static str],
}

impl NamespaceLifecycle {
    /// Returns a plugin that reads `namespaces` and rejects deletes of `default`, `kube-system` and `kube-public`.
    pub fn new(namespaces: Arc<dyn Namespaces>) -> Self {
        Self {
            namespaces,
            immortal: &["default", "kube-system", "kube-public"],
        }
    }
}

#[boxed_async]
impl Plugin for NamespaceLifecycle {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        _object: Option<&mut Value>,
    ) -> Result<(), Status> {
        self.check(cx, attributes).await
    }
}

impl NamespaceLifecycle {
    async fn check(&self, cx: &RequestContext, attributes: &Attributes<'_>) -> Result<(), Status> {
        let info = &cx.info;
        let is_namespace = info.group.is_empty() && info.resource == "namespaces";
        if attributes.operation == Operation::Delete {
            if is_namespace
                && info.subresource.is_empty()
                && self.immortal.contains(&attributes.name)
            {
                let resource = GroupResource::new("", "namespaces");
                return Err(status::forbidden(
                    &resource,
                    attributes.name,
                    "this namespace may not be deleted",
                ));
            }
            return Ok(());
        }
        let review = info.group == "authorization.k8s.io";
        if is_namespace || info.namespace.is_empty() || review {
            return Ok(());
        }
        let phase = self.namespaces.phase(&info.namespace).await?;
        let Some(phase) = phase else {
            return Err(status::not_found(
                &GroupResource::new("", "namespaces"),
                &info.namespace,
            ));
        };
        if attributes.operation == Operation::Create && phase == NamespacePhase::Terminating {
            let ns = &info.namespace;
            let resource = GroupResource::new(&info.group, &info.resource);
            let text = format!(
                "unable to create new content in namespace {ns} because it is being terminated"
            );
            return Err(
                status::forbidden(&resource, attributes.name, text).with_cause(
                    "NamespaceTerminating",
                    format!("namespace {ns} is being terminated"),
                    "metadata.namespace",
                ),
            );
        }
        Ok(())
    }
}
