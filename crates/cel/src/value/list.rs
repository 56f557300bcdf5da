//! Lists.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::schema::{ListType, Schema};

use super::json::from_json;
use super::{EvalError, EvalResult, Value, equality};

/// A list: an array of JSON, or values an expression has made.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// An array, and its schema if it has one.
    Json(&'a [Json], Option<&'a Schema>),
    /// Values, with a schema if it defines how they are compared and added.
    Values(Arc<Vec<Value<'a>>>, Option<&'a Schema>),
    /// Constant values of the expression.
    Constant(&'a [Value<'a>]),
}

impl<'a> List<'a> {
    pub(crate) fn new(values: Vec<Value<'a>>) -> Self {
        Self::Values(Arc::new(values), None)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Values(values, _) => values.len(),
            Self::Constant(values) => values.len(),
        }
    }

    /// Reports whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`; an error if it does not fit the schema.
    pub fn get(&self, index: usize) -> Option<EvalResult<'a>> {
        match self {
            Self::Json(items, schema) => {
                let items: &'a [Json] = items;
                Some(item(items.get(index)?, *schema))
            }
            Self::Values(values, _) => Some(Ok(values.get(index)?.clone())),
            Self::Constant(values) => Some(Ok(values.get(index)?.clone())),
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = EvalResult<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn schema(&self) -> Option<&'a Schema> {
        match self {
            Self::Json(_, schema) | Self::Values(_, schema) => *schema,
            Self::Constant(_) => None,
        }
    }

    pub(crate) fn list_type(&self) -> ListType {
        self.schema().map_or(ListType::Atomic, |s| s.list_type)
    }

    /// Reports whether `element` is in the list. Elements of other types are not equal to it.
    pub(crate) fn contains(&self, element: &Value<'a>) -> Result<bool, EvalError> {
        for item in self.iter() {
            if matches!(equality::equal(element, &item?), Ok(true)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `self + other`, by the list type of `self`: sets skip elements that they have, maps replace by key.
    pub(crate) fn add(&self, other: &List<'a>) -> EvalResult<'a> {
        let list_type = self.list_type();
        if list_type == ListType::Atomic {
            if self.is_empty() {
                return Ok(Value::List(other.clone()));
            }
            if other.is_empty() {
                return Ok(Value::List(self.clone()));
            }
        }
        let mut values = Vec::with_capacity(self.len() + other.len());
        for item in self.iter() {
            values.push(item?);
        }
        let keys = self.map_keys();
        for item in other.iter() {
            let item = item?;
            match list_type {
                ListType::Atomic => values.push(item),
                ListType::Set => {
                    let known = |v: &Value<'a>| equality::equal(v, &item) == Ok(true);
                    if !values.iter().any(known) {
                        values.push(item);
                    }
                }
                ListType::Map => match values.iter().position(|v| same_key(v, &item, keys)) {
                    Some(at) => {
                        if let Some(place) = values.get_mut(at) {
                            *place = item;
                        }
                    }
                    None => values.push(item),
                },
            }
        }
        let schema = self.schema().filter(|_| list_type != ListType::Atomic);
        Ok(Value::List(List::Values(Arc::new(values), schema)))
    }

    /// Returns the properties that identify the elements of a map list.
    pub(crate) fn map_keys(&self) -> &'a [String] {
        self.schema().map_or(&[], |s| s.list_map_keys.as_slice())
    }
}

/// Reports whether two elements of a map list have the same values for `keys`.
pub(crate) fn same_key(a: &Value<'_>, b: &Value<'_>, keys: &[String]) -> bool {
    let (Value::Map(a), Value::Map(b)) = (a, b) else {
        return false;
    };
    keys.iter().all(|key| match (a.raw(key), b.raw(key)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => true,
        _ => false,
    })
}

fn item<'a>(json: &'a Json, schema: Option<&'a Schema>) -> EvalResult<'a> {
    match schema {
        None => from_json(json, None),
        Some(schema) => match schema.items.as_deref() {
            Some(items) => from_json(json, Some(items)),
            None => Err(EvalError::new(
                "invalid array type, expected Items with a non-empty Schema",
            )),
        },
    }
}
