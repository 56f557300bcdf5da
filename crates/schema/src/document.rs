//! Parsed documents, before types are known.
//!
//! [`Node`] keeps what the text said: the order of keys, keys that occur twice, numbers as they were written. Both
//! notations ([`parse_json`](crate::json::parse_json), [`parse_yaml`](crate::yaml::parse_yaml)) end here, and every
//! decoder starts here.
//!
//! Invariant: nothing nests deeper than [`DOCUMENT_DEPTH`], so walking, converting and dropping a tree never exhausts a
//! thread's stack, in debug builds too.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::typed::TypeError;

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(Cow<'a, str>),
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Node<'a>>),
    /// An object, in the order of the text, with every occurrence of a repeated key.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// Returns the kind of this value in the words of Go's decoder: `string`, `number`.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "bool",
            Node::Number(_) => "number",
            Node::String(_) => "string",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
        }
    }

    /// The last value of a key, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        match self {
            Node::Object(entries) => entries.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text, where this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Node::String(s) => Some(s),
            _ => None,
        }
    }

    /// Takes a value apart into a node. Strings are moved, not copied.
    ///
    /// # Errors
    ///
    /// Returns an error if the value nests too deep.
    pub fn from_value(value: Value) -> Result<Node<'static>, TypeError> {
        from_value(value, 0)
    }

    /// The plain value: of repeated keys the last wins, integers that fit 64 bits (signed or not) stay integers, every
    /// other number is a float.
    ///
    /// # Errors
    ///
    /// Returns an error if a number does not fit a float.
    pub fn into_value(self) -> Result<Value, TypeError> {
        Ok(match self {
            Node::Null => Value::Null,
            Node::Bool(b) => Value::Bool(b),
            Node::Number(text) => Value::Number(raw_number(&text)?),
            Node::String(s) => Value::String(s.into_owned()),
            Node::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(Node::into_value)
                    .collect::<Result<_, _>>()?,
            ),
            Node::Object(entries) => {
                let mut map = Map::new();
                for (key, node) in entries {
                    map.insert(key.into_owned(), node.into_value()?);
                }
                Value::Object(map)
            }
        })
    }
}

/// A number as it was written, as far as 64 bits can hold it.
fn raw_number(text: &str) -> Result<Number, TypeError> {
    match text.parse::<u64>() {
        Ok(uint) => Ok(Number::from(uint)),
        Err(_) => match text.parse::<i64>() {
            Ok(int) => Ok(Number::from(int)),
            Err(_) => float(text),
        },
    }
}

/// A number as untyped decoding leaves it: an integer literal that fits 64 bits is an integer, everything else is a
/// float, `2.0` too.
pub(crate) fn untyped_number(text: &str) -> Result<Number, TypeError> {
    match text.parse::<i64>() {
        Ok(int) => Ok(Number::from(int)),
        Err(_) => float(text),
    }
}

/// The integer a float is, if Go would print it as one that reads back.
pub(crate) fn integral(float: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    (float.fract() == 0.0 && float.abs() < LIMIT).then_some(float as i64)
}

fn float(text: &str) -> Result<Number, TypeError> {
    text.parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .ok_or_else(|| {
            TypeError::new(format!(
                "json: cannot unmarshal number {text} into Go value of type float64"
            ))
        })
}

fn from_value(value: Value, depth: usize) -> Result<Node<'static>, TypeError> {
    if depth > DOCUMENT_DEPTH {
        return Err(TypeError::too_deep());
    }
    Ok(match value {
        Value::Null => Node::Null,
        Value::Bool(b) => Node::Bool(b),
        Value::Number(n) => Node::Number(Cow::Owned(n.to_string())),
        Value::String(s) => Node::String(Cow::Owned(s)),
        Value::Array(items) => Node::Array(
            items
                .into_iter()
                .map(|item| from_value(item, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(map) => Node::Object(
            map.into_iter()
                .map(|(k, v)| Ok((Cow::Owned(k), from_value(v, depth + 1)?)))
                .collect::<Result<_, TypeError>>()?,
        ),
    })
}
