//! Who manages which field: every write is recorded in `metadata.managedFields`.

use serde_json::Value;

use super::Target;
use crate::request::{RequestContext, WriteOptions};

/// Records a write that is not an apply.
pub(super) fn track(
    _cx: &RequestContext,
    _target: &Target,
    _live: Option<&Value>,
    _object: &mut Value,
    _options: &WriteOptions,
) {
}
