//! Conversion of kinds that are served in two groups or versions.

use kubewright_apiserver::{boxed_async, registry::Converter};
use kubewright_builtins::convert::convert;
use kubewright_machinery::{Status, gvk::GroupVersion, status};
use kubewright_schema::normalize_typed;
use serde_json::Value;

/// Converts between the served and the stored version of a kind.
pub(super) struct Between {
    pub(super) served: GroupVersion,
    pub(super) stored: (&'static str, &'static str),
    pub(super) kind: &'static str,
}

#[boxed_async]
impl Converter for Between {
    async fn to_stored(&self, object: Value) -> Result<Value, Status> {
        let served = (self.served.group.as_str(), self.served.version.as_str());
        let object = convert(object, served, self.stored, self.kind);
        match kubewright_catalog::kind_type(self.stored.0, self.stored.1, self.kind) {
            Some(ty) => normalize_typed(object, ty).map_err(status::internal),
            None => Ok(object),
        }
    }

    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status> {
        let served = (self.served.group.as_str(), self.served.version.as_str());
        let convert = |object| convert(object, self.stored, served, self.kind);
        Ok(objects.into_iter().map(convert).collect())
    }
}
