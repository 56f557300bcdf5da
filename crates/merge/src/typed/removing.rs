//! A value without some fields, or with these alone.
//!
//! A container that loses its last entry becomes `null`, as do lists and maps that are one value when something below
//! them is to go.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use crate::fieldset::{FieldSet, Node};
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};

/// Returns the value without the members of `set` and everything below them. Copies only what is kept.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let value = json!({"a": 1, "b": {"c": 2, "d": 3}});
/// let changes = typed::compare(Deduced, &json!({"b": {"c": 1}}), &json!({"b": {"c": 2}}))?;
/// assert_eq!(typed::remove_items(Deduced, &value, &changes.modified), json!({"a": 1, "b": {"d": 3}}));
/// # Ok::<(), typed::Problems>(())
/// ```
pub fn remove_items<S: Schema>(schema: S, value: &Value, set: &FieldSet) -> Value {
    walk(schema, value, set, Mode::Remove, 0)
}

/// Returns the value with the members of `set` only.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let value = json!({"a": 1, "b": {"c": 2, "d": 3}});
/// let changes = typed::compare(Deduced, &json!({"b": {"c": 1}}), &json!({"b": {"c": 2}}))?;
/// assert_eq!(typed::extract_items(Deduced, &value, &changes.modified), json!({"b": {"c": 2}}));
/// # Ok::<(), typed::Problems>(())
/// ```
pub fn extract_items<S: Schema>(schema: S, value: &Value, set: &FieldSet) -> Value {
    walk(schema, value, set, Mode::Extract, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Remove,
    Extract,
}

fn walk<S: Schema>(schema: S, value: &Value, set: &FieldSet, mode: Mode, depth: usize) -> Value {
    if depth > VALUE_DEPTH {
        return value.clone();
    }
    match (resolve(schema, Some(value)), value) {
        (Atom::Scalar(_), value) => value.clone(),
        (Atom::List(atom), Value::Array(items)) => {
            if items.is_empty() || atom.merge == ListMerge::Atomic {
                return if mode == Mode::Extract {
                    value.clone()
                } else {
                    Value::Null
                };
            }
            list(&atom, items, set, mode, depth)
        }
        (Atom::Map(atom), Value::Object(fields)) => {
            if fields.is_empty() || atom.atomic {
                return if mode == Mode::Extract {
                    value.clone()
                } else {
                    Value::Null
                };
            }
            map(&atom, fields, set, mode, depth)
        }
        _ => Value::Null,
    }
}

fn list<S: Schema>(
    atom: &ListAtom<S>,
    items: &[Value],
    set: &FieldSet,
    mode: Mode,
    depth: usize,
) -> Value {
    let mut out = Vec::new();
    for item in items {
        let element = atom.element_of(item).ok();
        let node = element.as_ref().and_then(|element| set.node(element));
        match (mode, node) {
            (Mode::Remove, Some(Node { member: true, .. })) | (Mode::Extract, None) => {}
            (
                _,
                Some(Node {
                    below: Some(below), ..
                }),
            ) => {
                out.push(walk(atom.item, item, below, mode, depth + 1));
            }
            (_, _) => out.push(item.clone()),
        }
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Array(out)
    }
}

fn map<S: Schema>(
    atom: &MapAtom<S>,
    fields: &Map<String, Value>,
    set: &FieldSet,
    mode: Mode,
    depth: usize,
) -> Value {
    let mut out = Map::new();
    for (name, field) in fields {
        let kept = match (mode, set.field_node(name), atom.child(name).0) {
            (Mode::Remove, Some(Node { member: true, .. }), _) | (Mode::Extract, None, _) => {
                continue;
            }
            (Mode::Remove, None, _) => field.clone(),
            (_, Some(_), None) => Value::Null,
            // The entry is looked at with the set that names it, which holds for leaves and what is one value.
            (Mode::Extract, Some(Node { member: true, .. }), Some(schema)) => {
                walk(schema, field, set, mode, depth + 1)
            }
            (
                _,
                Some(Node {
                    below: Some(below), ..
                }),
                Some(schema),
            ) => walk(schema, field, below, mode, depth + 1),
            (_, Some(_), _) => field.clone(),
        };
        out.insert(name.clone(), kept);
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Object(out)
    }
}
