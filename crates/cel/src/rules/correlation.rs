//! Correlates new values with old ones, and compares them.

use kubewright_machinery::KeyedItems;
use serde_json::Value as Json;

use crate::schema::{ListType, Schema};

/// A value, the value it has been, and the schema of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Correlated<'v> {
    new: &'v Json,
    old: &'v Json,
    schema: &'v Schema,
}

/// The treatment of failures that concern unchanged values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ratchet<'v> {
    current: Option<Correlated<'v>>,
    parent: Option<Correlated<'v>>,
}

impl<'v> Ratchet<'v> {
    /// Failures count unless the value is unchanged.
    pub(super) fn new(new: &'v Json, old: &'v Json, schema: &'v Schema) -> Self {
        Self {
            current: Some(Correlated { new, old, schema }),
            parent: None,
        }
    }

    /// Reports whether nothing has changed here, or in the surrounding value if this one cannot be correlated.
    pub(super) fn is_unchanged(&self) -> bool {
        match (&self.current, &self.parent) {
            (Some(current), _) => current.is_unchanged(),
            (None, Some(parent)) => parent.is_unchanged(),
            (None, None) => false,
        }
    }

    pub(super) fn key(&self, name: &str) -> Self {
        let Some(current) = self.current else {
            return *self;
        };
        if self.parent.is_none() && (name == "apiVersion" || name == "kind") {
            return Self::default();
        }
        Self {
            current: current.key(name),
            parent: Some(current),
        }
    }

    /// Returns the correlation of an item with the old item that has the same keys.
    pub(super) fn item(&self, new: &'v Json, old: Option<&'v Json>) -> Self {
        let Some(current) = self.current else {
            return *self;
        };
        Self {
            current: current.item(new, old),
            parent: Some(current),
        }
    }

    /// Returns the correlation for rules in `allOf`, where only the surrounding value counts.
    pub(super) fn parent_only(&self) -> Self {
        Self {
            current: None,
            parent: self.parent,
        }
    }
}

impl<'v> Correlated<'v> {
    fn key(&self, name: &str) -> Option<Self> {
        let schema = self
            .schema
            .properties
            .get(name)
            .or(self.schema.additional_properties.as_deref())?;
        Some(Self {
            new: self.new.get(name)?,
            old: self.old.get(name)?,
            schema,
        })
    }

    fn item(&self, new: &'v Json, old: Option<&'v Json>) -> Option<Self> {
        Some(Self {
            new,
            old: old?,
            schema: self.schema.items.as_deref()?,
        })
    }

    fn is_unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Json::Array(new), Json::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if self.schema.list_type != ListType::Map {
                    return new == old;
                }
                let old = old_items(self.schema, old);
                new.iter().all(|item| {
                    self.item(item, old.find(item))
                        .is_some_and(|item| item.is_unchanged())
                })
            }
            (Json::Object(new), Json::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|name| self.key(name).is_some_and(|value| value.is_unchanged()))
            }
            (new, old) => new == old,
        }
    }
}

/// The items of an old list, by the keys of the list.
pub(super) fn old_items<'v>(schema: &'v Schema, old: &'v [Json]) -> KeyedItems<'v, String> {
    match schema.list_type {
        ListType::Map => KeyedItems::new(old, &schema.list_map_keys),
        _ => KeyedItems::new(old, &[]),
    }
}
