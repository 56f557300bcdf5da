//! Decodes by the shape of a type, as the Go server does with its structs.
//!
//! A document goes in as a [`Node`] and comes out as the value that Go would print after decoding it: unknown fields
//! gone (and reported), types enforced, zero values left out or written in full as the type says, quantities, times,
//! durations and bytes in their canonical text.
//!
//! [`normalize_typed`] also gives values the form that they have after a round trip through storage: built-in kinds are
//! stored as protobuf, which has no empty lists and maps, so these are `null` where they are written at all. Kinds that
//! are stored as JSON keep them, and so does [`decode_typed`], because the sender of an empty list owns it.
//!
//! It applies neither defaults nor validation.
//!
//! Invariants: decoding what was decoded changes nothing; the first error is the one the real server reports. Types
//! with a custom decoder in Go (quantities, times) stop decoding at once, and so take precedence over mismatches
//! noticed
//! earlier.

mod canonical;
mod embedded;
mod path;
mod scalar;
mod zero;

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use std::{borrow::Cow, fmt};

use kubewright_catalog::types::{Field, StructType, Type};
use serde_json::{Map, Value};

use crate::{
    document::Node,
    problems::{Problem, Problems},
};
use path::{Path, Step};

/// A decoded object.
///
/// ```
/// use kubewright_schema::{Typed, decode_typed, parse_json};
///
/// let config_map = kubewright_catalog::resource("", "v1", "configmaps").expect("built in").ty;
/// let text = br#"{"metadata":{"name":"a"},"data":{"x":"y"},"typo":1}"#;
/// let Typed { value, problems } = decode_typed(parse_json(text)?, config_map)?;
/// assert_eq!(value["data"]["x"], "y");
/// assert!(value.get("typo").is_none());
/// assert_eq!(problems.unknown().collect::<Vec<_>>(), ["typo"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Typed {
    /// The value as Go would print it.
    pub value: Value,
    /// The problems that a strict decoder rejects.
    pub problems: Problems,
}

/// A value that does not fit its type. `Display` is Go's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    message: String,
}

/// Decodes a document into a type.
///
/// # Errors
///
/// Returns an error if a value is of another type than its field.
pub fn decode_typed(node: Node<'_>, ty: &'static StructType) -> Result<Typed, TypeError> {
    let mut decoder = Decoder::new(ty, true);
    let value = decoder.root(node, ty)?;
    Ok(Typed {
        value,
        problems: decoder.problems,
    })
}

/// Decodes a value that was changed in memory, by a patch say. Equal to printing it and decoding the text.
///
/// # Errors
///
/// Returns an error if a value is of another type than its field.
///
/// ```
/// use kubewright_schema::normalize_typed;
/// use serde_json::json;
///
/// let config_map = kubewright_catalog::resource("", "v1", "configmaps").expect("built in").ty;
/// let object = json!({"metadata": {"name": "a", "labels": {}}, "data": {}, "immutable": null});
/// assert_eq!(
///     normalize_typed(object, config_map)?,
///     json!({"metadata": {"name": "a"}})
/// );
/// # Ok::<(), kubewright_schema::TypeError>(())
/// ```
pub fn normalize_typed(value: Value, ty: &'static StructType) -> Result<Value, TypeError> {
    let (mut value, mut decoder) = (value, Decoder::new(ty, false));
    if canonical::settle(&mut value, ty, decoder.keep_empty) {
        return Ok(value);
    }
    decoder.root(Node::from_value(value)?, ty)
}

