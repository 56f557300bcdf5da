//! Evaluates the rules of one node on one value.

use kubewright_machinery::{
    field::{self, ErrorList, FieldError, Path},
    limits::{MAX_ERROR_BYTES, MAX_FIELD_ERRORS},
};
use serde_json::Value as Json;

use crate::limits::{MAX_MESSAGE_BYTES, PER_CALL_LIMIT};
use crate::program::{Activation, Program};
use crate::schema::{Schema, SchemaKind};
use crate::value::EvalError;

use super::correlation::Ratchet;
use super::{CompiledRule, Reason, Rule};

/// The remaining budget, and the findings.
pub(super) struct Run {
    pub(super) budget: i64,
    pub(super) errors: ErrorList,
    pub(super) warnings: Vec<String>,
    /// The bytes of both.
    pub(super) reported: usize,
}

/// The reason to stop.
pub(super) struct Stop;

/// The failure of a message expression.
enum NoMessage {
    /// The message of the rule is used.
    Default,
    /// The error is reported, and evaluation stops.
    Stop(String),
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

impl Run {
    /// Evaluates rules on a value. `path` is called only for errors.
    pub(super) fn rules(
        &mut self,
        rules: &[(Rule, CompiledRule)],
        schema: &Schema,
        new: &Json,
        old: Option<&Json>,
        ratchet: &Ratchet<'_>,
        path: &dyn Fn() -> Path,
    ) -> Result<(), Stop> {
        if rules.is_empty() {
            return Ok(());
        }
        let of = schema.kind.name();
        if self.budget <= 0 {
            self.push(field::invalid_str(&path(), of, OUT_OF_BUDGET));
            return Err(Stop);
        }
        let uses_old = rules.iter().any(|(_, compiled)| compiled.uses_old_self);
        let values = || Activation::new().json(new, Some(schema));
        let plain = match old.filter(|_| uses_old) {
            Some(old) => values().json(old, Some(schema)),
            None => values().absent(),
        };
        let optional = match uses_old {
            true => Some(values().optional_json(old, Some(schema))),
            false => None,
        };
        for (rule, compiled) in rules {
            if let Some(error) = &compiled.error {
                let detail = format!("rule compile error: {error}");
                self.push(field::invalid_str(&path(), of, detail));
                continue;
            }
            let Some(program) = &compiled.program else {
                continue;
            };
            let wants_optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !wants_optional {
                continue;
            }
            let activation = match &optional {
                Some(optional) if wants_optional => optional,
                _ => &plain,
            };
            match self.holds(program, rule, activation, of, path)? {
                true => {}
                false => self.failed(rule, compiled, schema, new, &plain, ratchet, path)?,
            }
        }
        Ok(())
    }

    /// Reports whether a rule holds, or its failure was reported already.
    fn holds(
        &mut self,
        program: &Program,
        rule: &Rule,
        activation: &Activation<'_>,
        of: &str,
        path: &dyn Fn() -> Path,
    ) -> Result<bool, Stop> {
        let evaluation = program.evaluate_within(activation, self.call_limit());
        if !self.spend(evaluation.cost) {
            self.push(field::invalid_str(&path(), of, OUT_OF_BUDGET));
            return Err(Stop);
        }
        let detail = match &evaluation.result {
            Ok(value) => return Ok(value.as_bool() == Some(true)),
            Err(error @ EvalError::CostLimitExceeded) => {
                let detail = format!(
                    "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    rule.shown()
                );
                self.push(field::invalid_str(&path(), of, detail));
                return Err(Stop);
            }
            Err(EvalError::Failed(error)) if error.starts_with("no such overload") => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                rule.shown()
            ),
            Err(error) => format!("{error} evaluating rule: {}", rule.shown()),
        };
        self.push(field::invalid_str(&path(), of, detail));
        Ok(true)
    }

    #[allow(clippy::too_many_arguments)]
    fn failed(
        &mut self,
        rule: &Rule,
        compiled: &CompiledRule,
        schema: &Schema,
        new: &Json,
        activation: &Activation<'_>,
        ratchet: &Ratchet<'_>,
        path: &dyn Fn() -> Path,
    ) -> Result<(), Stop> {
        let at = match compiled.field_path.as_deref() {
            Some(below) if !below.is_empty() => path().child(below),
            _ => path(),
        };
        let forgiven = !compiled.uses_old_self && ratchet.is_unchanged();
        let detail = match &compiled.message {
            None => Err(NoMessage::Default),
            Some(program) => self.message(program, &rule.message_expression, activation),
        };
        let detail = match detail {
            Ok(message) => message,
            Err(NoMessage::Default) => rule.message_or_default(),
            Err(NoMessage::Stop(why)) => {
                let error = field::invalid_str(&at, schema.kind.name(), why);
                self.report(error, forgiven);
                return Err(Stop);
            }
        };
        let omitted = matches!(schema.kind, SchemaKind::Object | SchemaKind::Array);
        let error = match rule.reason {
            Some(Reason::Forbidden) => field::forbidden(&at, detail),
            Some(Reason::Required) => field::required(&at, detail),
            Some(Reason::Duplicate) => field::duplicate(&at, new),
            Some(Reason::Invalid) | None => field::invalid(&at, new, detail),
        };
        let value = error.value.clone().filter(|_| !omitted);
        self.report(FieldError { value, ..error }, forgiven);
        Ok(())
    }

    fn message(
        &mut self,
        program: &Program,
        expression: &str,
        activation: &Activation<'_>,
    ) -> Result<String, NoMessage> {
        let evaluation = program.evaluate_within(activation, self.call_limit());
        if i64::try_from(evaluation.cost).map_or(true, |cost| cost > self.budget) {
            return Err(NoMessage::Stop(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".into(),
            ));
        }
        let value = match evaluation.result {
            Err(EvalError::CostLimitExceeded) => {
                return Err(NoMessage::Stop(format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                    kubewright_machinery::go::quote(expression)
                )));
            }
            other => other,
        };
        self.spend(evaluation.cost);
        let message = value.as_ref().ok().and_then(|value| value.as_str());
        let message = message.map(str::trim).unwrap_or("");
        if message.is_empty() || message.len() > MAX_MESSAGE_BYTES || message.contains('\n') {
            return Err(NoMessage::Default);
        }
        Ok(message.to_owned())
    }

    fn report(&mut self, error: FieldError, forgiven: bool) {
        match forgiven {
            false => self.push(error),
            true if self.takes(&error) => self.warnings.push(error.to_string()),
            true => {}
        }
    }

    /// Adds an error, unless the maximum number of reported errors is reached.
    pub(super) fn push(&mut self, error: FieldError) {
        if self.takes(&error) || self.errors.is_empty() {
            self.errors.push(error);
        }
    }

    fn takes(&mut self, error: &FieldError) -> bool {
        let count = self.errors.len() + self.warnings.len();
        let takes = count < MAX_FIELD_ERRORS && self.reported < MAX_ERROR_BYTES;
        if takes {
            self.reported = self.reported.saturating_add(error.size());
        }
        takes
    }

    /// Returns the cost at which an evaluation ends: nothing is computed that the budget does not allow.
    fn call_limit(&self) -> u64 {
        u64::try_from(self.budget).unwrap_or(0).min(PER_CALL_LIMIT)
    }

    /// Deducts a cost from the budget, if it suffices.
    fn spend(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.budget => {
                self.budget -= cost;
                true
            }
            _ => false,
        }
    }
}
