//! Which description a type has, where equal objects have several.
//!
//! A field can describe itself; an element of a list or a map cannot, so its description is the type's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::keywords::{key, properties, text};

/// The descriptions that equal objects have, by the key of the type.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    of_fields: BTreeMap<String, BTreeSet<Option<String>>>,
    of_elements: BTreeMap<String, BTreeSet<Option<String>>>,
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Field,
    Element,
}

impl Descriptions {
    /// Walks as the types will.
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

    /// What the type says of itself. Elements must hear their own description; fields have one already.
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

/// Whether a doc comment says exactly this: no spaces around it or at the end of a line, which tools take away, and nothing
/// that must not stand in a comment.
pub(super) fn is_plain(doc: &str) -> bool {
    !doc.is_empty()
        && doc.trim() == doc
        && doc.split('\n').all(|line| line.trim_end() == line)
        && !doc.contains(super::render::is_odd)
}
