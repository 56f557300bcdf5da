//! Evaluates nodes.

use std::sync::Arc;

use crate::cost::runtime::{CallCost, Meter};
use crate::cost::{LIST_COST, MAP_COST, MESSAGE_COST};
use crate::value::map::Entries;
use crate::value::{EvalError, EvalResult, List, Map, Value, equality};

use super::composition::Composition;
use super::{Activation, Call, FieldInit, MapEntry, Message, Node};

/// The state of an evaluation.
pub(super) struct Machine<'m, 'a> {
    pub(super) activation: &'m Activation<'a>,
    /// The values of `variables`, if the expression has them.
    pub(super) composition: Option<&'m Composition<'a>>,
    pub(super) slots: Vec<Slot<'a>>,
    pub(super) meter: Meter,
}

/// A variable of a comprehension.
pub(super) enum Slot<'a> {
    Unset,
    Value(EvalResult<'a>),
    /// The initial value of an accumulator, which is computed at its first use.
    Lazy(&'a Node),
}

impl<'m, 'a> Machine<'m, 'a> {
    pub(super) fn new(
        activation: &'m Activation<'a>,
        composition: Option<&'m Composition<'a>>,
        slots: usize,
        meter: Meter,
    ) -> Self {
        let mut all = Vec::new();
        all.resize_with(slots, || Slot::Unset);
        Self {
            activation,
            composition,
            slots: all,
            meter,
        }
    }

    pub(super) fn cost(&self) -> u64 {
        self.meter.cost()
    }

    pub(super) fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.meter.charge(cost)
    }

    pub(super) fn run(&mut self, node: &'a Node) -> EvalResult<'a> {
        match node {
            Node::Constant(value) => Ok(constant(value)),
            Node::Attribute(attribute) => attribute.eval(self),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Equal {
                args,
                negated,
                cost,
            } => self.equal(args, *negated, *cost),
            Node::Call(call) => self.call(call),
            Node::InConstants(value, constants) => {
                let value = self.run(value)?;
                Ok(Value::Bool(constants.contains(&value)))
            }
            Node::Search {
                search,
                regex,
                args,
                cost,
            } => self.strict_call(args, *cost, |values| search.run(regex, values)),
            Node::NotStrictlyFalse(inner) => {
                let result = self.run(inner);
                self.charge(1)?;
                match result {
                    Ok(Value::Bool(b)) => Ok(Value::Bool(b)),
                    Err(error) if error.ends_evaluation() => Err(error),
                    _ => Ok(Value::Bool(true)),
                }
            }
            Node::OptionalOr { args, value } => {
                let [first, second] = &**args;
                match self.run(first)? {
                    Value::Optional(Some(held)) if *value => Ok((*held).clone()),
                    Value::Optional(None) => self.run(second),
                    other => Ok(other),
                }
            }
            Node::List { elements, optional } => {
                let result = self.list(elements, optional);
                self.finish(LIST_COST, result)
            }
            Node::Map(entries) => {
                let result = self.map(entries);
                self.finish(MAP_COST, result)
            }
            Node::Message { of, fields } => {
                let result = self.message(of, fields);
                self.finish(MESSAGE_COST, result)
            }
            Node::Fold(fold) => self.fold(fold),
            Node::Append {
                slot,
                element,
                list_cost,
            } => self.append(*slot, element, *list_cost),
            Node::Insert { slot, args } => self.insert(*slot, args),
        }
    }

    pub(super) fn variable(&self, number: usize, name: &str) -> EvalResult<'a> {
        match self.activation.values.get(number) {
            Some(Some(value)) => value.clone(),
            _ => Err(EvalError::new(format!("no such attribute(s): {name}"))),
        }
    }

    pub(super) fn slot(&mut self, slot: usize) -> EvalResult<'a> {
        match self.slots.get(slot) {
            Some(Slot::Value(value)) => value.clone(),
            Some(Slot::Lazy(init)) => {
                let init: &'a Node = init;
                let value = self.run(init);
                if ended(&value) {
                    return value;
                }
                self.set(slot, Slot::Value(value.clone()));
                value
            }
            _ => Err(EvalError::new("no such attribute(s)")),
        }
    }

    pub(super) fn set(&mut self, slot: usize, to: Slot<'a>) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = to;
        }
    }

    /// Charges for an attempt, and returns its result.
    pub(super) fn finish(&mut self, cost: u64, result: EvalResult<'a>) -> EvalResult<'a> {
        if ended(&result) {
            return result;
        }
        self.charge(cost)?;
        result
    }

    /// `&&` (or `||` if `or`): the first term that decides, or else the first error.
    fn logic(&mut self, terms: &'a [Node; 2], or: bool) -> EvalResult<'a> {
        let mut error = None;
        for term in terms {
            match self.run(term) {
                Ok(Value::Bool(b)) if b == or => return Ok(Value::Bool(or)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    error.get_or_insert(EvalError::NO_SUCH_OVERLOAD);
                }
                Err(failed) if failed.ends_evaluation() => return Err(failed),
                Err(failed) => {
                    error.get_or_insert(failed);
                }
            }
        }
        match error {
            Some(error) => Err(error),
            None => Ok(Value::Bool(!or)),
        }
    }

    fn equal(&mut self, args: &'a [Node; 2], negated: bool, cost: CallCost) -> EvalResult<'a> {
        let [left, right] = args;
        let left = self.run(left);
        if ended(&left) {
            return left;
        }
        let right = self.run(right);
        if ended(&right) {
            return right;
        }
        let result = match (&left, &right) {
            (Ok(left), Ok(right)) => match equality::equal(left, right) {
                Ok(same) => Ok(Value::Bool(same != negated)),
                // Values that cannot be compared are not equal.
                Err(_) if negated => Ok(Value::Bool(true)),
                Err(error) => Err(error),
            },
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
        };
        let cost = cost.count(&[left, right], &result);
        self.finish(cost, result)
    }

    fn call(&mut self, call: &'a Call) -> EvalResult<'a> {
        if call.stops_early {
            let run = |values: &[Value<'a>]| call.function.call(&call.overloads, values);
            return self.strict_call(&call.args, call.cost, run);
        }
        let mut args = [const { Ok(Value::Null) }; 2];
        for (place, arg) in args.iter_mut().zip(&call.args) {
            *place = self.run(arg);
            if ended(place) {
                return place.clone();
            }
        }
        let count = call.args.len().min(2);
        let known = !call.cost.needs_result();
        if known {
            let cost = call.cost.count(&args[..count], &Ok(Value::Null));
            self.charge(cost)?;
        }
        let result = match &args {
            [Err(error), _] => Err(error.clone()),
            [Ok(_), Err(error)] if count == 2 => Err(error.clone()),
            [Ok(first), Ok(second)] => {
                let values = [first.clone(), second.clone()];
                call.function.call(&call.overloads, &values[..count])
            }
            _ => Err(EvalError::NO_SUCH_OVERLOAD),
        };
        if known {
            return result;
        }
        let cost = call.cost.count(&args[..count], &result);
        self.finish(cost, result)
    }

    /// A call with an argument that is an error. It costs something only if that is the last one.
    fn strict_call(
        &mut self,
        args: &'a [Node],
        cost: CallCost,
        run: impl FnOnce(&[Value<'a>]) -> EvalResult<'a>,
    ) -> EvalResult<'a> {
        let mut values = Vec::with_capacity(args.len());
        let mut failed = None;
        for arg in args {
            match self.run(arg) {
                Ok(value) => values.push(value),
                Err(error) => {
                    if error.ends_evaluation() || values.len() + 1 < args.len() {
                        return Err(error);
                    }
                    failed = Some(error);
                }
            }
        }
        let mut args: Vec<EvalResult<'a>> = values.iter().cloned().map(Ok).collect();
        args.extend(failed.clone().map(Err));
        let known = !cost.needs_result();
        if known {
            self.charge(cost.count(&args, &Ok(Value::Null)))?;
        }
        let result = match failed {
            Some(error) => Err(error),
            None => run(&values),
        };
        if known {
            return result;
        }
        let cost = cost.count(&args, &result);
        self.finish(cost, result)
    }

    fn list(&mut self, elements: &'a [Node], optional: &'a [bool]) -> EvalResult<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            let value = self.run(element)?;
            if !optional.get(at).copied().unwrap_or(false) {
                values.push(value);
                continue;
            }
            match value {
                Value::Optional(Some(held)) => values.push((*held).clone()),
                Value::Optional(None) => {}
                other => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional list element from non-optional value {other}"
                    )));
                }
            }
        }
        Ok(Value::List(List::new(values)))
    }

    fn map(&mut self, entries: &'a [MapEntry]) -> EvalResult<'a> {
        let mut out = Entries::default();
        for entry in entries {
            let key = self.run(&entry.key)?;
            let value = self.run(&entry.value)?;
            if !entry.optional {
                out.insert(key, value);
                continue;
            }
            match value {
                Value::Optional(Some(held)) => out.insert(key, (*held).clone()),
                Value::Optional(None) => out.remove(&key),
                other => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional entry '{key}' from non-optional value {other}"
                    )));
                }
            }
        }
        Ok(Value::Map(Map::Values(Arc::new(out))))
    }

    fn message(&mut self, of: &'a Arc<str>, inits: &'a [FieldInit]) -> EvalResult<'a> {
        let mut fields = Vec::with_capacity(inits.len());
        for init in inits {
            let value = self.run(&init.value)?;
            if !init.optional {
                fields.push((init.name.clone(), value));
                continue;
            }
            match value {
                Value::Optional(Some(held)) => fields.push((init.name.clone(), (*held).clone())),
                Value::Optional(None) => {}
                other => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional entry '{}' from non-optional value {other}",
                        init.name
                    )));
                }
            }
        }
        Ok(Value::Message(Arc::new(Message {
            of: of.clone(),
            fields,
        })))
    }
}

/// Reports whether an evaluation is over, regardless of the rest of the expression.
pub(super) fn ended(result: &EvalResult<'_>) -> bool {
    result.as_ref().is_err_and(EvalError::ends_evaluation)
}

/// A constant, borrowed from the program.
fn constant<'a>(value: &'a Value<'static>) -> Value<'a> {
    match value {
        Value::String(text) => Value::String(text.reborrow()),
        Value::List(List::Values(values, _)) => Value::List(List::Constant(values)),
        Value::Map(Map::Values(entries)) => Value::Map(Map::Constant(entries)),
        Value::Bool(b) => Value::Bool(*b),
        Value::Int(i) => Value::Int(*i),
        other => other.clone(),
    }
}
