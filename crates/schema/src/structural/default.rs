//! Applies defaults and removes `null`s that mean nothing.

use kubewright_machinery::{
    Status,
    limits::{MAX_ADDED_BYTES, encoded_size},
    status,
};
use serde_json::{Map, Value};

use super::model::Structural;

/// Removes `null` if the schema neither allows it nor has a default for it.
///
/// ```
/// use kubewright_schema::structural::{Structural, prune_nulls};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "a": {"type": "string"}, "b": {"type": "string", "nullable": true},
/// }}))?;
/// let mut value = json!({"a": null, "b": null});
/// prune_nulls(&mut value, &schema);
/// assert_eq!(value, json!({"b": null}));
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
pub fn prune_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => fields.retain(|key, field| {
            let Some(schema) = schema.field(key) else {
                return true;
            };
            if field.is_null() {
                return schema.nullable || schema.default.is_some();
            }
            prune_nulls(field, schema);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| prune_nulls(item, schema));
            }
        }
        _ => {}
    }
}

/// Fills in defaults: of fields that are missing, or `null` where that is not allowed.
///
/// A default of list items or of map values is copied for each of them, so a small object can become a large one.
///
/// # Errors
///
/// Returns an error if the defaults add more than [`MAX_ADDED_BYTES`]. The object is then left with a part of its
/// defaults and must not be used.
///
/// ```
/// use kubewright_schema::structural::{Structural, apply_defaults};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "array", "items": {
///     "type": "object",
///     "properties": {"text": {"type": "string", "default": "x".repeat(100_000)}},
/// }}))?;
/// let mut object = json!([{}, {"text": "short"}]);
/// apply_defaults(&mut object, &schema)?;
///
/// let mut many = json!(vec![json!({}); 100_000]);
/// assert!(apply_defaults(&mut many, &schema).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply_defaults(value: &mut Value, schema: &Structural) -> Result<(), DefaultsTooLarge> {
    let mut budget = Budget {
        left: MAX_ADDED_BYTES,
    };
    budget.apply(value, schema)
}

/// The defaults of a schema make an object larger than [`MAX_ADDED_BYTES`] allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the defaults of the schema add more than {MAX_ADDED_BYTES} bytes to the object")]
pub struct DefaultsTooLarge;

impl From<DefaultsTooLarge> for Status {
    /// Returns the answer of kube-apiserver, whose storage rejects the object.
    fn from(_: DefaultsTooLarge) -> Self {
        status::object_too_large()
    }
}

/// The bytes that defaults may still add.
struct Budget {
    left: usize,
}

impl Budget {
    fn apply(&mut self, value: &mut Value, schema: &Structural) -> Result<(), DefaultsTooLarge> {
        if !schema.has_defaults {
            return Ok(());
        }
        match value {
            Value::Object(fields) => self.fields(fields, schema),
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else {
                    return Ok(());
                };
                items.iter_mut().try_for_each(|item| {
                    self.replace_null(item, schema)?;
                    self.apply(item, schema)
                })
            }
            _ => Ok(()),
        }
    }

    fn fields(
        &mut self,
        fields: &mut Map<String, Value>,
        schema: &Structural,
    ) -> Result<(), DefaultsTooLarge> {
        for (name, property) in &schema.properties {
            let Some(default) = &property.default else {
                continue;
            };
            match fields.get_mut(&**name) {
                Some(field) if field.is_null() && !property.nullable => {
                    *field = self.copy(default)?;
                }
                Some(_) => {}
                None => {
                    // Quotes, a colon and a comma.
                    self.spend(name.len() + 4)?;
                    fields.insert((**name).into(), self.copy(default)?);
                }
            }
        }
        for (key, field) in fields.iter_mut() {
            if let Some(property) = schema.property(key) {
                self.apply(field, property)?;
            } else if let Some(additional) = schema.additional_schema() {
                self.replace_null(field, additional)?;
                self.apply(field, additional)?;
            }
        }
        Ok(())
    }

    fn replace_null(
        &mut self,
        value: &mut Value,
        schema: &Structural,
    ) -> Result<(), DefaultsTooLarge> {
        if let Some(default) = schema
            .default
            .as_deref()
            .filter(|_| value.is_null() && !schema.nullable)
        {
            *value = self.copy(default)?;
        }
        Ok(())
    }

    fn copy(&mut self, default: &Value) -> Result<Value, DefaultsTooLarge> {
        self.spend(encoded_size(default, self.left).ok_or(DefaultsTooLarge)?)?;
        Ok(default.clone())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), DefaultsTooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(DefaultsTooLarge)?;
        Ok(())
    }
}
