//! Subresources of the built-in kinds.

use std::sync::Arc;

use kubewright_apiserver::registry::{Handlers, Resource};
use kubewright_catalog::resource::SubresourceInfo;

use crate::kinds::{BuiltInKind, namespaces};

/// What a kind's own verbs do differently.
pub(crate) fn special_handlers(kind: &BuiltInKind<'_>, resource: &mut Resource) {
    if kind.kind.group.is_empty() && kind.info.plural == "namespaces" {
        resource.handlers.delete = Some(Arc::new(namespaces::TerminateFirst(kind.generic.clone())));
        resource.handlers.delete_collection = None;
    }
}

/// The handlers of a subresource; `None` where it is not served.
pub(crate) fn handlers(kind: &BuiltInKind<'_>, info: &SubresourceInfo) -> Option<Handlers> {
    match info.name {
        "status" => {
            let generic = kind.generic.with_strategy(kind.status_strategy());
            Some(generic.subresource_handlers())
        }
        _ => None,
    }
}
