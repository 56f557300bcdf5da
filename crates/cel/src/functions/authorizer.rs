//! Authorization checks: `authorizer.group('').resource('pods').check('create').allowed()`.
//!
//! The checker knows the functions in every environment, as in Kubernetes. Only admission expressions have a value to
//! call them on.

use std::sync::Arc;

use kubewright_machinery::validation::names;

use crate::access::{Access, AccessTarget, AccessedResource};
use crate::value::{EvalError, EvalResult, Value};

use super::{Implementation, Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    let functions: [(&'static str, &'static str, &str, &str, Implementation); 15] = [
        (
            "path",
            "authorizer_path",
            "authorizer string",
            "pathCheck",
            path,
        ),
        (
            "group",
            "authorizer_group",
            "authorizer string",
            "groupCheck",
            group,
        ),
        (
            "serviceAccount",
            "authorizer_serviceaccount",
            "authorizer string string",
            "authorizer",
            service_account,
        ),
        (
            "resource",
            "groupcheck_resource",
            "groupCheck string",
            "resourceCheck",
            resource,
        ),
        (
            "subresource",
            "resourcecheck_subresource",
            "resourceCheck string",
            "resourceCheck",
            |args| refine(args, |resource, text| resource.subresource = text),
        ),
        (
            "namespace",
            "resourcecheck_namespace",
            "resourceCheck string",
            "resourceCheck",
            |args| refine(args, |resource, text| resource.namespace = text),
        ),
        (
            "name",
            "resourcecheck_name",
            "resourceCheck string",
            "resourceCheck",
            |args| refine(args, |resource, text| resource.name = text),
        ),
        (
            "fieldSelector",
            "authorizer_fieldselector",
            "resourceCheck string",
            "resourceCheck",
            |args| refine(args, |resource, text| resource.field_selector = text),
        ),
        (
            "labelSelector",
            "authorizer_labelselector",
            "resourceCheck string",
            "resourceCheck",
            |args| refine(args, |resource, text| resource.label_selector = text),
        ),
        (
            "check",
            "pathcheck_check",
            "pathCheck string",
            "decision",
            check,
        ),
        (
            "check",
            "resourcecheck_check",
            "resourceCheck string",
            "decision",
            check,
        ),
        (
            "errored",
            "decision_errored",
            "decision",
            "bool",
            |args| match args {
                [Value::Access(Access::Decision(decision))] => {
                    Ok(Value::Bool(decision.error.is_some()))
                }
                _ => no_such_overload(),
            },
        ),
        (
            "error",
            "decision_error",
            "decision",
            "string",
            |args| match args {
                [Value::Access(Access::Decision(decision))] => {
                    Ok(Value::text(decision.error.as_deref().unwrap_or_default()))
                }
                _ => no_such_overload(),
            },
        ),
        (
            "allowed",
            "decision_allowed",
            "decision",
            "bool",
            |args| match args {
                [Value::Access(Access::Decision(decision))] => Ok(Value::Bool(decision.allowed)),
                _ => no_such_overload(),
            },
        ),
        (
            "reason",
            "decision_reason",
            "decision",
            "string",
            |args| match args {
                [Value::Access(Access::Decision(decision))] => {
                    Ok(Value::text(decision.reason.as_str()))
                }
                _ => no_such_overload(),
            },
        ),
    ];
    for (name, id, params, result, implementation) in functions {
        r.member(name, id, params, result, implementation);
    }
}

fn path<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [
            Value::Access(Access::Authorizer(authorizer)),
            Value::String(path),
        ] => {
            if path.trim().is_empty() {
                return Err(EvalError::new("path must not be empty"));
            }
            let check = Access::PathCheck(authorizer.clone(), (**path).into());
            Ok(Value::Access(check))
        }
        _ => no_such_overload(),
    }
}

fn group<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [
            Value::Access(Access::Authorizer(authorizer)),
            Value::String(group),
        ] => {
            let check = Access::GroupCheck(authorizer.clone(), (**group).into());
            Ok(Value::Access(check))
        }
        _ => no_such_overload(),
    }
}

fn service_account<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [
        Value::Access(Access::Authorizer(authorizer)),
        Value::String(namespace),
        Value::String(name),
    ] = args
    else {
        return no_such_overload();
    };
    if !names::is_dns1123_subdomain(name).is_empty() {
        return Err(EvalError::new("Invalid service account name"));
    }
    if !names::is_dns1123_label(namespace).is_empty() {
        return Err(EvalError::new("Invalid service account namespace"));
    }
    let authorizer = authorizer.of_service_account(namespace, name);
    Ok(Value::Access(Access::Authorizer(authorizer)))
}

fn resource<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [
            Value::Access(Access::GroupCheck(authorizer, group)),
            Value::String(resource),
        ] => {
            if resource.trim().is_empty() {
                return Err(EvalError::new("resource must not be empty"));
            }
            let resource = AccessedResource {
                group: group.to_string(),
                resource: resource.to_string(),
                ..AccessedResource::default()
            };
            let check = Access::ResourceCheck(authorizer.clone(), Arc::new(resource));
            Ok(Value::Access(check))
        }
        _ => no_such_overload(),
    }
}

/// Returns a check of a resource with one more detail.
fn refine<'a>(args: &[Value<'a>], set: fn(&mut AccessedResource, String)) -> EvalResult<'a> {
    match args {
        [
            Value::Access(Access::ResourceCheck(authorizer, resource)),
            Value::String(text),
        ] => {
            let mut resource = AccessedResource::clone(resource);
            set(&mut resource, text.to_string());
            let check = Access::ResourceCheck(authorizer.clone(), Arc::new(resource));
            Ok(Value::Access(check))
        }
        _ => no_such_overload(),
    }
}

fn check<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (authorizer, target, verb) = match args {
        [
            Value::Access(Access::PathCheck(authorizer, path)),
            Value::String(verb),
        ] => (authorizer, AccessTarget::Path(path.clone()), verb),
        [
            Value::Access(Access::ResourceCheck(authorizer, resource)),
            Value::String(verb),
        ] => (authorizer, AccessTarget::Resource(resource.clone()), verb),
        _ => return no_such_overload(),
    };
    match authorizer.decide(verb, target) {
        Some(decision) => Ok(Value::Access(Access::Decision(decision))),
        None => Err(EvalError::Undecided),
    }
}
