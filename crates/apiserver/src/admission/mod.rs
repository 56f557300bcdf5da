//! Admission: a chain of [`Plugin`]s that may change or reject a write.
//!
//! All plugins mutate the object after it was decoded and defaulted. All plugins validate it before it is stored. A delete and a
//! connect pass both too, a delete without an object.

mod attributes;
mod namespace_lifecycle;
mod reinvocation;

use std::sync::Arc;

use kubewright_derive::boxed_async;
use kubewright_machinery::Status;
use serde_json::Value;

use crate::request::RequestContext;

pub use attributes::{Attributes, Operation, Options};
pub use namespace_lifecycle::{NamespaceLifecycle, NamespacePhase, Namespaces};
pub use reinvocation::Reinvocation;

/// An admission plugin.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{admission::{Attributes, Plugin}, request::RequestContext};
/// use kubewright_machinery::{Status, status};
/// use serde_json::Value;
///
/// struct RequireOwner;
///
/// #[boxed_async]
/// impl Plugin for RequireOwner {
///     async fn validate(
///         &self,
///         cx: &RequestContext,
///         attributes: &Attributes<'_>,
///         object: Option<&Value>,
///     ) -> Result<(), Status> {
///         match object {
///             Some(object) if object["metadata"]["labels"]["owner"].is_null() => {
///                 let resource = cx.resource.spec().group_resource();
///                 Err(status::forbidden(&resource, attributes.name, "the label owner is required"))
///             }
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
#[boxed_async]
pub trait Plugin: Send + Sync {
    /// Returns whether the plugin reads or changes the objects of an update. If no plugin does, a repeated update that is known to
    /// change nothing is not computed again: the plugins are asked, but with `null` as the object and no stored one. Defaults to
    /// `true`.
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        true
    }

    /// Changes the object. A new object has no `metadata.managedFields` yet. `object` is `None` for deletes; that of a connect
    /// is its options.
    async fn mutate(
        &self,
        _cx: &RequestContext,
        _attributes: &Attributes<'_>,
        _object: Option<&mut Value>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// Rejects the request by returning an error. `object` is `None` for deletes.
    async fn validate(
        &self,
        _cx: &RequestContext,
        _attributes: &Attributes<'_>,
        _object: Option<&Value>,
    ) -> Result<(), Status> {
        Ok(())
    }
}

/// The code that may have changed an object in the mutating pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Only plugins of the server.
    Own,
    /// Code of others that plugins run, such as webhooks: a plugin [requested](Reinvocation::request) a second pass.
    Foreign,
}

/// An ordered list of plugins. Clones share it.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::admission::{AdmissionChain, Plugin};
///
/// struct AdmitEverything;
///
/// impl Plugin for AdmitEverything {}
///
/// let chain = AdmissionChain::new([Arc::new(AdmitEverything) as _]);
/// # let _ = chain;
/// ```
#[derive(Clone, Default)]
pub struct AdmissionChain {
    plugins: Arc<[Arc<dyn Plugin>]>,
    spares_custom_objects: bool,
}

impl AdmissionChain {
    /// Returns a chain of these plugins.
    pub fn new(plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Self {
        Self {
            plugins: plugins.into_iter().collect(),
            spares_custom_objects: false,
        }
    }

    /// Asserts that no plugin changes custom objects. Without it, custom objects are pruned and defaulted again after the
    /// plugins ran.
    #[must_use]
    pub fn sparing_custom_objects(self) -> Self {
        Self {
            spares_custom_objects: true,
            ..self
        }
    }

    /// Returns whether a plugin may change custom objects.
    pub(crate) fn mutates_custom_objects(&self) -> bool {
        !self.spares_custom_objects && !self.plugins.is_empty()
    }

    /// Lets every plugin change the object, and once more if one of them [requests](Reinvocation::request) it. Returns whether
    /// one did.
    ///
    /// # Errors
    ///
    /// Returns the error of the first plugin that rejects the request.
    pub async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Value>,
    ) -> Result<Mutation, Status> {
        let pass = Reinvocation::default();
        let attributes = Attributes {
            reinvocation: Some(&pass),
            ..*attributes
        };
        for plugin in self.plugins.iter() {
            plugin
                .mutate(cx, &attributes, object.as_deref_mut())
                .await?;
        }
        if !pass.begin_second() {
            return Ok(Mutation::Own);
        }
        for plugin in self.plugins.iter() {
            plugin
                .mutate(cx, &attributes, object.as_deref_mut())
                .await?;
        }
        Ok(Mutation::Foreign)
    }

    /// Runs both passes of a request that stores no object: a delete, or a connect with its options.
    ///
    /// # Errors
    ///
    /// Returns the error of the first plugin that rejects the request.
    pub async fn admit(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        mut options: Option<&mut Value>,
    ) -> Result<(), Status> {
        self.mutate(cx, attributes, options.as_deref_mut()).await?;
        self.validate(cx, attributes, options.as_deref()).await
    }

    /// Lets every plugin validate the request.
    ///
    /// # Errors
    ///
    /// Returns the error of the first plugin that rejects the request.
    pub async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        for plugin in self.plugins.iter() {
            plugin.validate(cx, attributes, object).await?;
        }
        Ok(())
    }
}

impl AdmissionChain {
    /// Returns whether the plugins admit an update that changes nothing, without reading the object. If not, the update must be
    /// computed and admitted as usual, which finds the reason.
    pub(crate) async fn admits_unread(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
    ) -> bool {
        if self.plugins.iter().any(|plugin| plugin.reads_updated(cx)) {
            return false;
        }
        let mut unread = Value::Null;
        self.mutate(cx, attributes, Some(&mut unread)).await.is_ok()
            && self.validate(cx, attributes, Some(&unread)).await.is_ok()
    }
}

impl std::fmt::Debug for AdmissionChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} admission plugins", self.plugins.len())
    }
}
