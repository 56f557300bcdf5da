//! The evaluation of a policy over one request and one parameter.

use std::time::{Duration, Instant};

use kubewright_cel::{AdmissionInput, Value, limits};

use super::compiled::{Validation, Validator};
use crate::admission::policy::{
    conditions::Matched,
    expression::{Evaluator, OUT_OF_BUDGET, Stop},
};

/// The budget of validations with their messages, and that of audit annotations.
const BUDGET: u64 = limits::RUNTIME_COST_BUDGET.unsigned_abs();

/// The longest value of an audit annotation, in bytes.
const MAX_ANNOTATION_BYTES: usize = 10 * 1024;

/// The outcome of an evaluation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) denials: Vec<Denial>,
    /// The errors that are passed over.
    pub(super) ignored: Vec<Error>,
    pub(super) annotations: Vec<Annotation>,
}

/// A validation that failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// The position of the validation.
    pub(super) index: usize,
    pub(super) message: String,
    /// The reason of the response, or empty for an error.
    pub(super) reason: String,
    pub(super) took: Duration,
}

/// An error, and the time after which it was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) message: String,
    pub(super) took: Duration,
}

/// An audit annotation, or the error that denies the request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Annotation {
    Publish { key: String, value: String },
    Failed(Error),
}

/// The end of an evaluation that has to wait for an authorization check.
#[derive(Debug)]
pub(super) struct Undecided;

impl Outcome {
    /// Returns the outcome of an error that concerns the policy as a whole.
    fn failed(message: impl Into<String>, fails: bool) -> Self {
        let mut outcome = Self::default();
        outcome.add_error(0, message.into(), Duration::ZERO, fails);
        outcome
    }

    /// Adds the error of a validation, which denies the request if `fails`.
    fn add_error(&mut self, index: usize, message: String, took: Duration, fails: bool) {
        match fails {
            true => self.denials.push(Denial {
                index,
                message,
                reason: String::new(),
                took,
            }),
            false => self.ignored.push(Error { message, took }),
        }
    }
}

/// Evaluates a policy. Errors deny the request if `fails`.
pub(super) fn evaluate(
    validator: &Validator,
    input: &AdmissionInput<'_>,
    fails: bool,
) -> Result<Outcome, Undecided> {
    match run(validator, input, fails) {
        Ok(outcome) => Ok(outcome),
        Err(Stop::OutOfBudget) => Ok(Outcome::failed(OUT_OF_BUDGET, fails)),
        Err(Stop::Undecided) => Err(Undecided),
    }
}

fn run(validator: &Validator, input: &AdmissionInput<'_>, fails: bool) -> Result<Outcome, Stop> {
    match validator.conditions.evaluate(input, &validator.variables)? {
        Matched::Yes => {}
        Matched::No => return Ok(Outcome::default()),
        Matched::Failed(error) => return Ok(Outcome::failed(error, fails)),
    }
    let mut evaluator = Evaluator::new(input, &validator.variables, BUDGET);
    let mut results = Vec::with_capacity(validator.validations.len());
    for validation in &validator.validations {
        let began = Instant::now();
        let result = evaluator.evaluate(&validation.expression)?;
        let result = result.map(|value| value.as_bool() == Some(true));
        results.push((result, began.elapsed()));
    }
    // Messages and annotations have no authorizer.
    let input = AdmissionInput {
        decisions: None,
        ..*input
    };
    let messages = messages(validator, &input, evaluator.budget());
    let mut outcome = Outcome::default();
    let results = validator.validations.iter().zip(results);
    for (index, (validation, (result, took))) in results.enumerate() {
        let denial = match (result, &messages) {
            (Err(error), _) => Err(error),
            (Ok(_), Err(stop)) => Err(format!("failed messageExpression: {stop}")),
            (Ok(true), Ok(_)) => continue,
            (Ok(false), Ok(messages)) => Ok(messages.get(index)),
        };
        match denial {
            Ok(message) => outcome.denials.push(Denial {
                index,
                message: message_of(validation, message.and_then(Option::as_deref)),
                reason: match validation.reason.as_str() {
                    "" => "Invalid".to_owned(),
                    reason => reason.to_owned(),
                },
                took,
            }),
            Err(message) => outcome.add_error(index, message, took, fails),
        }
    }
    outcome.annotations = annotations(validator, &input, fails)?;
    Ok(outcome)
}

/// Evaluates the message expressions of all validations with the budget that is left.
fn messages(
    validator: &Validator,
    input: &AdmissionInput<'_>,
    budget: u64,
) -> Result<Vec<Option<String>>, &'static str> {
    let validations = validator.validations.iter();
    if validations.clone().all(|v| v.message_expression.is_none()) {
        return Ok(Vec::new());
    }
    let mut evaluator = Evaluator::new(input, &validator.variables, budget);
    validations
        .map(|validation| match &validation.message_expression {
            None => Ok(None),
            Some(expression) => match evaluator.evaluate(expression) {
                Ok(Ok(value)) => Ok(value.as_str().map(str::to_owned)),
                Ok(Err(_)) => Ok(None),
                Err(_) => Err(OUT_OF_BUDGET),
            },
        })
        .collect()
}

fn message_of(validation: &Validation, evaluated: Option<&str>) -> String {
    let evaluated = evaluated
        .map(str::trim)
        .filter(|message| message.len() <= limits::MAX_MESSAGE_BYTES && !message.contains('\n'));
    match (evaluated.unwrap_or_default(), validation.message.as_str()) {
        ("", "") => format!("failed expression: {}", validation.expression.text().trim()),
        ("", message) | (message, _) => message.to_owned(),
    }
}

fn annotations(
    validator: &Validator,
    input: &AdmissionInput<'_>,
    fails: bool,
) -> Result<Vec<Annotation>, Stop> {
    let mut out = Vec::new();
    if validator.annotations.is_empty() {
        return Ok(out);
    }
    let mut evaluator = Evaluator::new(input, &validator.variables, BUDGET);
    for annotation in &validator.annotations {
        let began = Instant::now();
        match evaluator.evaluate(&annotation.value)? {
            Ok(Value::String(value)) if value.trim().is_empty() => {}
            Ok(Value::String(value)) => out.push(Annotation::Publish {
                key: annotation.key.clone(),
                value: cut(value.trim()).to_owned(),
            }),
            // The type is checked: this is null.
            Ok(_) => {}
            Err(message) if fails => {
                let took = began.elapsed();
                out.push(Annotation::Failed(Error { message, took }));
            }
            Err(_) => {}
        }
    }
    Ok(out)
}

/// Cuts a value that is too long, at the end of a character.
fn cut(value: &str) -> &str {
    let ends = (0..=MAX_ANNOTATION_BYTES.min(value.len())).rev();
    ends.filter_map(|end| value.get(..end))
        .next()
        .unwrap_or(value)
}
