//! Attributes: `a.b[c].?d`.
//!
//! A name or a value and the qualifiers after it are one node: only the last value matters, and what each step costs
//! depends on the steps before it.

use crate::cost::runtime::Meter;
use crate::value::{EvalError, EvalResult, Str, Value};

use super::Node;
use super::eval::{Machine, ended};

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) base: Base,
    pub(super) qualifiers: Vec<Qualifier>,
    /// `has(...)`: the last qualifier is only tested.
    pub(super) test: bool,
}

#[derive(Debug)]
pub(super) enum Base {
    /// A variable of the environment, and its name for messages.
    Variable(usize, String),
    /// A variable of a comprehension.
    Slot(usize),
    /// The value of any other expression.
    Value(Box<Node>),
    /// One of two attributes.
    Conditional(Box<(Node, Attribute, Attribute)>),
}

#[derive(Debug)]
pub(super) struct Qualifier {
    pub(super) key: Key,
    pub(super) optional: bool,
}

#[derive(Debug)]
pub(super) enum Key {
    /// A field: its identifier, and its property name in objects.
    Field(String, Option<String>),
    Constant(Value<'static>),
    /// Another attribute, which costs only its own qualifiers.
    Attribute(Attribute),
    Node(Node),
}

impl Attribute {
    /// The value, at the cost of an attribute.
    pub(super) fn eval<'a>(&'a self, machine: &mut Machine<'_, 'a>) -> EvalResult<'a> {
        let result = self.resolve(machine);
        if ended(&result) {
            return result;
        }
        if !matches!(self.base, Base::Conditional(_)) {
            machine.charge(1)?;
        }
        if self.test {
            machine.meter().refund(1);
            return result.map(|value| match value {
                Value::Optional(held) => Value::Bool(held.is_some()),
                value => value,
            });
        }
        result
    }

    /// The value, at the cost of its qualifiers.
    pub(super) fn resolve<'a>(&'a self, machine: &mut Machine<'_, 'a>) -> EvalResult<'a> {
        let value = match &self.base {
            Base::Variable(number, name) => machine.variable(*number, name)?,
            Base::Slot(slot) => machine.slot(*slot)?,
            Base::Value(node) => machine.run(node)?,
            Base::Conditional(parts) => {
                let (condition, yes, no) = &**parts;
                match machine.run(condition)? {
                    Value::Bool(true) => yes.resolve(machine)?,
                    Value::Bool(false) => no.resolve(machine)?,
                    _ => return Err(EvalError::NO_SUCH_OVERLOAD),
                }
            }
        };
        if self.qualifiers.is_empty() {
            return Ok(value);
        }
        self.qualify(value, machine)
    }

    fn qualify<'a>(&'a self, value: Value<'a>, machine: &mut Machine<'_, 'a>) -> EvalResult<'a> {
        let (mut value, mut optional) = match value {
            Value::Optional(None) => return Ok(Value::none()),
            Value::Optional(Some(held)) => ((*held).clone(), true),
            value => (value, false),
        };
        let last = self.qualifiers.len() - 1;
        for (at, qualifier) in self.qualifiers.iter().enumerate() {
            optional |= qualifier.optional;
            let test = self.test && at == last;
            let found = qualifier.find(&value, machine, optional || test);
            match found {
                Err(error) if error.ends_evaluation() => return Err(error),
                Err(error) => {
                    if !optional {
                        machine.charge(1)?;
                    }
                    return Err(error);
                }
                Ok(Some(next)) => {
                    machine.charge(1)?;
                    value = if test && !optional {
                        Value::Bool(true)
                    } else {
                        next
                    };
                }
                Ok(None) if optional => {
                    return Ok(Value::none());
                }
                Ok(None) => {
                    machine.charge(1)?;
                    value = Value::Bool(false);
                }
            }
        }
        match optional {
            true => Ok(Value::some(value)),
            false => Ok(value),
        }
    }
}

impl Qualifier {
    /// Returns the value of the qualifier; `None`, if `maybe`, when there is none.
    fn find<'a>(
        &'a self,
        value: &Value<'a>,
        machine: &mut Machine<'_, 'a>,
        maybe: bool,
    ) -> Result<Option<Value<'a>>, EvalError> {
        match &self.key {
            Key::Field(name, property) => match value {
                Value::Map(map) => match map.field(name, property.as_deref())? {
                    Some(found) => Ok(Some(found)),
                    None => missing_key(name, maybe),
                },
                Value::Variables => match machine.composed(name)? {
                    Some(found) => Ok(Some(found)),
                    None => missing_key(name, maybe),
                },
                Value::Message(message) if !message.is_json_patch() => match message.field(name) {
                    Some(found) => Ok(Some(found.clone())),
                    // A field that an object does not have is null, as in Kubernetes.
                    None => Ok((!maybe).then_some(Value::Null)),
                },
                value => index(value, &Value::String(Str::Borrowed(name)), maybe),
            },
            Key::Constant(key) => index(value, key, maybe),
            Key::Attribute(attribute) => {
                let key = attribute.resolve(machine)?;
                index(value, &key, maybe)
            }
            Key::Node(node) => {
                let key = machine.run(node)?;
                index(value, &key, maybe)
            }
        }
    }
}

fn missing_key<'a>(
    name: &dyn std::fmt::Display,
    maybe: bool,
) -> Result<Option<Value<'a>>, EvalError> {
    match maybe {
        true => Ok(None),
        false => Err(EvalError::new(format!("no such key: {name}"))),
    }
}

fn index<'a>(
    value: &Value<'a>,
    key: &Value<'_>,
    maybe: bool,
) -> Result<Option<Value<'a>>, EvalError> {
    match value {
        Value::Map(map) => match map.find(key)? {
            Some(found) => Ok(Some(found)),
            None => missing_key(key, maybe),
        },
        Value::List(list) => {
            let at = position(key)?;
            match usize::try_from(at).ok().and_then(|at| list.get(at)) {
                Some(found) => found.map(Some),
                None if maybe => Ok(None),
                None => Err(EvalError::new(format!("index out of bounds: {key}"))),
            }
        }
        _ => missing_key(key, maybe),
    }
}

/// A key as the index of a list.
fn position(key: &Value<'_>) -> Result<i64, EvalError> {
    match key {
        Value::Int(at) => Ok(*at),
        Value::Uint(at) if i64::try_from(*at).is_ok() => Ok(*at as i64),
        Value::Double(at) if at.fract() == 0.0 && at.abs() < 9e15 => Ok(*at as i64),
        Value::Double(at) => Err(EvalError::new(format!(
            "unsupported index value {} in list",
            kubewright_machinery::go::float(*at)
        ))),
        other => Err(EvalError::new(format!(
            "unsupported index type '{}' in list",
            other.type_name()
        ))),
    }
}

impl Machine<'_, '_> {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}
