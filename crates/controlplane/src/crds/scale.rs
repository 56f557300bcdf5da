//! `scale` of a declared kind: the number of replicas, wherever the definition says it is.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    managed::scale::{ReplicasPaths, ScaleOwners},
    object::Object,
    registry::{Change, Get, Handlers, Update, Updated, generic::Generic},
    request::{GetOptions, RequestContext, WriteOptions},
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use kubewright_schema::normalize_typed;
use serde_json::{Value, json};

use super::{
    definition::Scale as Paths,
    nested::{nested_i64, nested_str},
};

/// Stands for replicas that are not there while a scale is changed.
const UNSET: i64 = i32::MIN as i64;

pub(super) struct Scale {
    pub(super) parents: Generic,
    pub(super) api_version: String,
    pub(super) resource: GroupResource,
    pub(super) paths: Paths,
    /// Where the replicas are in every version.
    pub(super) replicas: ReplicasPaths,
}

impl Scale {
    pub(super) fn handlers(self) -> Handlers {
        let this = Arc::new(self);
        Handlers {
            get: Some(this.clone()),
            update: Some(this),
            ..Handlers::default()
        }
    }

    /// The scale of an object, and whether the object says how many replicas it wants.
    fn of(&self, parent: &Value) -> Result<(Value, bool), String> {
        let replicas = nested_i64(parent, &self.paths.spec_replicas)?;
        let current = nested_i64(parent, &self.paths.status_replicas)?;
        let selector = match &self.paths.selector {
            Some(path) => nested_str(parent, path)?.unwrap_or_default(),
            None => "",
        };
        let mut metadata = json!({});
        for key in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        ] {
            if let Some(value) = parent["metadata"].get(key) {
                metadata[key] = value.clone();
            }
        }
        // The real server keeps 32 bits of these.
        let cut = |n: Option<i64>| n.unwrap_or_default() as i32;
        let scale = json!({
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": cut(replicas)},
            "status": {"replicas": cut(current), "selector": selector},
        });
        let scale = normalize_typed(scale, &SCALE).map_err(|e| e.to_string())?;
        Ok((scale, replicas.is_some()))
    }
}

fn failure(text: String) -> Status {
    Status::failure(500, "", text)
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
        match self.of(&parent).map_err(failure)? {
            (scale, true) => Ok(Object::from_value(&scale)),
            (_, false) => Err(status::internal(format!(
                "the spec replicas field {:?} does not exist",
                self.paths.spec_replicas
            ))),
        }
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
        let change = Scaled {
            change,
            scale: self,
        };
        let updated = self.parents.update(cx, name, &change, options).await?;
        let parent = updated.object.to_value()?;
        let (scale, _) = self.of(&parent).map_err(status::bad_request)?;
        Ok(Updated {
            object: Object::from_value(&scale),
            created: false,
        })
    }
}

/// A change of the scale, as a change of the parent.
struct Scaled<'a> {
    change: &'a dyn Change,
    scale: &'a Scale,
}

#[async_trait]
impl Change for Scaled<'_> {
    fn expected_uid(&self) -> Option<&str> {
        self.change.expected_uid()
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Value, Status> {
        let scale = self.scale;
        let parent = old.ok_or_else(|| status::not_found(&scale.resource, &cx.info.name))?;
        let owners = ScaleOwners::of(parent, &scale.api_version, scale.replicas.clone());
        let (mut before, found) = scale.of(parent).map_err(failure)?;
        if !found {
            before["spec"]["replicas"] = json!(UNSET);
        }
        before["metadata"]["managedFields"] = owners.on_scale();
        let after = self.change.apply(cx, Some(&before)).await?;
        let replicas = after["spec"]["replicas"].as_i64().unwrap_or_default();
        if replicas == UNSET {
            return Err(status::bad_request(format!(
                "the spec replicas field {:?} cannot be empty",
                scale.paths.spec_replicas
            )));
        }
        let mut parent = parent.clone();
        set(&mut parent, &scale.paths.spec_replicas, replicas);
        let version = after["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        if !version.is_empty() {
            parent["metadata"]["resourceVersion"] = json!(version);
        }
        parent["metadata"]["managedFields"] = owners.on_parent(&after["metadata"]["managedFields"]);
        Ok(parent)
    }
}

/// Sets a number at a dotted path, making the objects on the way.
fn set(object: &mut Value, path: &str, n: i64) {
    let mut value = object;
    for part in path.strip_prefix('.').unwrap_or(path).split('.') {
        if !value.is_object() {
            *value = json!({});
        }
        value = &mut value[part];
    }
    *value = json!(n);
}
