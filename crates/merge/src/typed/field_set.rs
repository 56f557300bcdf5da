//! The fields that a value sets.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::Problems;
use crate::MAX_DEPTH;
use crate::fieldset::{FieldSet, PathElement, is_zero_length_map};
use crate::schema::{ListMerge, Schema};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The leaves of a value, its list items and the entries of its maps: what applying the value claims.
///
/// A list item that occurs twice is a member without anything below it.
pub fn to_field_set<S: Schema>(schema: S, value: &Value) -> Result<FieldSet, Problems> {
    walk(schema, value, 0).map(|(_, below)| below)
}

/// Whether the path itself is a member, and what is below it.
fn walk<S: Schema>(schema: S, value: &Value, depth: usize) -> Result<(bool, FieldSet), Problems> {
    if depth > MAX_DEPTH {
        return Err(Problems::too_deep());
    }
    match resolve(schema, Some(value)) {
        Atom::Scalar(_) => Ok((true, FieldSet::new())),
        Atom::Map(atom) if atom.atomic => Ok((true, FieldSet::new())),
        Atom::List(atom) if atom.merge == ListMerge::Atomic => Ok((true, FieldSet::new())),
        Atom::Map(atom) => match value {
            Value::Object(fields) => Ok((false, map(&atom, fields, depth)?)),
            _ => Ok((false, FieldSet::new())),
        },
        Atom::List(atom) => match value {
            Value::Array(items) => Ok((false, list(&atom, items, depth)?)),
            _ => Ok((false, FieldSet::new())),
        },
    }
}

fn map<S: Schema>(
    atom: &MapAtom<S>,
    fields: &Map<String, Value>,
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut set = FieldSet::new();
    for (name, field) in fields {
        let (schema, named) = atom.known_child(name)?;
        let (member, below) =
            walk(schema, field, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?;
        let member = member || !named || field.is_null() || is_zero_length_map(field);
        set.push(PathElement::field(name), member, below);
    }
    Ok(set)
}

fn list<S: Schema>(
    atom: &ListAtom<S>,
    items: &[Value],
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut by_element: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
    for (i, item) in items.iter().enumerate() {
        let element = atom
            .element_of(item)
            .map_err(|e| Problems::new(format!("element {i}: {e}")))?;
        by_element
            .entry(element)
            .and_modify(|found| *found = None)
            .or_insert(Some(item));
    }
    let mut set = FieldSet::new();
    for (element, item) in by_element {
        let below = match item {
            None => FieldSet::new(),
            Some(item) => {
                walk(atom.item, item, depth + 1)
                    .map_err(|e| e.below(&element))?
                    .1
            }
        };
        set.push(element, true, below);
    }
    Ok(set)
}
