//! The `scale` of a custom kind, at the paths of its CRD.

use kubewright_apiserver::{
    ReplicasPaths, ScaleOwners,
    registry::{Generic, Scalable},
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use kubewright_schema::{
    normalize_typed,
    structural::{nested_i64, nested_str},
};
use serde_json::{Value, json};

use crate::definition::Scale as Paths;

/// Represents unset replicas while a scale is changed.
const UNSET: i64 = i32::MIN as i64;

pub(crate) struct Scale {
    pub(crate) parents: Generic,
    pub(crate) api_version: String,
    pub(crate) resource: GroupResource,
    pub(crate) paths: Paths,
    /// The path of the replicas in every version.
    pub(crate) replicas: ReplicasPaths,
}

impl Scale {
    /// Returns the scale of an object, and whether the object sets its replicas.
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
        // kube-apiserver truncates these to 32 bits.
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
    status::unknown(text)
}

impl Scalable for Scale {
    fn parents(&self) -> &Generic {
        &self.parents
    }

    fn resource(&self) -> GroupResource {
        self.resource.clone()
    }

    fn shown(&self, parent: &Value) -> Result<Value, Status> {
        match self.of(parent).map_err(failure)? {
            (scale, true) => Ok(scale),
            (_, false) => Err(status::internal(format!(
                "the spec replicas field {:?} does not exist",
                self.paths.spec_replicas
            ))),
        }
    }

    fn changed(&self, parent: &Value) -> Result<Value, Status> {
        let (mut scale, found) = self.of(parent).map_err(failure)?;
        if !found {
            scale["spec"]["replicas"] = json!(UNSET);
        }
        Ok(scale)
    }

    fn answered(&self, parent: &Value) -> Result<Value, Status> {
        let (scale, _) = self.of(parent).map_err(status::bad_request)?;
        Ok(scale)
    }

    fn owners(&self, parent: &Value) -> Result<ScaleOwners, Status> {
        ScaleOwners::of(parent, &self.api_version, self.replicas.clone())
    }

    fn write(&self, parent: &mut Value, scale: &Value) -> Result<(), Status> {
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
        if replicas == UNSET {
            return Err(status::bad_request(format!(
                "the spec replicas field {:?} cannot be empty",
                self.paths.spec_replicas
            )));
        }
        set(parent, &self.paths.spec_replicas, replicas);
        let version = scale["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        if !version.is_empty() {
            parent["metadata"]["resourceVersion"] = json!(version);
        }
        Ok(())
    }
}

/// Sets a number at a dotted path, and creates missing objects along the path.
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
