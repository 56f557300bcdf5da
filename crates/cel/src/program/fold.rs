//! Evaluates comprehensions.

use std::sync::Arc;

use crate::access::Access;
use crate::functions::operators::insert_into;
use crate::value::{EvalError, EvalResult, List, Map, Value};

use super::eval::{Machine, Slot};
use super::{Fold, Node};

impl<'a> Machine<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> EvalResult<'a> {
        self.set(fold.accu_slot, Slot::Lazy(&fold.init));
        let range = self.run(&fold.range)?;
        self.iterate(fold, &range)?;
        self.run(&fold.result)
    }

    fn iterate(&mut self, fold: &'a Fold, range: &Value<'a>) -> Result<(), EvalError> {
        match (range, fold.iter_slot2) {
            (Value::List(list), None) => {
                for item in list.iter() {
                    self.set(fold.iter_slot, Slot::Value(item));
                    if !self.step(fold)? {
                        break;
                    }
                }
            }
            (Value::List(list), Some(second)) => {
                for (at, item) in list.iter().enumerate() {
                    let index = Ok(Value::Int(at as i64));
                    self.set(fold.iter_slot, Slot::Value(index));
                    self.set(second, Slot::Value(item));
                    if !self.step(fold)? {
                        break;
                    }
                }
            }
            (Value::Map(map), second) => {
                for (key, value) in map.iter() {
                    self.set(fold.iter_slot, Slot::Value(Ok(key)));
                    if let Some(second) = second {
                        self.set(second, Slot::Value(value));
                    }
                    if !self.step(fold)? {
                        break;
                    }
                }
            }
            (other, None) => {
                return Err(EvalError::new(format!(
                    "got '{}', expected iterable type",
                    go_type(other)
                )));
            }
            (other, Some(_)) => {
                return Err(EvalError::new(format!(
                    "unsupported comprehension range type: {}",
                    go_type(other)
                )));
            }
        }
        Ok(())
    }

    /// Runs one iteration; returns whether there is another.
    fn step(&mut self, fold: &'a Fold) -> Result<bool, EvalError> {
        match self.run(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(error) if error.ends_evaluation() => return Err(error),
            _ => {}
        }
        // Nodes that work in place have updated the accumulator already.
        match self.run(&fold.step) {
            Err(error) if error.ends_evaluation() => Err(error),
            Ok(Value::Type(crate::types::Type::Error)) => Ok(true),
            result => {
                self.set(fold.accu_slot, Slot::Value(result));
                Ok(true)
            }
        }
    }

    /// `accumulator + [element]`: costs the name, the list and the addition.
    pub(super) fn append(
        &mut self,
        slot: usize,
        element: &'a Node,
        list_cost: u64,
    ) -> EvalResult<'a> {
        let so_far = self.begin(slot);
        self.charge(1)?;
        let value = match self.run(element) {
            Err(error) if error.ends_evaluation() => return Err(error),
            value => value,
        };
        self.charge(list_cost + 1)?;
        let value = so_far.and(value);
        match value {
            Err(error) => Err(error),
            Ok(value) => {
                if let Some(Slot::Value(Ok(Value::List(list)))) = self.slots.get_mut(slot) {
                    push(list, value);
                }
                Ok(UNCHANGED)
            }
        }
    }

    /// `cel.@mapInsert(accumulator, ...)`: costs the name and the call.
    pub(super) fn insert(&mut self, slot: usize, args: &'a [Node]) -> EvalResult<'a> {
        let so_far = self.begin(slot);
        self.charge(1)?;
        let early = args.len() > 1;
        if early {
            so_far.clone()?;
        }
        let mut values = Vec::with_capacity(args.len());
        let mut failed = so_far.err();
        for arg in args {
            match self.run(arg) {
                Ok(value) => values.push(value),
                Err(error) if error.ends_evaluation() => return Err(error),
                Err(error) => {
                    if early && values.len() + 1 < args.len() {
                        return Err(error);
                    }
                    failed.get_or_insert(error);
                }
            }
        }
        self.charge(1)?;
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(Slot::Value(Ok(Value::Map(map)))) = self.slots.get_mut(slot) {
            if !matches!(map, Map::Values(_)) {
                *map = Map::Values(Arc::default());
            }
            if let Map::Values(entries) = map {
                insert_into(Arc::make_mut(entries), &values)?;
            }
        }
        Ok(UNCHANGED)
    }

    /// Ensures that the accumulator has a value; returns whether it is an error.
    fn begin(&mut self, slot: usize) -> Result<(), EvalError> {
        match self.slots.get(slot) {
            Some(Slot::Value(Ok(_))) => Ok(()),
            Some(Slot::Value(Err(error))) => Err(error.clone()),
            _ => self.slot(slot).map(|_| ()),
        }
    }
}

/// The value of a node that has changed the accumulator in place. No expression has this value.
const UNCHANGED: Value<'static> = Value::Type(crate::types::Type::Error);

fn push<'a>(list: &mut List<'a>, value: Value<'a>) {
    if !matches!(list, List::Values(_, None)) {
        *list = List::new(Vec::new());
    }
    if let List::Values(values, _) = list {
        Arc::make_mut(values).push(value);
    }
}

/// Returns the name of a value's type in the reference implementation.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::Quantity(_) => "cel.Quantity",
        Value::Url(_) => "cel.URL",
        Value::Ip(_) => "cel.IP",
        Value::Cidr(..) => "cel.CIDR",
        Value::Semver(_) => "cel.Semver",
        Value::Format(_) => "cel.Format",
        Value::Preserved(_) => "*common.unknownPreserved",
        Value::List(_) => "types.List",
        Value::Map(_) => "types.Map",
        Value::Access(Access::Authorizer(_)) => "library.authorizerVal",
        Value::Access(Access::PathCheck(..)) => "library.pathCheckVal",
        Value::Access(Access::GroupCheck(..)) => "library.groupCheckVal",
        Value::Access(Access::ResourceCheck(..)) => "library.resourceCheckVal",
        Value::Access(Access::Decision(_)) => "library.decisionVal",
        Value::Message(message) if message.is_json_patch() => "*mutation.JSONPatchVal",
        Value::Message(_) => "*dynamic.ObjectVal",
        Value::Variables => "*lazy.MapValue",
    }
}
