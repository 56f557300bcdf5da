//! `scale` of a built-in kind: the replicas at `spec.replicas`.

use kubewright_apiserver::{
    ReplicasPaths, ScaleOwners,
    registry::{Generic, Handlers, Scalable, scale_handlers},
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
    scale_handlers(BuiltIn {
        parents: kind.at(endpoint),
        kind: kind.kind.clone(),
        plural: kind.info.plural,
    })
}

struct BuiltIn {
    parents: Generic,
    kind: GroupVersionKind,
    plural: &'static str,
}

impl Scalable for BuiltIn {
    fn parents(&self) -> &Generic {
        &self.parents
    }

    fn resource(&self) -> GroupResource {
        GroupResource::new(&self.kind.group, self.plural)
    }

    fn shown(&self, parent: &Value) -> Result<Value, Status> {
        normalize_typed(scale::to_scale(parent), &SCALE).map_err(status::internal)
    }

    fn changed(&self, parent: &Value) -> Result<Value, Status> {
        self.shown(parent)
    }

    fn answered(&self, parent: &Value) -> Result<Value, Status> {
        self.shown(parent)
    }

    fn owners(&self, parent: &Value) -> Result<ScaleOwners, Status> {
        let version = self.kind.api_version();
        ScaleOwners::of(parent, &version, ReplicasPaths::usual(&version))
    }

    fn write(&self, parent: &mut Value, scale: &Value) -> Result<(), Status> {
        let errors = scale::validate(scale);
        if !errors.is_empty() {
            let name = scale["metadata"]["name"].as_str().unwrap_or_default();
            let kind = GroupKind::new("autoscaling", "Scale");
            return Err(status::invalid(&kind, name, &errors));
        }
        scale::apply_scale(parent, scale);
        Ok(())
    }
}
