//! Correlates old values with new ones.
//!
//! Fields belong together by name, items of a list only where the list is a map by its keys; other lists are compared as a
//! whole.

use kubewright_machinery::KeyedItems;
use serde_json::Value;

use super::super::model::{ListType, Structural};

/// The old value that belongs to the one at hand, and its schema.
///
/// ```
/// use kubewright_machinery::field::Path;
/// use kubewright_schema::structural::{Old, Structural, validate_update};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "name": {"type": "string"}, "size": {"type": "integer", "maximum": 5},
/// }}))?;
/// let stored = json!({"name": "a", "size": 9});
/// let old = Old::new(&stored, &schema);
/// let renamed = json!({"name": "b", "size": 9});
/// assert!(validate_update(&renamed, old, &schema, &Path::root()).is_empty());
/// let resized = json!({"name": "a", "size": 8});
/// assert_eq!(validate_update(&resized, old, &schema, &Path::root())[0].field, "size");
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Old<'a> {
    value: &'a Value,
    schema: &'a Structural,
}

/// The old list that belongs to the one at hand.
pub(super) struct OldItems<'a> {
    items: KeyedItems<'a, Box<str>>,
    schema: Option<&'a Structural>,
}

impl<'a> Old<'a> {
    /// The old object as a whole.
    pub fn new(value: &'a Value, schema: &'a Structural) -> Self {
        Self { value, schema }
    }

    /// The value.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The old value of a field that the schema knows.
    pub(super) fn field(self, name: &str) -> Option<Old<'a>> {
        let schema = self.schema.field(name)?;
        let value = self.value.as_object()?.get(name)?;
        Some(Old { value, schema })
    }

    /// The old items of a list.
    pub(super) fn items(self) -> OldItems<'a> {
        let keys: &[Box<str>] = match &self.schema.list {
            ListType::Map(keys) => keys,
            _ => &[],
        };
        let items = self.value.as_array().map(Vec::as_slice);
        OldItems {
            items: KeyedItems::new(items.unwrap_or_default(), keys),
            schema: self.schema.items.as_deref(),
        }
    }

    /// Reports whether nothing changed, as far as values can be correlated.
    pub fn equals(self, value: &Value) -> bool {
        equal(value, self.value, self.schema)
    }
}

impl<'a> OldItems<'a> {
    /// The old item with the same keys.
    pub(super) fn of(&self, item: &Value) -> Option<Old<'a>> {
        let schema = self.schema?;
        let value = self.items.find(item)?;
        Some(Old { value, schema })
    }
}

fn equal(new: &Value, old: &Value, schema: &Structural) -> bool {
    match (new, old) {
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return false;
            }
            match (&schema.list, schema.items.as_deref()) {
                (ListType::Map(keys), Some(items)) => {
                    let old = KeyedItems::new(b, keys);
                    a.iter()
                        .all(|item| old.find(item).is_some_and(|old| equal(item, old, items)))
                }
                _ => a == b,
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, field)| match (schema.field(key), b.get(key)) {
                        (Some(child), Some(old)) => equal(field, old, child),
                        _ => false,
                    })
        }
        (a, b) => a == b,
    }
}
