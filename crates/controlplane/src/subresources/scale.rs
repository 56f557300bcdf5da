//! `scale`: the number of replicas, whatever the kind.
//!
//! A write through it is a write of the parent. Who manages `spec.replicas` is kept on the parent and shown on the scale.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    managed::scale::{ReplicasPaths, ScaleOwners},
    object::Object,
    registry::{Change, Get, Handlers, Update, Updated, generic::Generic},
    request::{GetOptions, RequestContext, WriteOptions},
};
use kubewright_builtins::scale;
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::{
    Status,
    gvk::{GroupKind, GroupResource, GroupVersionKind},
    status,
};
use kubewright_schema::normalize_typed;
use serde_json::Value;

use crate::kinds::{BuiltInKind, strategy::Endpoint};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let endpoint = Endpoint {
        main: false,
        ..Endpoint::main(kind.rules)
    };
    let scale = Arc::new(Scale {
        parents: kind.at(endpoint),
        kind: kind.kind.clone(),
        plural: kind.info.plural,
    });
    Handlers {
        get: Some(scale.clone()),
        update: Some(scale),
        ..Handlers::default()
    }
}

struct Scale {
    parents: Generic,
    kind: GroupVersionKind,
    plural: &'static str,
}

/// The scale of an object.
fn of(parent: &Value) -> Result<Value, Status> {
    normalize_typed(scale::to_scale(parent), &SCALE).map_err(status::internal)
}

#[async_trait]
impl Get for Scale {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status> {
        let parent = self.parents.get(cx, name, options).await?.to_value()?;
        Ok(Object::from_value(&of(&parent)?))
    }
}

#[async_trait]
impl Update for Scale {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        let change = ScaleChange {
            change,
            scale: self,
        };
        let updated = self.parents.update(cx, name, &change, options).await?;
        let parent = updated.object.to_value()?;
        Ok(Updated {
            object: Object::from_value(&of(&parent)?),
            created: false,
        })
    }
}

/// A change of the scale, as a change of the parent.
struct ScaleChange<'a> {
    change: &'a dyn Change,
    scale: &'a Scale,
}

#[async_trait]
impl Change for ScaleChange<'_> {
    fn expected_uid(&self) -> Option<&str> {
        self.change.expected_uid()
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Value, Status> {
        let resource = GroupResource::new(&self.scale.kind.group, self.scale.plural);
        let parent = old.ok_or_else(|| status::not_found(&resource, &cx.info.name))?;
        let version = self.scale.kind.api_version();
        let owners = ScaleOwners::of(parent, &version, ReplicasPaths::usual(&version));
        let mut before = of(parent)?;
        let managers = owners.on_scale();
        if managers.as_array().is_some_and(|list| !list.is_empty()) {
            before["metadata"]["managedFields"] = managers;
        }
        let after = self.change.apply(cx, Some(&before)).await?;
        let errors = scale::validate(&after);
        if !errors.is_empty() {
            let name = after["metadata"]["name"].as_str().unwrap_or_default();
            return Err(status::invalid(
                &GroupKind::new("autoscaling", "Scale"),
                name,
                &errors,
            ));
        }
        let mut parent = parent.clone();
        scale::apply_scale(&mut parent, &after);
        parent["metadata"]["managedFields"] = owners.on_parent(&after["metadata"]["managedFields"]);
        Ok(parent)
    }
}
