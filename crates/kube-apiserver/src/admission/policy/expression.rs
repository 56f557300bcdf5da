//! [`Expression`]: an expression of a policy, compiled; [`Evaluator`]: its evaluation within a budget.

use kubewright_cel::{
    Activation, AdmissionEnv, AdmissionInput, Composition, EvalError, NamedProgram, Program, Type,
    Value,
};
use kubewright_machinery::json::Read;
use serde_json::Value as Json;

/// The message of an evaluation that costs more than the budget.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    /// The program, or the reason why there is none.
    program: Result<Program, String>,
}

/// Evaluates the expressions of one list over one request. Variables are evaluated at most once.
pub(crate) struct Evaluator<'a> {
    activation: Activation<'a>,
    composition: Composition<'a>,
    budget: u64,
}

/// The reason why no further expression can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The budget is spent.
    OutOfBudget,
    /// An authorization check has to be decided first.
    Undecided,
}

impl Expression {
    /// Compiles an expression that must be of one of some types.
    pub(crate) fn compile(env: &AdmissionEnv, text: &str, returns: &[Type]) -> Self {
        Self {
            text: text.to_owned(),
            program: env.compile(text, returns).map_err(|e| e.to_string()),
        }
    }

    /// Returns the expression as it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the reason why the expression has no program.
    pub(crate) fn compile_error(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// Reports whether the expression uses a variable, by its number in [`AdmissionInput`].
    pub(crate) fn uses(&self, variable: usize) -> bool {
        self.program.as_ref().is_ok_and(|p| p.uses(variable))
    }
}

impl<'a> Evaluator<'a> {
    /// Begins with a budget that all evaluations share.
    pub(crate) fn new(
        input: &AdmissionInput<'a>,
        variables: &'a [NamedProgram],
        budget: u64,
    ) -> Self {
        Self {
            activation: input.activation(),
            composition: Composition::new(variables),
            budget,
        }
    }

    /// Returns the budget that is left.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    /// Evaluates an expression. Returns its value, or the message of its error.
    pub(crate) fn evaluate(
        &mut self,
        expression: &'a Expression,
    ) -> Result<Result<Value<'a>, String>, Stop> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(error) => return Ok(Err(format!("compilation error: {error}"))),
        };
        let evaluation = program.evaluate_composed(&self.activation, &self.composition);
        if matches!(evaluation.result, Err(EvalError::Undecided)) {
            return Err(Stop::Undecided);
        }
        let cost = self.composition.take_cost().saturating_add(evaluation.cost);
        self.budget = self.budget.checked_sub(cost).ok_or(Stop::OutOfBudget)?;
        Ok(evaluation.result.map_err(|error| {
            let text = &expression.text;
            format!("expression '{text}' resulted in error: {error}")
        }))
    }
}

/// Compiles the variables of a policy, and declares them for the expressions that follow.
pub(crate) fn compile_variables(env: &mut AdmissionEnv, variables: &Json) -> Vec<NamedProgram> {
    let variables = variables.items().iter();
    variables
        .map(|variable| {
            let name = variable["name"].text();
            NamedProgram::new(name, env.add_variable(name, variable["expression"].text()))
        })
        .collect()
}
