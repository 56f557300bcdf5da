//! The 403 of a plugin, and the resource that a request is for.

use std::fmt::Display;

use kubewright_apiserver::{admission::Attributes, request::RequestContext};
use kubewright_machinery::{Status, gvk::GroupResource, json::Read, status};
use serde_json::Value;

/// Returns whether the request is for objects of this resource, not for a subresource.
pub(super) fn is_for(cx: &RequestContext, group: &str, resource: &str) -> bool {
    is_for_subresource(cx, group, resource, "")
}

/// Returns whether the request is for this subresource.
pub(super) fn is_for_subresource(
    cx: &RequestContext,
    group: &str,
    resource: &str,
    subresource: &str,
) -> bool {
    let info = &cx.info;
    info.resource == resource && info.group == group && info.subresource == subresource
}

/// Returns a 403. An object without a name is named by its `generateName`.
pub(super) fn forbidden(
    cx: &RequestContext,
    attributes: &Attributes<'_>,
    object: &Value,
    cause: impl Display,
) -> Status {
    let metadata = &object["metadata"];
    let candidates = [
        attributes.name,
        metadata["name"].text(),
        metadata["generateName"].text(),
    ];
    let name = candidates
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or("Unknown");
    let resource = GroupResource::new(&cx.info.group, &cx.info.resource);
    status::forbidden(&resource, name, cause)
}
