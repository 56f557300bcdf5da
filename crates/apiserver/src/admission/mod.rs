//! Admission: the last word on a write, after it was decoded and before it is stored.
//!
//! A chain of [`Plugin`]s. First every plugin may change the object, then every plugin may refuse it.

pub mod namespace_lifecycle;

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_machinery::Status;
use serde_json::Value;

use crate::request::RequestContext;

pub use namespace_lifecycle::{NamespaceLifecycle, NamespacePhase, Namespaces};

/// What is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// What a plugin judges. The resource, the namespace and the user are in the request context.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// The object's name; empty where it is not known yet.
    pub name: &'a str,
    /// The object as it is now, for updates and deletes.
    pub old: Option<&'a Value>,
    /// Nothing will be stored.
    pub dry_run: bool,
}

/// One step of admission.
#[async_trait]
pub trait Plugin: Send + Sync {
    /// May change the object. In a new object, `fieldsV1` of `metadata.managedFields` is held as JSON text;
    /// [`expand_text_forms`](kubewright_merge::managed::expand_text_forms) makes objects of it.
    async fn mutate(
        &self,
        _cx: &RequestContext,
        _attributes: &Attributes<'_>,
        _object: &mut Value,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// May refuse. `object` is `None` for deletes.
    async fn validate(
        &self,
        _cx: &RequestContext,
        _attributes: &Attributes<'_>,
        _object: Option<&Value>,
    ) -> Result<(), Status> {
        Ok(())
    }
}

/// The plugins in their order. Clones share them.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    plugins: Arc<[Arc<dyn Plugin>]>,
    spares_declared_kinds: bool,
}

impl AdmissionChain {
    /// A chain of these plugins.
    pub fn new(plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Self {
        Self {
            plugins: plugins.into_iter().collect(),
            spares_declared_kinds: false,
        }
    }

    /// Says that no plugin changes objects of kinds that are declared by definitions. Others have these objects brought
    /// in line with their schema once more.
    #[must_use]
    pub fn sparing_declared_kinds(self) -> Self {
        Self {
            spares_declared_kinds: true,
            ..self
        }
    }

    /// Whether a plugin may change objects of declared kinds.
    pub(crate) fn changes_declared_kinds(&self) -> bool {
        !self.spares_declared_kinds && !self.plugins.is_empty()
    }

    /// Lets every plugin change the object.
    pub async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        for plugin in self.plugins.iter() {
            plugin.mutate(cx, attributes, object).await?;
        }
        Ok(())
    }

    /// Asks every plugin whether the write may go on.
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

impl std::fmt::Debug for AdmissionChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} admission plugins", self.plugins.len())
    }
}
