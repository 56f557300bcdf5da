//! The fields that a value sets.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::Problems;
use crate::fieldset::{FieldSet, PathElement, is_zero_length_map};
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};

/// The leaves of a value, its list items and the entries of its maps: what applying the value claims.
///
/// A list item that occurs twice is a member without anything below it.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let set = typed::to_field_set(Deduced, &json!({"spec": {"size": 1}}))?;
/// let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
/// assert_eq!(paths, [".spec", ".spec.size"]);
/// # Ok::<(), typed::Problems>(())
/// ```
///
/// # Errors
///
/// Returns the problems of a value that does not fit the schema.
pub fn to_field_set<S: Schema>(schema: S, value: &Value) -> Result<FieldSet, Problems> {
    walk(schema, value, Named::AsSet, 0).map(|(_, below)| below)
}

/// The same with every struct field that has members below it as a member, too: [`FieldSet::ensure_named_fields`] of
/// [`to_field_set`] in one go.
///
/// # Errors
///
/// Returns the problems of a value that does not fit the schema.
pub fn to_named_field_set<S: Schema>(schema: S, value: &Value) -> Result<FieldSet, Problems> {
    walk(schema, value, Named::Always, 0).map(|(_, below)| below)
}

/// The rule by which a struct field that is not a leaf is a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// It is a member when it is empty or `null`.
    AsSet,
    /// It is a member whenever something is below it.
    Always,
}

/// Returns whether the path itself is a member, and the set below it.
fn walk<S: Schema>(
    schema: S,
    value: &Value,
    named: Named,
    depth: usize,
) -> Result<(bool, FieldSet), Problems> {
    if depth > VALUE_DEPTH {
        return Err(Problems::too_deep());
    }
    match resolve(schema, Some(value)) {
        Atom::Scalar(_) => Ok((true, FieldSet::new())),
        Atom::Map(atom) if atom.atomic => Ok((true, FieldSet::new())),
        Atom::List(atom) if atom.merge == ListMerge::Atomic => Ok((true, FieldSet::new())),
        Atom::Map(atom) => match value {
            Value::Object(fields) => Ok((false, map(&atom, fields, named, depth)?)),
            _ => Ok((false, FieldSet::new())),
        },
        Atom::List(atom) => match value {
            Value::Array(items) => Ok((false, list(&atom, items, named, depth)?)),
            _ => Ok((false, FieldSet::new())),
        },
    }
}

fn map<S: Schema>(
    atom: &MapAtom<S>,
    fields: &Map<String, Value>,
    named: Named,
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut set = FieldSet::with_capacity(fields.len());
    for (name, field) in fields {
        let (schema, is_named) = atom.known_child(name)?;
        let (member, below) =
            walk(schema, field, named, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?;
        let member = member
            || !is_named
            || field.is_null()
            || is_zero_length_map(field)
            || (named == Named::Always && !below.is_empty());
        set.push(PathElement::field(name), member, below);
    }
    Ok(set)
}

fn list<S: Schema>(
    atom: &ListAtom<S>,
    items: &[Value],
    named: Named,
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut set = FieldSet::with_capacity(items.len());
    for (element, item) in atom.distinct(items)? {
        let below = match item {
            None => FieldSet::new(),
            Some(item) => {
                walk(atom.item, item, named, depth + 1)
                    .map_err(|e| e.below(&element))?
                    .1
            }
        };
        set.push(element, true, below);
    }
    Ok(set)
}
