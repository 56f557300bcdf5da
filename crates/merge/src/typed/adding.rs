//! The fields of a value where there was none before.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::Problems;
use crate::fieldset::{FieldSet, PathElement};
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};

/// Returns everything below a new value: leaves and their containers. This is what [`compare`](super::compare) with
/// nothing finds added, without the sets that stay empty.
pub(super) fn added<S: Schema>(
    schema: S,
    value: &Value,
    depth: usize,
) -> Result<FieldSet, Problems> {
    if depth > VALUE_DEPTH {
        return Err(Problems::too_deep());
    }
    match (resolve(schema, Some(value)), value) {
        (Atom::Map(atom), Value::Object(fields)) if !atom.atomic => map(&atom, fields, depth),
        (Atom::List(atom), Value::Array(items)) if atom.merge != ListMerge::Atomic => {
            list(&atom, items, depth)
        }
        _ => Ok(FieldSet::new()),
    }
}

fn map<S: Schema>(
    atom: &MapAtom<S>,
    fields: &Map<String, Value>,
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut set = FieldSet::with_capacity(fields.len());
    for (name, field) in fields {
        let (schema, _) = atom.known_child(name)?;
        let below =
            added(schema, field, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?;
        set.push(PathElement::field(name), true, below);
    }
    Ok(set)
}

/// An item that occurs more than once is owned as a whole.
fn list<S: Schema>(
    atom: &ListAtom<S>,
    items: &[Value],
    depth: usize,
) -> Result<FieldSet, Problems> {
    let mut set = FieldSet::with_capacity(items.len());
    for (element, item) in atom.distinct(items)? {
        let below = match item {
            None => FieldSet::new(),
            Some(item) => added(atom.item, item, depth + 1).map_err(|e| e.below(&element))?,
        };
        set.push(element, true, below);
    }
    Ok(set)
}
