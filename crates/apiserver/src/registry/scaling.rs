//! The `scale` subresource of built-in and custom kinds.
//!
//! A scale is a view of its parent, and a write to it is a write to the parent. The owners of the replicas are kept in the
//! managed fields of the parent and shown on the scale. A [`Scalable`] defines the paths and the validation of a kind.

use std::sync::Arc;

use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::Value;

use super::{
    draft::Draft,
    generic::Generic,
    handlers::Handlers,
    traits::{Change, Get, Update, Updated},
};
use crate::{
    field_manager::ScaleOwners,
    object::Object,
    request::{GetOptions, RequestContext, WriteOptions},
};

/// A kind that has a scale.
pub trait Scalable: Send + Sync + 'static {
    /// Returns the registry of the parents.
    fn parents(&self) -> &Generic;

    /// Returns the resource of the parents, for error messages.
    fn resource(&self) -> GroupResource;

    /// Returns the scale for a read.
    fn shown(&self, parent: &Value) -> Result<Value, Status>;

    /// Returns the scale that a write changes.
    fn changed(&self, parent: &Value) -> Result<Value, Status>;

    /// Returns the scale in the response to a write.
    fn answered(&self, parent: &Value) -> Result<Value, Status>;

    /// Returns the managers that own the replicas.
    fn owners(&self, parent: &Value) -> Result<ScaleOwners, Status>;

    /// Validates a scale, and writes its replicas and resourceVersion into the parent.
    fn write(&self, parent: &mut Value, scale: &Value) -> Result<(), Status>;
}

/// Returns the handlers of `scale`.
pub fn scale_handlers(kind: impl Scalable) -> Handlers {
    let scale = Arc::new(Scale(kind));
    Handlers {
        get: Some(scale.clone()),
        update: Some(scale),
        ..Handlers::default()
    }
}

struct Scale<K>(K);

#[boxed_async]
impl<K: Scalable> Get for Scale<K> {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status> {
        let parent = self.0.parents().get(cx, name, options).await?.to_value()?;
        Ok(Object::from_value(&self.0.shown(&parent)?))
    }
}

#[boxed_async]
impl<K: Scalable> Update for Scale<K> {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        let change = Scaled {
            change,
            kind: &self.0,
        };
        let parents = self.0.parents();
        let updated = parents.update(cx, name, &change, options).await?;
        let parent = updated.object.to_value()?;
        Ok(Updated {
            object: Object::from_value(&self.0.answered(&parent)?),
            created: false,
        })
    }
}

/// Turns a change of the scale into a change of the parent.
struct Scaled<'a, K> {
    change: &'a dyn Change,
    kind: &'a K,
}

#[boxed_async]
impl<K: Scalable> Change for Scaled<'_, K> {
    fn expected_uid(&self) -> Option<&str> {
        self.change.expected_uid()
    }

    /// The replicas may be at a path that the schema does not know.
    fn leaves_unknown(&self) -> bool {
        true
    }

    fn reviewed(&self, parent: &Value) -> Result<Option<Value>, Status> {
        self.kind.answered(parent).map(Some)
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Draft, Status> {
        let kind = self.kind;
        let parent = old.ok_or_else(|| status::not_found(&kind.resource(), &cx.info.name))?;
        let owners = kind.owners(parent)?;
        let mut before = kind.changed(parent)?;
        let managers = owners.on_scale();
        if managers.as_array().is_some_and(|list| !list.is_empty()) {
            before["metadata"]["managedFields"] = managers;
        }
        let after = self.change.apply(cx, Some(&before)).await?.into_value();
        let mut parent = parent.clone();
        kind.write(&mut parent, &after)?;
        parent["metadata"]["managedFields"] =
            owners.on_parent(&after["metadata"]["managedFields"])?;
        Ok(parent.into())
    }
}
