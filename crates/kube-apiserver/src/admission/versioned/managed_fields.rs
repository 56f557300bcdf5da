//! The managed fields of an object that the code of others may change.

use kubewright_apiserver::request::RequestContext;
use kubewright_machinery::json::Write;
use kubewright_merge::managed::ManagedFields;
use serde_json::{Value, json};

use crate::admission::matching::Request;

/// The managed fields of an object before it was changed.
pub(crate) struct BeforeMutation(Value);

impl BeforeMutation {
    /// Remembers the managed fields, and adds those of a new object to its value, where the code of others sees them.
    pub(crate) fn of(request: &Request<'_>, object: &mut Value) -> Self {
        add(request, object);
        Self(object["metadata"]["managedFields"].clone())
    }

    /// Restores the managed fields if they cannot be read any more, with a warning.
    pub(crate) fn restore_if_broken(self, cx: &RequestContext, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        let fields = metadata.entry("managedFields").or_insert(json!([]));
        if let Err(error) = ManagedFields::decode(fields) {
            cx.warnings.add(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {error}"
            ));
            *fields = self.0;
        }
    }
}

/// Adds the managed fields of a new object, which are kept separately, to a value that lacks them.
pub(super) fn add(request: &Request<'_>, object: &mut Value) {
    if object["metadata"].get("managedFields").is_some() {
        return;
    }
    if let Some(managed) = request.attributes.managed.filter(|m| !m.entries.is_empty()) {
        object
            .field("metadata")
            .put("managedFields", managed.clone().encode());
    }
}
