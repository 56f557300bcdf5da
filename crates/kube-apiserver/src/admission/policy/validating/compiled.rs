//! [`Validator`]: the expressions of a policy, compiled.

use kubewright_cel::{AdmissionEnv, NamedProgram, Type};
use kubewright_machinery::json::Read;
use serde_json::Value;

use crate::admission::policy::{
    conditions::Conditions,
    expression::{Expression, compile_variables},
};

/// The expressions of a policy.
#[derive(Debug)]
pub(crate) struct Validator {
    pub(super) variables: Vec<NamedProgram>,
    pub(super) conditions: Conditions,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<AuditAnnotation>,
}

/// An entry of `validations`.
#[derive(Debug)]
pub(super) struct Validation {
    pub(super) expression: Expression,
    pub(super) message_expression: Option<Expression>,
    pub(super) message: String,
    /// The reason of the response, or empty.
    pub(super) reason: String,
}

/// An entry of `auditAnnotations`.
#[derive(Debug)]
pub(super) struct AuditAnnotation {
    pub(super) key: String,
    pub(super) value: Expression,
}

impl Validator {
    /// Compiles the spec of a policy. An expression that does not compile fails when it is evaluated.
    pub(crate) fn compile(spec: &Value) -> Self {
        let mut env = AdmissionEnv::new().authorizer().variables();
        if spec["paramKind"].is_set() {
            env = env.params();
        }
        let variables = compile_variables(&mut env, &spec["variables"]);
        let without_authorizer = env.without_authorizer();
        let validations = spec["validations"].items().iter();
        let validation = |validation: &Value| {
            let message = validation["messageExpression"].text();
            Validation {
                expression: Expression::compile(
                    &env,
                    validation["expression"].text(),
                    &[Type::Bool],
                ),
                message_expression: (!message.is_empty())
                    .then(|| Expression::compile(&without_authorizer, message, &[Type::String])),
                message: validation["message"].text().trim().to_owned(),
                reason: validation["reason"].text().to_owned(),
            }
        };
        let annotations = spec["auditAnnotations"].items().iter();
        let annotation = |annotation: &Value| {
            let value = annotation["valueExpression"].text();
            AuditAnnotation {
                key: annotation["key"].text().to_owned(),
                value: Expression::compile(&env, value, &[Type::String, Type::Null]),
            }
        };
        Self {
            conditions: Conditions::compile(&env, &spec["matchConditions"]),
            validations: validations.map(validation).collect(),
            annotations: annotations.map(annotation).collect(),
            variables,
        }
    }

    /// Reports whether an expression uses a variable, by its number in `AdmissionInput`.
    pub(super) fn uses(&self, variable: usize) -> bool {
        let programs = self
            .variables
            .iter()
            .filter_map(|v| v.program.as_ref().ok());
        let validations = self.validations.iter();
        let messages = validations
            .clone()
            .filter_map(|v| v.message_expression.as_ref());
        let mut expressions = validations
            .map(|v| &v.expression)
            .chain(messages)
            .chain(self.annotations.iter().map(|a| &a.value));
        programs.into_iter().any(|program| program.uses(variable))
            || self.conditions.uses(variable)
            || expressions.any(|expression| expression.uses(variable))
    }
}
