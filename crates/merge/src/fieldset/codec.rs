//! `FieldsV1`: sets as JSON.
//!
//! Each path element is an object key: `f:name`, `k:{"name":"a"}`, `v:"value"`, `i:3`. An empty object means that the
//! path is a member; `.` marks a member that also has members below it. Elements of an unknown kind are left out
//! together with everything below them, since a later version may know them.

use super::{FieldSet, KeyField, Node, PathElement};
use kubewright_machinery::{
    go::{self, JsonStyle},
    limits::VALUE_DEPTH,
};

use serde_json::{Map, Number, Value};
use std::fmt::Write;

/// A text or value that is not `FieldsV1`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON.
    #[error("{0}")]
    Syntax(String),
    /// A value that must be an object is of another type.
    #[error("expect {{ or n, but found {0}")]
    NotAnObject(String),
    /// A key is not a path element.
    #[error("parsing key as path element: {0}")]
    Element(String),
    /// The value nests too deep.
    #[error("exceeded max depth")]
    TooDeep,
}

impl FieldSet {
    /// Reads `FieldsV1` text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not `FieldsV1`.
    ///
    /// ```
    /// use kubewright_merge::fieldset::FieldSet;
    ///
    /// let set = FieldSet::from_json(r#"{"f:spec":{"f:replicas":{}}}"#)?;
    /// assert_eq!(set.to_json(), r#"{"f:spec":{"f:replicas":{}}}"#);
    /// # Ok::<(), kubewright_merge::fieldset::DecodeError>(())
    /// ```
    pub fn from_json(text: &str) -> Result<FieldSet, DecodeError> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| DecodeError::Syntax(e.to_string()))?;
        FieldSet::from_value(&value)
    }

    /// Reads `FieldsV1` that is already parsed.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not `FieldsV1`.
    pub fn from_value(value: &Value) -> Result<FieldSet, DecodeError> {
        Ok(read(value, 0)?.0)
    }

    /// Writes `FieldsV1` text, byte for byte as Kubernetes orders it: fields by name, then keys, values and indices.
    pub fn write_json(&self, out: &mut String) {
        out.push('{');
        let mut element = String::new();
        self.write_nodes(out, &mut element, true);
        out.push('}');
    }

    /// Returns `FieldsV1` text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Returns `FieldsV1` as a value; its maps have the order of [`Map`].
    pub fn to_value(&self) -> Value {
        Value::Object(self.to_map())
    }

    fn to_map(&self) -> Map<String, Value> {
        let entry = |node: &Node| {
            let mut below = node
                .below
                .as_ref()
                .map(|below| below.to_map())
                .unwrap_or_default();
            if node.member && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            (element_text(&node.element), Value::Object(below))
        };
        self.nodes.iter().map(entry).collect()
    }

    fn write_nodes(&self, out: &mut String, element: &mut String, mut first: bool) {
        for node in &self.nodes {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            element.clear();
            write_element(element, &node.element);
            JsonStyle::IteratorKey.write_string(out, element);
            out.push_str(":{");
            if let Some(below) = &node.below {
                if node.member {
                    out.push_str("\".\":{}");
                }
                below.write_nodes(out, element, !node.member);
            }
            out.push('}');
        }
    }
}

/// The set below a node, and whether the node itself is a member.
fn read(value: &Value, depth: usize) -> Result<(FieldSet, bool), DecodeError> {
    if depth > VALUE_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Ok((FieldSet::new(), true)),
        other => return Err(DecodeError::NotAnObject(first_char(other))),
    };
    let mut set = FieldSet::new();
    let mut member = false;
    for (key, value) in fields {
        if key == "." {
            member = true;
        } else if let Some(element) = read_element(key)? {
            let (below, below_member) = read(value, depth + 1)?;
            set.push(element, below_member, below);
        }
    }
    member |= set.is_empty();
    Ok((set, member))
}

fn first_char(value: &Value) -> String {
    value
        .to_string()
        .chars()
        .next()
        .map(String::from)
        .unwrap_or_default()
}

/// An element, or none if its kind is not known.
fn read_element(key: &str) -> Result<Option<PathElement>, DecodeError> {
    let malformed = |why: String| DecodeError::Element(why);
    let (Some(kind), Some(separator)) = (key.as_bytes().first(), key.as_bytes().get(1)) else {
        return Err(malformed("key must be 2 characters long:".into()));
    };
    let Some(content) = key.get(2..).filter(|_| *separator == b':') else {
        return Err(malformed(format!("missing colon: {key}")));
    };
    let json = || {
        let value: Value =
            serde_json::from_str(content).map_err(|e| DecodeError::Element(e.to_string()))?;
        Ok(value)
    };
    Ok(Some(match kind {
        b'f' => PathElement::field(content),
        b'v' => PathElement::value(as_floats(json()?)),
        b'k' => {
            let fields = match json()? {
                Value::Object(fields) => fields,
                Value::Null => Map::new(),
                other => {
                    return Err(malformed(format!(
                        "expect {{ or n, but found {}",
                        first_char(&other)
                    )));
                }
            };
            let fields = fields.into_iter().map(|(name, value)| KeyField {
                name: name.into(),
                value: as_floats(value),
            });
            let mut fields: Vec<_> = fields.collect();
            fields.sort_by(|a, b| a.name.cmp(&b.name));
            PathElement::Key(fields.into())
        }
        b'i' => {
            let digits = content.strip_prefix(['+', '-']).unwrap_or(content);
            let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            match content.parse().ok().filter(|_| valid) {
                Some(index) => PathElement::Index(index),
                None => {
                    let quoted = go::quote(content);
                    let why = if valid {
                        "value out of range"
                    } else {
                        "invalid syntax"
                    };
                    return Err(malformed(format!("strconv.Atoi: parsing {quoted}: {why}")));
                }
            }
        }
        _ => return Ok(None),
    }))
}

/// Converts numbers to floats, as they are when they are read back; large integers lose their last digits.
fn as_floats(value: Value) -> Value {
    match value {
        Value::Number(n) => {
            let exact = n.as_i64().is_some_and(|i| i.unsigned_abs() <= 1 << 53);
            let float = n.as_f64().and_then(Number::from_f64);
            Value::Number(if exact { n } else { float.unwrap_or(n) })
        }
        Value::Array(items) => items.into_iter().map(as_floats).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, as_floats(field)))
            .collect(),
        other => other,
    }
}

/// An element as an object key.
fn element_text(element: &PathElement) -> String {
    let mut out = match element {
        PathElement::FieldName(name) => String::with_capacity(name.len() + 2),
        _ => String::with_capacity(32),
    };
    write_element(&mut out, element);
    out
}

pub(super) fn write_element(out: &mut String, element: &PathElement) {
    match element {
        PathElement::FieldName(name) => {
            out.push_str("f:");
            out.push_str(name);
        }
        PathElement::Key(fields) => {
            out.push_str("k:{");
            for (i, field) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                JsonStyle::IteratorKey.write_string(out, &field.name);
                out.push(':');
                JsonStyle::Iterator.write(out, &field.value);
            }
            out.push('}');
        }
        PathElement::Value(value) => {
            out.push_str("v:");
            JsonStyle::Iterator.write(out, value);
        }
        PathElement::Index(index) => _ = write!(out, "i:{index}"),
    }
}
