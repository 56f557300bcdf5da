//! Chooses the description of a type whose equal schemas have several.
//!
//! A field has its own documentation; an element of a list or a map has not, so its description becomes that of the type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::keywords::{key, properties, text};

/// The descriptions of equal objects, by the key of the type.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    of_fields: BTreeMap<String, BTreeSet<Option<String>>>,
    of_elements: BTreeMap<String, BTreeSet<Option<String>>>,
}

/// The position of a schema.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Field,
    Element,
}

impl Descriptions {
    /// Visits schemas in the order in which types are created.
    pub(super) fn collect(&mut self, schema: &Map<String, Value>, place: Place) {
        if let Some(properties) = properties(schema) {
            let seen = match place {
                Place::Field => &mut self.of_fields,
                Place::Element => &mut self.of_elements,
            };
            seen.entry(key(schema))
                .or_default()
                .insert(text(schema, "description"));
            for property in properties.values().filter_map(Value::as_object) {
                self.collect(property, Place::Field);
            }
        }
        for below in ["items", "additionalProperties"] {
            if let Some(Value::Object(below)) = schema.get(below) {
                self.collect(below, Place::Element);
            }
        }
    }

    /// Returns the description of the type. Elements need their own; fields have one already.
    pub(super) fn chosen(
        &self,
        key: &str,
        schema: &Map<String, Value>,
        place: Place,
    ) -> Option<String> {
        let own = text(schema, "description");
        match (place, self.of_elements.get(key), self.of_fields.get(key)) {
            (Place::Element, _, _) => own,
            (Place::Field, Some(elements), _) if elements.contains(&own) => own,
            (Place::Field, Some(elements), _) => elements.first().cloned().flatten(),
            (Place::Field, None, Some(fields)) if fields.len() > 1 => None,
            (Place::Field, None, _) => own,
        }
    }
}

/// Reports whether a doc comment can hold this text unchanged: no surrounding or trailing spaces, which tools remove, and no
/// characters that are not allowed in a comment.
pub(super) fn is_plain(doc: &str) -> bool {
    !doc.is_empty()
        && doc.trim() == doc
        && doc.split('\n').all(|line| line.trim_end() == line)
        && !doc.contains(super::render::is_odd)
}
