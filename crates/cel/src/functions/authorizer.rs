//! Authorization checks: `authorizer.group('').resource('pods').check('create').allowed()`.
//!
//! The checker knows the functions in every environment, as in Kubernetes. Only admission expressions have a value to
//! call them on, and those are checked here and not yet run, so the functions have no implementation.

use super::Registry;

pub(super) fn declare(r: &mut Registry) {
    let functions = [
        ("path", "authorizer_path", "authorizer string", "pathCheck"),
        (
            "group",
            "authorizer_group",
            "authorizer string",
            "groupCheck",
        ),
        (
            "serviceAccount",
            "authorizer_serviceaccount",
            "authorizer string string",
            "authorizer",
        ),
        (
            "resource",
            "groupcheck_resource",
            "groupCheck string",
            "resourceCheck",
        ),
        (
            "subresource",
            "resourcecheck_subresource",
            "resourceCheck string",
            "resourceCheck",
        ),
        (
            "namespace",
            "resourcecheck_namespace",
            "resourceCheck string",
            "resourceCheck",
        ),
        (
            "name",
            "resourcecheck_name",
            "resourceCheck string",
            "resourceCheck",
        ),
        (
            "fieldSelector",
            "authorizer_fieldselector",
            "resourceCheck string",
            "resourceCheck",
        ),
        (
            "labelSelector",
            "authorizer_labelselector",
            "resourceCheck string",
            "resourceCheck",
        ),
        ("check", "pathcheck_check", "pathCheck string", "decision"),
        (
            "check",
            "resourcecheck_check",
            "resourceCheck string",
            "decision",
        ),
        ("errored", "decision_errored", "decision", "bool"),
        ("error", "decision_error", "decision", "string"),
        ("allowed", "decision_allowed", "decision", "bool"),
        ("reason", "decision_reason", "decision", "string"),
    ];
    for (name, id, params, result) in functions {
        r.member(name, id, params, result, None);
    }
}
