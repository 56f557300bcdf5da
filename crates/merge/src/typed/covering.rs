//! Checks whether merging one value into another would change nothing.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};

/// The maximum number of pairs of list items that are compared. Larger lists are merged instead.
const MAX_PAIRS: usize = 4096;

/// Reports whether [`merge`](super::merge) of `over` into `base` gives `base`, without merging. In doubt
/// (items that occur twice, very long lists, values that do not fit the schema) it returns `false`.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// assert!(typed::covers(Deduced, &json!({"a": 1, "b": 2}), &json!({"b": 2})));
/// assert!(!typed::covers(Deduced, &json!({"a": 1, "b": 2}), &json!({"b": 3})));
/// ```
pub fn covers<S: Schema>(schema: S, base: &Value, over: &Value) -> bool {
    walk(schema, base, over, 0)
}

fn walk<S: Schema>(schema: S, base: &Value, over: &Value, depth: usize) -> bool {
    if depth > VALUE_DEPTH {
        return false;
    }
    match (resolve(schema, Some(over)), base, over) {
        (Atom::Map(atom), Value::Object(base), over) if !atom.atomic && !base.is_empty() => {
            match over {
                Value::Object(over) => maps(&atom, base, over, depth),
                _ => true,
            }
        }
        (Atom::List(atom), Value::Array(base), over)
            if atom.merge != ListMerge::Atomic && !base.is_empty() =>
        {
            match over {
                Value::Array(over) => lists(&atom, base, over, depth),
                _ => true,
            }
        }
        (_, base, over) => base == over,
    }
}

fn maps<S: Schema>(
    atom: &MapAtom<S>,
    base: &Map<String, Value>,
    over: &Map<String, Value>,
    depth: usize,
) -> bool {
    over.iter().all(|(name, over)| {
        let (Some(base), Some(schema)) = (base.get(name), atom.child(name).0) else {
            return false;
        };
        walk(schema, base, over, depth + 1)
    })
}

/// The items of `over` are in `base`, in this order, and each of them once.
fn lists<S: Schema>(atom: &ListAtom<S>, base: &[Value], over: &[Value], depth: usize) -> bool {
    if base.len().saturating_mul(over.len()) > MAX_PAIRS {
        return false;
    }
    let mut from = 0;
    over.iter().all(|over| {
        let mut same = base
            .iter()
            .enumerate()
            .filter(|(_, base)| atom.is_same(base, over));
        match (same.next(), same.next()) {
            (Some((at, base)), None) if at >= from => {
                from = at + 1;
                walk(atom.item, base, over, depth + 1)
            }
            _ => false,
        }
    })
}