impl TypeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        TypeError {
            message: message.into(),
        }
    }

    pub(crate) fn too_deep() -> Self {
        TypeError::new("exceeded max depth")
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TypeError {}

static STRING: Type = Type::String("string");

struct Decoder {
    problems: Problems,
    /// `true` to report problems. Off for values that come from memory and inside types that Go decodes separately.
    strict: bool,
    /// `true` to keep empty lists and maps apart from absent ones.
    keep_empty: bool,
    /// The first mismatch. It is reported at the end, unless something stops decoding before.
    mismatch: Option<TypeError>,
}

impl Decoder {
    fn new(ty: &StructType, strict: bool) -> Self {
        let stored_as_json = ["io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator."];
        Decoder {
            problems: Problems::default(),
            strict,
            keep_empty: strict || stored_as_json.iter().any(|p| ty.openapi.starts_with(p)),
            mismatch: None,
        }
    }

    fn root(&mut self, node: Node<'_>, ty: &'static StructType) -> Result<Value, TypeError> {
        let root = Path::root();
        let value = match node {
            Node::Object(entries) => self.structure(entries, ty, &root, Map::new())?,
            Node::Null => zero::of_struct(ty),
            other => {
                self.mismatch(other.kind(), &path::go_struct_name(ty), &root);
                Value::Null
            }
        };
        match self.mismatch.take() {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }

    /// Decodes one value. `previous` is what an earlier occurrence of the same key left behind: Go decodes over it.
    fn value(
        &mut self,
        node: Node<'_>,
        ty: &'static Type,
        path: &Path<'_>,
        previous: Option<Value>,
    ) -> Result<Value, TypeError> {
        if path.depth > DOCUMENT_DEPTH {
            return Err(TypeError::too_deep());
        }
        match (ty, node) {
            (Type::Optional(_), Node::Null) => Ok(Value::Null),
            (Type::Optional(inner), node) => {
                let previous = previous.filter(|v| !v.is_null());
                self.value(node, inner, path, previous)
            }
            (Type::List(_) | Type::Map(_) | Type::Bytes | Type::StringsMessage(_), Node::Null) => {
                Ok(Value::Null)
            }
            (Type::Struct(ty), Node::Object(entries)) => {
                let previous = match previous {
                    Some(Value::Object(map)) => map,
                    _ => Map::new(),
                };
                self.structure(entries, ty, path, previous)
            }
            (Type::List(item), Node::Array(nodes)) => self.list(nodes, item, path, previous),
            (Type::StringsMessage(_), Node::Array(nodes)) => {
                self.list(nodes, &STRING, path, previous)
            }
            (Type::Map(item), Node::Object(entries)) => self.map(entries, item, path, previous),
            (Type::SchemaOrBool(schema), node) => self.schema_or_bool(node, schema, path),
            (Type::SchemaOrArray(schema), node) => self.schema_or_array(node, schema, path),
            (Type::SchemaOrStrings(schema), node) => self.schema_or_strings(node, schema, path),
            (ty, node) => self.scalar(node, ty, path, previous),
        }
    }

    fn structure(
        &mut self,
        entries: Vec<(Cow<'_, str>, Node<'_>)>,
        ty: &'static StructType,
        path: &Path<'_>,
        mut map: Map<String, Value>,
    ) -> Result<Value, TypeError> {
        // Decoded over an earlier occurrence of the whole struct.
        let over = !map.is_empty();
        let mut seen = Seen::default();
        let mut hint = 0;
        for (key, node) in entries {
            let Some((index, field)) = find(ty, &key, hint) else {
                self.report(Problem::Unknown, path, &key);
                continue;
            };
            hint = index + 1;
            let again = !seen.insert(index);
            if again {
                self.report(Problem::Duplicate, path, field.json);
            }
            let previous = if again || over {
                map.remove(field.json)
            } else {
                None
            };
            let path = path.push(Step::Field(ty, field.json));
            let value = self.value(node, &field.ty, &path, previous)?;
            if !zero::omitted(field, &value) {
                map.insert(field.json.to_owned(), value);
            }
        }
        for (index, field) in ty.fields.iter().enumerate() {
            if zero::written_when_absent(field)
                && !seen.contains(index)
                && !(over && map.contains_key(field.json))
            {
                map.insert(field.json.to_owned(), zero::of(&field.ty));
            }
        }
        Ok(Value::Object(map))
    }

    fn list(
        &mut self,
        nodes: Vec<Node<'_>>,
        item: &'static Type,
        path: &Path<'_>,
        previous: Option<Value>,
    ) -> Result<Value, TypeError> {
        if nodes.is_empty() && !self.keep_empty {
            return Ok(Value::Null);
        }
        let mut previous = match previous {
            Some(Value::Array(items)) => items.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut items = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.into_iter().enumerate() {
            let path = path.push(Step::Index(index));
            items.push(self.value(node, item, &path, previous.next())?);
        }
        Ok(Value::Array(items))
    }

    fn map(
        &mut self,
        entries: Vec<(Cow<'_, str>, Node<'_>)>,
        item: &'static Type,
        path: &Path<'_>,
        previous: Option<Value>,
    ) -> Result<Value, TypeError> {
        let mut map = Map::new();
        for (key, node) in entries {
            if self.strict && map.contains_key(key.as_ref()) {
                self.report(Problem::Duplicate, path, &key);
            }
            let value = {
                let path = path.push(Step::Key(&key));
                self.value(node, item, &path, None)?
            };
            map.insert(key.into_owned(), value);
        }
        if let Some(Value::Object(mut merged)) = previous {
            merged.append(&mut map);
            map = merged;
        }
        if map.is_empty() && !self.keep_empty {
            return Ok(Value::Null);
        }
        Ok(Value::Object(map))
    }

    fn schema_or_bool(
        &mut self,
        node: Node<'_>,
        schema: &'static StructType,
        path: &Path<'_>,
    ) -> Result<Value, TypeError> {
        match node {
            Node::Bool(allowed) => Ok(Value::Bool(allowed)),
            Node::Object(entries) => {
                self.apart(|d| d.structure(entries, schema, &path.push(Step::Apart), Map::new()))
            }
            _ => Err(TypeError::new("boolean or JSON schema expected")),
        }
    }

    fn schema_or_array(
        &mut self,
        node: Node<'_>,
        schema: &'static StructType,
        path: &Path<'_>,
    ) -> Result<Value, TypeError> {
        let apart = path.push(Step::Apart);
        match node {
            Node::Object(entries) => {
                self.apart(|d| d.structure(entries, schema, &apart, Map::new()))
            }
            Node::Array(nodes) if !nodes.is_empty() => self.apart(|d| {
                let mut items = Vec::with_capacity(nodes.len());
                for node in nodes {
                    items.push(match node {
                        Node::Object(entries) => {
                            d.structure(entries, schema, &apart, Map::new())?
                        }
                        Node::Null => zero::of_struct(schema),
                        other => {
                            d.mismatch(other.kind(), &path::go_struct_name(schema), &apart);
                            Value::Null
                        }
                    });
                }
                Ok(Value::Array(items))
            }),
            _ => Ok(Value::Null),
        }
    }

    fn schema_or_strings(
        &mut self,
        node: Node<'_>,
        schema: &'static StructType,
        path: &Path<'_>,
    ) -> Result<Value, TypeError> {
        let apart = path.push(Step::Apart);
        match node {
            Node::Object(entries) => {
                self.apart(|d| d.structure(entries, schema, &apart, Map::new()))
            }
            Node::Array(nodes) if !nodes.is_empty() => {
                self.apart(|d| d.list(nodes, &STRING, &apart, None))
            }
            _ => Ok(Value::Null),
        }
    }

    /// Decodes a type that has a custom decoder in Go: problems are not reported, and a mismatch inside stops decoding
    /// out here.
    fn apart(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<Value, TypeError>,
    ) -> Result<Value, TypeError> {
        let strict = std::mem::replace(&mut self.strict, false);
        let outer = self.mismatch.take();
        let value = decode(self);
        self.strict = strict;
        let inner = std::mem::replace(&mut self.mismatch, outer);
        match (value, inner) {
            (Err(error), _) | (Ok(_), Some(error)) => Err(error),
            (Ok(value), None) => Ok(value),
        }
    }

    fn report(&mut self, problem: fn(String) -> Problem, path: &Path<'_>, key: &str) {
        if self.strict {
            self.problems.push(problem(path.strict(key)));
        }
    }

    fn mismatch(&mut self, given: &str, wanted: &str, path: &Path<'_>) {
        if self.mismatch.is_none() {
            self.mismatch = Some(path.mismatch(given, wanted));
        }
    }
}

/// The fields of a struct that have occurred.
#[derive(Default)]
struct Seen {
    first: u128,
    rest: Vec<usize>,
}

impl Seen {
    /// Adds a field; returns `false` if it was there already.
    fn insert(&mut self, index: usize) -> bool {
        if self.contains(index) {
            return false;
        }
        match 1u128.checked_shl(index as u32) {
            Some(bit) => self.first |= bit,
            None => self.rest.push(index),
        }
        true
    }

    fn contains(&self, index: usize) -> bool {
        match 1u128.checked_shl(index as u32) {
            Some(bit) => self.first & bit != 0,
            None => self.rest.contains(&index),
        }
    }
}

/// Finds a field, looking first where the field after the last one is: objects tend to come in declaration order.
fn find(ty: &'static StructType, key: &str, hint: usize) -> Option<(usize, &'static Field)> {
    let fields = ty.fields;
    let (before, after) = fields.split_at(hint.min(fields.len()));
    after
        .iter()
        .position(|f| f.json == key)
        .map(|i| i + before.len())
        .or_else(|| before.iter().position(|f| f.json == key))
        .and_then(|index| fields.get(index).map(|field| (index, field)))
}

#[cfg(test)]
mod tests;
