//! Who manages which field: every write is recorded in `metadata.managedFields`.

use serde_json::Value;

use super::Target;
use crate::{
    managed::FieldManager,
    request::{RequestContext, WriteOptions},
};

/// The field manager of the endpoint, where the kind has one.
pub(super) fn manager(target: &Target) -> Option<&FieldManager> {
    match target.subresource() {
        None => target.resource.managed.as_deref(),
        Some(subresource) => subresource.managed.as_deref(),
    }
}

/// Records a write that is not an apply.
pub(super) fn track(
    cx: &RequestContext,
    target: &Target,
    live: Option<&Value>,
    object: &mut Value,
    options: &WriteOptions,
) {
    if let Some(manager) = manager(target) {
        let name = cx.field_manager(&options.field_manager);
        manager.update(live, object, &name, target.resource.clock.now().as_second());
    }
}
