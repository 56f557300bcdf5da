//! Steps that the writing verbs share.

use std::collections::HashSet;

use kubewright_machinery::{Status, status};
use kubewright_schema::normalize_typed;
use serde_json::Value;

use super::Target;
use crate::{
    admission::Mutation,
    registry::{Shape, generic::served_bytes},
    request::RequestContext,
};

/// Records the object that was sent, with its defaults.
pub(super) fn record(cx: &RequestContext, target: &Target, object: &Value) {
    let Some(record) = cx.annotations.record() else {
        return;
    };
    record.request_object(object, || {
        let normal = match target.body_type().1 {
            Shape::Typed(ty) => normalize_typed(object.clone(), ty).ok()?,
            Shape::Untyped => object.clone(),
        };
        Some(served_bytes(&normal, None))
    });
}

/// Removes the fields that only the server sets.
pub(super) fn clear_system_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in [
            "creationTimestamp",
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(key);
        }
    }
}

/// Removes duplicate owner references, with a warning.
pub(super) fn dedup_owner_references(cx: &RequestContext, object: &mut Value) {
    dedup_owners(cx, object, "");
}

fn dedup_owners(cx: &RequestContext, object: &mut Value, when: &str) {
    let Some(owners) = object
        .get_mut("metadata")
        .and_then(|m| m.get_mut("ownerReferences"))
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    if owners.len() < 2 {
        return;
    }
    // A request may have tens of thousands of them.
    let mut kept: HashSet<Value> = HashSet::with_capacity(owners.len());
    let (mut twice, mut named): (Vec<String>, HashSet<String>) = Default::default();
    owners.retain(|owner| {
        let is_new = kept.insert(owner.clone());
        if !is_new {
            let uid = owner["uid"].as_str().unwrap_or_default();
            if named.insert(uid.to_owned()) {
                twice.push(uid.to_owned());
            }
        }
        is_new
    });
    if !twice.is_empty() {
        cx.warnings.add(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        ));
    }
}

/// Checks that the name in the body is the name in the path.
pub(super) fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    match object["metadata"]["name"].as_str().unwrap_or_default() {
        "" => Err(status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        own if own != name => Err(status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the namespace of the body is that of the request, and sets it if it is missing.
pub(super) fn check_namespace(
    cx: &RequestContext,
    target: &Target,
    object: &mut Value,
) -> Result<(), Status> {
    let namespace = if target.resource.spec.namespaced {
        cx.namespace()
    } else {
        ""
    };
    crate::registry::generic::ensure_namespace(object, namespace)
}

/// Settles an object that admission may have changed: a custom object is pruned and defaulted again.
pub(super) fn settle_mutated(
    cx: &RequestContext,
    target: &Target,
    object: &mut Value,
    mutation: Mutation,
) -> Result<(), Status> {
    dedup_owners(cx, object, " after mutating admission happens");
    let may_differ = mutation == Mutation::Foreign || cx.admission.mutates_custom_objects();
    if let Some(custom) = target.custom().filter(|_| may_differ) {
        custom.prune_mutated(object);
        default(target, object)?;
    }
    Ok(())
}

/// Fills in the defaults of the kind. Fails if they make the object too large.
pub(super) fn default(target: &Target, object: &mut Value) -> Result<(), Status> {
    let default = match target.subresource() {
        Some(subresource) if !target.takes_parent() => subresource.default.as_ref(),
        _ => target.resource.default.as_ref(),
    };
    match default {
        Some(default) => default(object),
        None => Ok(()),
    }
}
