//! Correlates new values with old ones, and compares them.

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

    pub(super) fn index(&self, at: usize) -> Self {
        let Some(current) = self.current else {
            return *self;
        };
        Self {
            current: current.index(at),
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

    fn index(&self, at: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(at)?;
        Some(Self {
            new,
            old: old_item(self.schema, self.old.as_array()?, new)?,
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
                (0..new.len()).all(|at| self.index(at).is_some_and(|item| item.is_unchanged()))
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

/// The item of an old map list with the same keys as a new item.
pub(super) fn old_item<'v>(schema: &Schema, old: &'v [Json], item: &Json) -> Option<&'v Json> {
    if schema.list_type != ListType::Map || schema.list_map_keys.is_empty() {
        return None;
    }
    let key = |item: &Json, name: &str| -> Option<Json> {
        let value = item.get(name)?;
        let scalar = !(value.is_object() || value.is_array() || value.is_null());
        scalar.then(|| value.clone())
    };
    let same = |old: &Json| {
        schema.list_map_keys.iter().all(|name| {
            let ours = key(item, name);
            ours.is_some() && ours == key(old, name)
        })
    };
    old.iter().find(|old| same(old))
}
