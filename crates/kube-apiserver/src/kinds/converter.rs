//! One stored object seen under two names.

use async_trait::async_trait;
use kubewright_apiserver::registry::generic::Converter;
use kubewright_builtins::convert::convert;
use kubewright_machinery::{Status, status};
use kubewright_schema::normalize_typed;
use serde_json::Value;

type GroupVersion = (&'static str, &'static str);

/// Between the version that is served and the one that is stored.
pub(super) struct Between {
    pub(super) served: GroupVersion,
    pub(super) stored: GroupVersion,
    pub(super) kind: &'static str,
}

#[async_trait]
impl Converter for Between {
    async fn to_stored(&self, object: Value) -> Result<Value, Status> {
        let object = convert(object, self.served, self.stored, self.kind);
        match kubewright_catalog::kind_type(self.stored.0, self.stored.1, self.kind) {
            Some(ty) => normalize_typed(object, ty).map_err(status::internal),
            None => Ok(object),
        }
    }

    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status> {
        let served = |object| convert(object, self.stored, self.served, self.kind);
        Ok(objects.into_iter().map(served).collect())
    }
}
