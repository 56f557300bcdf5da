//! The warnings about the expressions of a policy, worded as by kube-controller-manager.

use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicySpec;
use kubewright_cel::{DeclType, TypeChecker};
use kubewright_machinery::gvk::GroupVersionKind;
use serde_json::{Value, json};

/// A kind with the type of its objects, or `None` for any.
pub(super) type Typed = (GroupVersionKind, Option<Arc<DeclType>>);

/// Returns an `ExpressionWarning` for each expression of a validation that does not check for one of the kinds.
pub(super) fn warnings(
    spec: &ValidatingAdmissionPolicySpec,
    kinds: &[Typed],
    params: Option<&Typed>,
) -> Vec<Value> {
    let checkers = kinds
        .iter()
        .map(|kind| (&kind.0, checker(spec, kind, params)));
    let checkers: Vec<(&GroupVersionKind, TypeChecker)> = checkers.collect();
    let mut warnings = Vec::new();
    for (index, validation) in spec.validations.iter().flatten().enumerate() {
        let message = validation.message_expression.as_deref().unwrap_or_default();
        for (field, expression) in [
            ("expression", validation.expression.as_str()),
            ("messageExpression", message),
        ] {
            if field == "messageExpression" && expression.is_empty() {
                continue;
            }
            let issues = checkers.iter().filter_map(|(kind, checker)| {
                let issues = checker.check(expression).err()?;
                Some(format!("{kind}: {issues}\n"))
            });
            let issues: Vec<String> = issues.collect();
            if !issues.is_empty() {
                warnings.push(json!({
                    "fieldRef": format!("spec.validations[{index}].{field}"),
                    "warning": issues.join("\n"),
                }));
            }
        }
    }
    warnings
}

fn checker(
    spec: &ValidatingAdmissionPolicySpec,
    (kind, of): &Typed,
    params: Option<&Typed>,
) -> TypeChecker {
    // The names of types end with a number, since objects and parameters may be of one kind.
    let mut checker = TypeChecker::new();
    if let Some(of) = of {
        checker = checker.object(&format!("{}0", kind.kind), of);
    }
    checker = match params {
        Some((kind, Some(of))) => checker.params_of(&format!("{}1", kind.kind), of),
        Some((_, None)) => checker.params(),
        None => checker,
    };
    for variable in spec.variables.iter().flatten() {
        checker.add_variable(&variable.name, &variable.expression);
    }
    checker
}
