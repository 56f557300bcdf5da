//! Maps and objects.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::escape::{escape, unescape};
use crate::schema::Schema;

use super::json::from_json;
use super::{EvalError, EvalResult, Str, Value};

/// A map: an object of JSON, or values an expression has made.
#[derive(Debug, Clone)]
pub enum Map<'a> {
    /// An object, and its schema if it has one.
    Json(&'a serde_json::Map<String, Json>, Option<&'a Schema>),
    /// Entries that an expression has created.
    Values(Arc<Entries<'a>>),
    /// Constant entries of the expression.
    Constant(&'a Entries<'a>),
}

/// Entries in the order of their creation.
#[derive(Debug, Clone, Default)]
pub struct Entries<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    /// The index of each key, once there are many.
    index: HashMap<Key, usize>,
}

/// A key by value. Numbers that are equal are the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Number(i128),
    Text(Arc<str>),
}

/// The number of entries below which a search is faster than an index.
const INDEX_FROM: usize = 9;

impl<'a> Map<'a> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(object, _) => object.len(),
            Self::Values(entries) => entries.entries.len(),
            Self::Constant(entries) => entries.entries.len(),
        }
    }

    /// Reports whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key; none if it has none, an error if a key of that type cannot be.
    pub(crate) fn find(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, EvalError> {
        match self {
            Self::Json(_, schema) => match key {
                Value::String(name) => {
                    if schema.is_some_and(has_fields) {
                        let Some(name) = unescape(name) else {
                            return Ok(None);
                        };
                        return self.property(&name);
                    }
                    self.property(name)
                }
                _ if schema.is_none() => Ok(None),
                _ => Err(EvalError::NO_SUCH_OVERLOAD),
            },
            Self::Values(entries) => Ok(entries.get(key).cloned()),
            Self::Constant(entries) => Ok(entries.get(key).cloned()),
        }
    }

    /// The value of a field: `name` in maps, `property` in objects that have fields.
    pub(crate) fn field(
        &self,
        name: &str,
        property: Option<&str>,
    ) -> Result<Option<Value<'a>>, EvalError> {
        match self {
            Self::Json(_, schema) if schema.is_some_and(has_fields) => match property {
                Some(property) => self.property(property),
                None => Ok(None),
            },
            Self::Json(..) => self.property(name),
            Self::Values(entries) => Ok(entries.get_text(name).cloned()),
            Self::Constant(entries) => Ok(entries.get_text(name).cloned()),
        }
    }

    /// The entries. Of objects with a schema, those the schema knows, by their identifiers.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (Value<'a>, EvalResult<'a>)> + '_> {
        match self {
            Self::Json(object, schema) => {
                let object: &'a serde_json::Map<String, Json> = object;
                let schema = *schema;
                Box::new(object.iter().filter_map(move |(name, value)| match schema {
                    None => Some((key(name), from_json(value, None))),
                    Some(parent) => {
                        let schema = property_schema(parent, name)?;
                        let key = match has_fields(parent) {
                            true => escape(name).map_or_else(|| key(name), Value::text),
                            false => key(name),
                        };
                        Some((key, from_json(value, Some(schema))))
                    }
                }))
            }
            Self::Values(entries) => Box::new(
                entries
                    .entries
                    .iter()
                    .map(|(k, v)| (k.clone(), Ok(v.clone()))),
            ),
            Self::Constant(entries) => Box::new(
                entries
                    .entries
                    .iter()
                    .map(|(k, v)| (k.clone(), Ok(v.clone()))),
            ),
        }
    }

    /// The JSON of a property, as it is.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a Json> {
        match self {
            Self::Json(object, _) => object.get(name),
            _ => None,
        }
    }

    fn property(&self, name: &str) -> Result<Option<Value<'a>>, EvalError> {
        let Self::Json(object, schema) = self else {
            return Ok(None);
        };
        let Some(json) = object.get(name) else {
            return Ok(None);
        };
        let Some(parent) = schema else {
            return from_json(json, None).map(Some);
        };
        // A null field of an object counts as missing; a null in a map is a value.
        if json.is_null() && has_fields(parent) {
            return Ok(None);
        }
        match property_schema(parent, name) {
            Some(schema) => from_json(json, Some(schema)).map(Some),
            None => Ok(None),
        }
    }
}

impl<'a> Entries<'a> {
    /// Adds an entry, or replaces the value of its key.
    pub(crate) fn insert(&mut self, key: Value<'a>, value: Value<'a>) {
        match self.position(&key) {
            Some(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.1 = value;
                }
            }
            None => {
                self.entries.push((key, value));
                self.index_last();
            }
        }
    }

    /// Takes an entry away, if there is one.
    pub(crate) fn remove(&mut self, key: &Value<'a>) {
        if let Some(at) = self.position(key) {
            self.entries.remove(at);
            self.index.clear();
            if self.entries.len() >= INDEX_FROM {
                self.index_all();
            }
        }
    }

    pub(crate) fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let at = self.position(key)?;
        self.entries.get(at).map(|entry| &entry.1)
    }

    fn get_text(&self, name: &str) -> Option<&Value<'a>> {
        if self.index.is_empty() {
            let found = self.entries.iter().find(|(k, _)| k.as_str() == Some(name));
            return found.map(|(_, v)| v);
        }
        self.get(&Value::String(Str::Borrowed(name)))
    }

    fn position(&self, key: &Value<'_>) -> Option<usize> {
        if self.index.is_empty() {
            let same = |k: &Value<'a>| super::equality::equal(k, key) == Ok(true);
            return self.entries.iter().position(|(k, _)| same(k));
        }
        self.index.get(&Key::of(key)?).copied()
    }

    fn index_last(&mut self) {
        if self.entries.len() == INDEX_FROM {
            self.index_all();
        } else if self.entries.len() > INDEX_FROM
            && let Some((key, _)) = self.entries.last()
            && let Some(key) = Key::of(key)
        {
            self.index.insert(key, self.entries.len() - 1);
        }
    }

    fn index_all(&mut self) {
        let keys = self.entries.iter().enumerate();
        self.index = keys
            .filter_map(|(at, (key, _))| Some((Key::of(key)?, at)))
            .collect();
    }
}

impl Key {
    fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Bool(b) => Some(Self::Bool(*b)),
            Value::Int(i) => Some(Self::Number(i128::from(*i))),
            Value::Uint(u) => Some(Self::Number(i128::from(*u))),
            Value::Double(d) if d.fract() == 0.0 && d.abs() < 1e19 => {
                Some(Self::Number(*d as i128))
            }
            Value::String(text) => Some(Self::Text((&**text).into())),
            _ => None,
        }
    }
}

fn key<'a>(name: &'a str) -> Value<'a> {
    Value::String(Str::Borrowed(name))
}

/// Reports whether the schema is of an object with fields rather than of a map.
fn has_fields(schema: &Schema) -> bool {
    !schema.properties.is_empty()
}

fn property_schema<'a>(parent: &'a Schema, name: &str) -> Option<&'a Schema> {
    if has_fields(parent) {
        return parent.properties.get(name);
    }
    parent.additional_properties.as_deref()
}
