//! The versions of a custom kind, including those that are not served.

use std::sync::Arc;

use kubewright_apiserver::boxed_async;
use kubewright_apiserver::registry::{Equivalent, Versions};
use kubewright_machinery::{
    Status,
    gvk::{GroupVersionKind, GroupVersionResource},
    json::Read,
};
use kubewright_schema::structural::apply_defaults;
use serde_json::Value;

use crate::{convert::Convertible, definition::Definition};

/// The versions of a CRD in the order of its spec.
pub(crate) struct CustomVersions {
    group: String,
    plural: String,
    kind: String,
    versions: Vec<Version>,
    convertible: Arc<Convertible>,
}

struct Version {
    name: String,
    has_status: bool,
    has_scale: bool,
}

impl CustomVersions {
    /// Returns the versions of a CRD, or `None` if it has only one.
    pub(crate) fn of(crd: &Definition, convertible: &Arc<Convertible>) -> Option<Self> {
        let versions = crd.versions.iter().map(|version| Version {
            name: version.name.clone(),
            has_status: version.has_status,
            has_scale: version.scale.is_some(),
        });
        (crd.versions.len() > 1).then(|| Self {
            group: crd.group.clone(),
            plural: crd.names.plural.clone(),
            kind: crd.names.kind.clone(),
            versions: versions.collect(),
            convertible: convertible.clone(),
        })
    }
}

#[boxed_async]
impl Versions for CustomVersions {
    fn equivalents(&self, subresource: &str) -> Vec<Equivalent> {
        let has = |version: &&Version| match subresource {
            "" => true,
            "status" => version.has_status,
            "scale" => version.has_scale,
            _ => false,
        };
        let versions = self.versions.iter().filter(has);
        versions
            .map(|version| Equivalent {
                resource: GroupVersionResource::new(&self.group, &version.name, &self.plural),
                kind: match subresource {
                    "scale" => GroupVersionKind::new("autoscaling", "v1", "Scale"),
                    _ => GroupVersionKind::new(&self.group, &version.name, &self.kind),
                },
            })
            .collect()
    }

    async fn convert(&self, object: Value, api_version: &str) -> Result<Value, Status> {
        self.convertible.convert_unpruned(object, api_version).await
    }

    fn default(&self, object: &mut Value) -> Result<(), Status> {
        match self.convertible.schema(object["apiVersion"].text()) {
            Some(schema) if object["kind"] == self.kind => Ok(apply_defaults(object, schema)?),
            _ => Ok(()),
        }
    }
}
