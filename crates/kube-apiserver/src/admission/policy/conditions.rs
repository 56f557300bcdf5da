//! Match conditions: expressions that must all be true for a policy to be evaluated.

use kubewright_cel::{AdmissionEnv, AdmissionInput, NamedProgram, Type, Value};
use kubewright_machinery::{go, json::Read};
use serde_json::Value as Json;

use super::expression::{Evaluator, Expression, OUT_OF_BUDGET, Stop};

/// The budget of all conditions of a policy.
const BUDGET: u64 = 2_500_000;

/// The match conditions of a policy.
#[derive(Debug)]
pub(crate) struct Conditions(Vec<Expression>);

/// The outcome of match conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    Yes,
    No,
    /// A condition failed and none is false.
    Failed(String),
}

impl Conditions {
    /// Compiles the list `matchConditions`.
    pub(crate) fn compile(env: &AdmissionEnv, list: &Json) -> Self {
        let conditions = list.items().iter();
        let compile = |condition: &Json| {
            Expression::compile(env, condition["expression"].text(), &[Type::Bool])
        };
        Self(conditions.map(compile).collect())
    }

    /// Reports whether a condition uses a variable, by its number in [`AdmissionInput`].
    pub(crate) fn uses(&self, variable: usize) -> bool {
        self.0.iter().any(|condition| condition.uses(variable))
    }

    /// Evaluates the conditions. They do not see the namespace, and `request.resource` is that of the request itself, although
    /// the objects and `request.kind` are those of the version that was matched.
    pub(crate) fn evaluate<'a>(
        &'a self,
        input: &AdmissionInput<'a>,
        variables: &'a [NamedProgram],
    ) -> Result<Matched, Stop> {
        if self.0.is_empty() {
            return Ok(Matched::Yes);
        }
        let own = input.request.and_then(with_own_resource);
        let input = AdmissionInput {
            namespace_object: None,
            request: own.as_ref().or(input.request),
            ..*input
        };
        let mut evaluator = Evaluator::new(&input, variables, BUDGET);
        let (mut errors, mut holds) = (Vec::new(), true);
        for condition in &self.0 {
            match evaluator.evaluate(condition) {
                Ok(Ok(Value::Bool(false))) => holds = false,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => errors.push(error),
                Err(Stop::OutOfBudget) => return Ok(Matched::Failed(OUT_OF_BUDGET.to_owned())),
                Err(Stop::Undecided) => return Err(Stop::Undecided),
            }
        }
        Ok(match (holds, errors.is_empty()) {
            (false, _) => Matched::No,
            (true, true) => Matched::Yes,
            (true, false) => Matched::Failed(go::aggregate(errors)),
        })
    }
}

/// Returns a request with its own resource in place of the equivalent one that was matched, if they differ.
fn with_own_resource(request: &Json) -> Option<Json> {
    let own = &request["requestResource"];
    (request["resource"] != *own).then(|| {
        let mut request = request.clone();
        request["resource"] = own.clone();
        request
    })
}
