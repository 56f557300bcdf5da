//! Subresources of the built-in kinds: one file for each that is more than an update with other rules.

mod binding;
mod connect_options;
mod eviction;
mod log_options;
mod scale;
mod streams;
mod token;

use std::sync::Arc;

use kubewright_apiserver::{
    Object,
    registry::{Handlers, Resource},
};
use kubewright_builtins::{
    certificates::certificate_signing_request as csr,
    core::{namespace, pod},
};
use kubewright_catalog::resource::SubresourceInfo;
use kubewright_machinery::{Status, status::Details};

use crate::kinds::{BuiltInKind, component_statuses, namespaces, strategy::Endpoint};

/// Replaces the handlers of kinds whose verbs differ from the generic ones.
pub(crate) fn special_handlers(kind: &BuiltInKind<'_>, resource: Resource) -> Resource {
    let generic = resource.handlers().clone();
    match (kind.kind.group.as_str(), kind.info.plural) {
        ("", "namespaces") => {
            let delete = namespaces::TerminateFirst(kind.generic.clone());
            resource.with_handlers(Handlers {
                delete: Some(Arc::new(delete)),
                delete_collection: None,
                ..generic
            })
        }
        ("", "bindings") => resource.with_handlers(Handlers {
            create: Some(Arc::new(binding::BindNamed::new(kind.environment))),
            ..Handlers::default()
        }),
        ("", "componentstatuses") => {
            resource.with_handlers(component_statuses::handlers(kind.environment))
        }
        ("batch", "jobs") => resource.with_delete_warning(Arc::new(|options| {
            let silent = options.orphan_dependents.is_some() || options.propagation.is_some();
            (!silent).then(|| ORPHANED_PODS.to_owned())
        })),
        _ => resource,
    }
}

const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Returns the handlers of a subresource, or `None` if it is not served.
pub(crate) fn handlers(kind: &BuiltInKind<'_>, info: &SubresourceInfo) -> Option<Handlers> {
    let main = Endpoint {
        main: false,
        ..Endpoint::main(kind.rules)
    };
    let mut handlers = match (kind.info.plural, info.name) {
        (_, "status") => kind.at(Endpoint::status(kind.rules)).subresource_handlers(),
        ("namespaces", "finalize") => {
            let (prepare, validate) = (namespace::prepare_finalize, namespace::validate_finalize);
            kind.at(Endpoint {
                prepare,
                validate,
                ..main
            })
            .subresource_handlers()
        }
        (_, "scale") => scale::handlers(kind),
        ("pods", "binding") => binding::handlers(kind),
        ("pods", "eviction") => eviction::handlers(kind),
        ("serviceaccounts", "token") => token::handlers(kind),
        (_, "log" | "exec" | "attach" | "portforward" | "proxy") => {
            streams::handlers(kind, info.name)
        }
        ("pods", "ephemeralcontainers") => {
            let (prepare, validate) = (
                pod::update::prepare_ephemeral_containers,
                pod::update::ephemeral_containers,
            );
            kind.at(Endpoint {
                prepare,
                validate,
                ..main
            })
            .subresource_handlers()
        }
        ("pods", "resize") => {
            let (prepare, validate) = (pod::resize::prepare, pod::resize::validate);
            kind.at(Endpoint {
                prepare,
                validate,
                ..main
            })
            .subresource_handlers()
        }
        ("certificatesigningrequests", "approval") => {
            let (prepare, validate) = (csr::prepare_approval, csr::validate_approval);
            kind.at(Endpoint {
                prepare,
                validate,
                ..main
            })
            .subresource_handlers()
        }
        _ => return None,
    };
    // Some can only be written.
    if !info.verbs.contains(&"get") {
        handlers.get = None;
    }
    Some(handlers)
}

/// Returns the answer to a create that stores nothing.
fn done() -> Result<Object, Status> {
    Object::new(&Status {
        code: 201,
        details: None,
        ..Status::success(Details::default())
    })
}
