//! Messages: `Object{}` and `JSONPatch{}`, which mutations are made of.

use std::sync::Arc;

use kubewright_machinery::go;
use serde_json::{Map as JsonMap, Number, Value as Json};

use crate::env::JSON_PATCH;
use crate::value::{EvalError, Value, equality};

/// An `Object{}`, or an operation of a JSON patch.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    pub(crate) of: Arc<str>,
    pub(crate) fields: Vec<(Arc<str>, Value<'a>)>,
}

impl<'a> Message<'a> {
    /// Returns the name of the type, such as `Object.spec`.
    pub fn type_name(&self) -> &str {
        &self.of
    }

    /// Returns the value of a field.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        let found = self.fields.iter().rfind(|(field, _)| **field == *name);
        found.map(|(_, value)| value)
    }

    pub(crate) fn is_json_patch(&self) -> bool {
        &*self.of == JSON_PATCH
    }

    pub(crate) fn equals(&self, other: &Self) -> Result<bool, EvalError> {
        if self.of != other.of || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for (name, value) in &self.fields {
            match other.field(name) {
                Some(twin) if equality::equal(value, twin)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Checks that the type of every object inside is named after the path to it.
    ///
    /// # Errors
    ///
    /// Returns a line for each object whose type has another name.
    pub fn check_type_names(&self) -> Result<(), String> {
        let mut found = Vec::new();
        self.mismatches(&self.of, &mut found);
        match found.is_empty() {
            true => Ok(()),
            false => Err(found.join("\n")),
        }
    }

    fn mismatches(&self, expected: &str, found: &mut Vec<String>) {
        if *self.of != *expected {
            let (own, expected) = (go::quote(&self.of), go::quote(expected));
            found.push(format!(
                "unexpected type name {own}, expected {expected}, which matches field name path from root Object type"
            ));
        }
        for (name, value) in &self.fields {
            mismatches_in(value, &format!("{expected}.{name}"), found);
        }
    }
}

/// Looks for objects in lists and maps too, which add nothing to the path.
fn mismatches_in(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Message(message) if !message.is_json_patch() => message.mismatches(expected, found),
        Value::List(list) => {
            for item in list.iter().flatten() {
                mismatches_in(&item, expected, found);
            }
        }
        Value::Map(map) => {
            for (_, value) in map.iter() {
                if let Ok(value) = value {
                    mismatches_in(&value, expected, found);
                }
            }
        }
        _ => {}
    }
}

impl Value<'_> {
    /// Returns the value as JSON.
    ///
    /// # Errors
    ///
    /// Returns a message if the value has no form in JSON, such as a type.
    pub fn to_json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(b) => Json::Bool(*b),
            Self::Int(i) => Json::Number((*i).into()),
            Self::Uint(u) => Json::Number((*u).into()),
            Self::Double(d) => Number::from_f64(*d).map_or(Json::Null, Json::Number),
            Self::String(text) => Json::String(text.to_string()),
            Self::Bytes(bytes) => Json::String(go::base64::encode(bytes)),
            Self::Duration(_) | Self::Timestamp(_) => Json::String(self.to_string()),
            Self::List(list) => {
                let items = list.iter().map(|item| {
                    item.map_err(|error| error.to_string())
                        .and_then(|item| item.to_json())
                });
                Json::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Map(map) => {
                let mut out = JsonMap::new();
                for (key, value) in map.iter() {
                    let Self::String(key) = &key else {
                        let of = key.type_name();
                        return Err(format!("map key {key} is of type {of}, not string"));
                    };
                    let value = value.map_err(|error| error.to_string())?;
                    out.insert(key.to_string(), value.to_json()?);
                }
                Json::Object(out)
            }
            Self::Optional(Some(value)) => value.to_json()?,
            Self::Optional(None) => Json::Null,
            Self::Preserved(json) => (*json).clone(),
            Self::Message(message) => {
                let mut out = JsonMap::new();
                for (name, value) in &message.fields {
                    out.insert(name.to_string(), value.to_json()?);
                }
                Json::Object(out)
            }
            other => {
                let of = other.type_name();
                return Err(format!("type conversion error from '{of}' to a JSON value"));
            }
        })
    }
}
