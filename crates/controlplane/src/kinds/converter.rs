//! One stored object seen under two names.

use kubewright_apiserver::registry::generic::Converter;
use kubewright_builtins::convert::convert;
use kubewright_machinery::Status;
use serde_json::Value;

type GroupVersion = (&'static str, &'static str);

/// Between the version that is served and the one that is stored.
pub(super) struct Between {
    pub(super) served: GroupVersion,
    pub(super) stored: GroupVersion,
    pub(super) kind: &'static str,
}

impl Converter for Between {
    fn to_stored(&self, object: Value) -> Result<Value, Status> {
        Ok(convert(object, self.served, self.stored, self.kind))
    }

    fn to_served(&self, object: Value) -> Result<Value, Status> {
        Ok(convert(object, self.stored, self.served, self.kind))
    }
}
