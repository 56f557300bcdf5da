//! Decodes leaves: values without fields or items of a known type.

use std::borrow::Cow;

use kubewright_catalog::types::Type;
use kubewright_machinery::{go::base64, quantity::Quantity, time::Layout};
use serde_json::{Number, Value};

use super::{
    Decoder, TypeError,
    path::{Path, go_type_name},
    zero,
};
use crate::{
    document::{Node, integral},
    recode,
    untyped::normalize_untyped,
};

impl Decoder {
    /// Decodes a leaf, or notes that the value is of another kind than the type.
    pub(super) fn scalar(
        &mut self,
        node: Node<'_>,
        ty: &'static Type,
        path: &Path<'_>,
        previous: Option<Value>,
    ) -> Result<Value, TypeError> {
        let value = match (ty, node) {
            (Type::Time, Node::Null) | (Type::MicroTime, Node::Null) => Value::Null,
            (Type::Duration, Node::Null) => duration_text("")?,
            (Type::IntOrString, Node::Null) => match previous {
                Some(Value::Number(n)) => Value::Number(n),
                _ => Value::from(0),
            },
            (ty, Node::Null) => previous.unwrap_or_else(|| zero::of(ty)),

            (Type::String(_), Node::String(text)) => Value::String(text.into_owned()),
            (Type::Bool, Node::Bool(b)) => Value::Bool(b),
            (Type::Int32, Node::Number(text)) => self.integer::<i32>(&text, "int32", path),
            (Type::Int64, Node::Number(text)) => self.integer::<i64>(&text, "int64", path),
            (Type::Uint32, Node::Number(text)) => self.integer::<u32>(&text, "uint32", path),
            (Type::Float64, Node::Number(text)) => self.float(&text, path),
            (Type::Bytes, Node::String(text)) => self.bytes(&text),
            (Type::Bytes, Node::Array(nodes)) => self.byte_list(nodes, path),

            (Type::IntOrString, Node::String(text)) => Value::String(text.into_owned()),
            (Type::IntOrString, Node::Number(text)) => match text.parse::<i32>() {
                Ok(int) => Value::from(int),
                Err(_) => return Err(path.mismatch(&format!("number {text}"), "int32")),
            },
            (Type::IntOrString, other) => return Err(path.mismatch(other.kind(), "int32")),

            (Type::Quantity, node) => quantity(&node)?,
            (Type::Time, Node::String(text)) => moment(&text, Layout::Rfc3339)?,
            (Type::MicroTime, Node::String(text)) => moment(&text, Layout::Micro)?,
            (Type::Duration, Node::String(text)) => duration_text(&text)?,
            (Type::Time | Type::MicroTime | Type::Duration, other) => {
                return Err(path.mismatch(other.kind(), "string"));
            }

            (Type::RawExtension | Type::FieldsV1, node) => node.into_value()?,
            // Decoded and printed again on the way to the store.
            (Type::Json, node) => {
                let mut value = node.into_value()?;
                normalize_untyped(&mut value);
                value
            }

            (ty, other) => {
                self.mismatch(other.kind(), &go_type_name(ty), path);
                Value::Null
            }
        };
        Ok(value)
    }

    fn integer<T>(&mut self, text: &str, name: &str, path: &Path<'_>) -> Value
    where
        T: std::str::FromStr,
        Value: From<T>,
    {
        match text.parse::<T>() {
            Ok(int) => Value::from(int),
            Err(_) => {
                self.mismatch(&format!("number {text}"), name, path);
                Value::Null
            }
        }
    }

    fn float(&mut self, text: &str, path: &Path<'_>) -> Value {
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() => float_value(float),
            _ => {
                self.mismatch(&format!("number {text}"), "float64", path);
                Value::Null
            }
        }
    }

    fn bytes(&mut self, text: &str) -> Value {
        match base64::recode(text) {
            Ok(text) => Value::String(text),
            Err(error) => {
                if self.mismatch.is_none() {
                    self.mismatch = Some(TypeError::new(error.to_string()));
                }
                Value::Null
            }
        }
    }

    /// Decodes an array of small numbers, which Go takes for bytes too.
    fn byte_list(&mut self, nodes: Vec<Node<'_>>, path: &Path<'_>) -> Value {
        let mut bytes = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Null => bytes.push(0),
                Node::Number(text) => match text.parse::<u8>() {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => self.mismatch(&format!("number {text}"), "uint8", path),
                },
                other => self.mismatch(other.kind(), "uint8", path),
            }
        }
        Value::String(base64::encode(&bytes))
    }
}

/// Converts a float to a value that prints as in Go: without a fraction if it is whole.
fn float_value(float: f64) -> Value {
    match integral(float) {
        Some(int) => Value::from(int),
        None => Number::from_f64(float).map_or(Value::Null, Value::Number),
    }
}

fn quantity(node: &Node<'_>) -> Result<Value, TypeError> {
    let text = match node {
        Node::String(text) | Node::Number(text) => text.clone(),
        // No quantity looks like what Go would try here, the JSON text.
        _ => Cow::Borrowed("{}"),
    };
    match Quantity::parse(text.trim()) {
        Ok(quantity) => Ok(Value::String(quantity.to_string())),
        Err(error) => Err(TypeError::new(error.to_string())),
    }
}

fn moment(text: &str, layout: Layout) -> Result<Value, TypeError> {
    match recode::time(text, layout) {
        Ok(Some(text)) => Ok(Value::String(text)),
        Ok(None) => Ok(Value::Null),
        Err(message) => Err(TypeError::new(message)),
    }
}

fn duration_text(text: &str) -> Result<Value, TypeError> {
    recode::duration(text)
        .map(Value::String)
        .map_err(TypeError::new)
}
