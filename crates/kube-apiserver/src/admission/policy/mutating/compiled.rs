//! [`Mutator`]: the expressions of a policy, compiled, and the patches that they evaluate to.

use kubewright_cel::{AdmissionEnv, AdmissionInput, NamedProgram, Type, Value, limits};
use kubewright_machinery::json::Read;
use serde_json::{Map, Value as Json};

use crate::admission::policy::{
    conditions::Conditions,
    expression::{Evaluator, Expression, OUT_OF_BUDGET, Stop, compile_variables},
};

/// The expressions of a policy.
#[derive(Debug)]
pub(crate) struct Mutator {
    pub(super) variables: Vec<NamedProgram>,
    pub(super) conditions: Conditions,
    pub(super) mutations: Vec<Mutation>,
    /// Whether the policy runs again if the object was changed after it.
    pub(super) is_reinvocable: bool,
}

/// An entry of `mutations`.
#[derive(Debug)]
pub(super) enum Mutation {
    ApplyConfiguration(Expression),
    JsonPatch(Expression),
}

/// The change that a mutation evaluated to.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    /// A configuration that is merged into the object.
    Configuration(Json),
    /// The operations of a JSON patch.
    Operations(Json),
}

impl Mutator {
    /// Compiles the spec of a policy. An expression that does not compile fails when it is evaluated.
    pub(crate) fn compile(spec: &Json) -> Self {
        let mut env = AdmissionEnv::new().authorizer().variables();
        if spec["paramKind"].is_set() {
            env = env.params();
        }
        let variables = compile_variables(&mut env, &spec["variables"]);
        let conditions = Conditions::compile(&env, &spec["matchConditions"]);
        let env = env.patch_types();
        let mutations = spec["mutations"].items().iter();
        let mutation = |mutation: &Json| {
            let text = |field: &str| mutation[field]["expression"].text();
            match mutation["patchType"].text() {
                "JSONPatch" => {
                    let patch = Type::list(Type::object("JSONPatch"));
                    let expression = Expression::compile(&env, text("jsonPatch"), &[patch]);
                    Mutation::JsonPatch(expression)
                }
                _ => {
                    let text = text("applyConfiguration");
                    let expression = Expression::compile(&env, text, &[Type::object("Object")]);
                    Mutation::ApplyConfiguration(expression)
                }
            }
        };
        Self {
            mutations: mutations.map(mutation).collect(),
            is_reinvocable: spec["reinvocationPolicy"].text() == "IfNeeded",
            variables,
            conditions,
        }
    }

    /// Reports whether an expression uses a variable, by its number in [`AdmissionInput`].
    pub(super) fn uses(&self, variable: usize) -> bool {
        let mut programs = self
            .variables
            .iter()
            .filter_map(|v| v.program.as_ref().ok());
        programs.any(|program| program.uses(variable))
            || self.conditions.uses(variable)
            || self.mutations.iter().any(|m| m.expression().uses(variable))
    }
}

impl Mutation {
    fn expression(&self) -> &Expression {
        match self {
            Self::ApplyConfiguration(expression) | Self::JsonPatch(expression) => expression,
        }
    }

    /// Evaluates the mutation. Variables are evaluated again, since the object may have changed.
    pub(super) fn evaluate<'a>(
        &'a self,
        input: &AdmissionInput<'a>,
        variables: &'a [NamedProgram],
    ) -> Result<Result<Change, String>, Stop> {
        let expression = self.expression();
        if let Some(error) = expression.compile_error() {
            return Ok(Err(error.to_owned()));
        }
        let budget = limits::RUNTIME_COST_BUDGET.unsigned_abs();
        let mut evaluator = Evaluator::new(input, variables, budget);
        let value = match evaluator.evaluate(expression) {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => return Ok(Err(error)),
            Err(Stop::OutOfBudget) => return Ok(Err(OUT_OF_BUDGET.to_owned())),
            Err(Stop::Undecided) => return Err(Stop::Undecided),
        };
        Ok(match self {
            Self::ApplyConfiguration(_) => configuration(&value),
            Self::JsonPatch(_) => operations(&value),
        })
    }
}

fn configuration(value: &Value<'_>) -> Result<Change, String> {
    check_type_names(value)?;
    let config = value.to_json();
    // The reason is not part of the message, as in Kubernetes.
    let config = config.map_err(|_| "invalid return type: *dynamic.ObjectVal".to_owned())?;
    Ok(Change::Configuration(config))
}

fn operations(value: &Value<'_>) -> Result<Change, String> {
    let Value::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut out = Vec::with_capacity(list.len());
    for operation in list.iter() {
        let Ok(Value::Message(operation)) = operation else {
            let text =
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch";
            return Err(text.to_owned());
        };
        let text = |name: &str| operation.field(name).and_then(Value::as_str).unwrap_or("");
        let mut fields = Map::new();
        fields.insert("op".into(), text("op").into());
        fields.insert("path".into(), text("path").into());
        if !text("from").is_empty() {
            fields.insert("from".into(), text("from").into());
        }
        if let Some(value) = operation.field("value") {
            check_type_names(value)?;
            let value = value.to_json().map_err(|error| {
                format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}")
            })?;
            fields.insert("value".into(), value);
        }
        out.push(Json::Object(fields));
    }
    Ok(Change::Operations(out.into()))
}

/// Checks that objects are named after the fields that they are the values of.
fn check_type_names(value: &Value<'_>) -> Result<(), String> {
    match value {
        Value::Message(message) => {
            let checked = message.check_type_names();
            checked.map_err(|error| format!("type mismatch: {error}"))
        }
        _ => Ok(()),
    }
}
