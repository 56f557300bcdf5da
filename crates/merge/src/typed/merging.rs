//! Merges one value into another.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::Problems;
use super::validation::scalar_problem;
use crate::fieldset::PathElement;
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Merges `over` into `base`: nothing is removed, and where both set a leaf, `over` wins.
///
/// Items of a list that merges keep the order of `base`, except that the items which `over` names come in the order of
/// `over`. `base` may name an item twice, `over` may not.
///
/// # Errors
///
/// Returns the problems of values that do not fit the schema.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let merged = typed::merge(Deduced, &json!({"a": 1, "b": 1}), &json!({"b": 2, "c": 3}))?;
/// assert_eq!(merged, json!({"a": 1, "b": 2, "c": 3}));
/// # Ok::<(), typed::Problems>(())
/// ```
pub fn merge<S: Schema>(schema: S, base: &Value, over: &Value) -> Result<Value, Problems> {
    walk(schema, base, over, 0)
}

fn walk<S: Schema>(schema: S, base: &Value, over: &Value, depth: usize) -> Result<Value, Problems> {
    if depth > VALUE_DEPTH {
        return Err(Problems::too_deep());
    }
    match resolve(schema, Some(over)) {
        Atom::Scalar(scalar) => {
            let (b, o) = (
                scalar_problem(scalar, Some(base)),
                scalar_problem(scalar, Some(over)),
            );
            if let (Some(b), Some(o)) = (b, o) {
                let mut problems = Problems::new(format!("lhs: {b}"));
                problems.0.extend(Problems::new(format!("rhs: {o}")).0);
                return Err(problems);
            }
            Ok(over.clone())
        }
        Atom::Map(atom) => {
            let entries = |v: &Value| v.as_object().is_some_and(|fields| !fields.is_empty());
            match (base, over) {
                (Value::Object(b), Value::Object(o)) if !atom.atomic && entries(base) => {
                    Ok(Value::Object(maps(&atom, b, o, depth)?))
                }
                // `null` and the empty map claim nothing of a map that merges.
                (Value::Object(_), _) if !atom.atomic && entries(base) => Ok(base.clone()),
                _ => Ok(over.clone()),
            }
        }
        Atom::List(atom) => {
            let filled = |v: &Value| v.as_array().is_some_and(|items| !items.is_empty());
            match (base, over) {
                (Value::Array(b), Value::Array(o))
                    if atom.merge != ListMerge::Atomic && filled(base) =>
                {
                    Ok(Value::Array(lists(&atom, b, o, depth)?))
                }
                (Value::Array(_), _) if atom.merge != ListMerge::Atomic && filled(base) => {
                    Ok(base.clone())
                }
                _ => Ok(over.clone()),
            }
        }
    }
}

fn maps<S: Schema>(
    atom: &MapAtom<S>,
    base: &Map<String, Value>,
    over: &Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, Problems> {
    let mut out = Map::new();
    for (name, base) in base {
        let merged = match over.get(name) {
            None => base.clone(),
            Some(over) => {
                let (schema, _) = atom.known_child(name)?;
                walk(schema, base, over, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?
            }
        };
        out.insert(name.clone(), merged);
    }
    for (name, over) in over {
        if !base.contains_key(name) {
            out.insert(name.clone(), over.clone());
        }
    }
    Ok(out)
}

/// The match of a path element in a list.
enum Found<'v> {
    Once(&'v Value),
    /// An item that occurs more than once is replaced instead of merged.
    Often,
}

fn lists<S: Schema>(
    atom: &ListAtom<S>,
    base: &[Value],
    over: &[Value],
    depth: usize,
) -> Result<Vec<Value>, Problems> {
    let base_elements = elements(atom, base)?;
    let over_elements = elements(atom, over)?;
    let mut in_over = BTreeMap::new();
    for (element, item) in over_elements.iter().zip(over) {
        if in_over.insert(element, item).is_some() {
            return Err(Problems::new(format!(
                "duplicate entries for key {element}"
            )));
        }
    }
    let mut in_base = BTreeMap::new();
    for (element, item) in base_elements.iter().zip(base) {
        in_base
            .entry(element)
            .and_modify(|f| *f = Found::Often)
            .or_insert(Found::Once(item));
    }
    let merged = |element: &PathElement, over: &Value| match in_base.get(element) {
        None => Ok(over.clone()),
        Some(Found::Often) => walk(atom.item, &Value::Null, over, depth + 1),
        Some(Found::Once(base)) => {
            walk(atom.item, base, over, depth + 1).map_err(|e| e.below(element))
        }
    };
    let mut shared = over_elements.iter().filter(|e| in_base.contains_key(e));
    let mut next_shared = shared.next();
    let mut taken = BTreeSet::new();
    let mut out = Vec::with_capacity(base.len().max(over.len()));
    let (mut b, mut o) = (0, 0);
    while b < base.len() || o < over.len() {
        let from_base = base_elements.get(b).zip(base.get(b));
        let from_over = over_elements.get(o).zip(over.get(o));
        if let (Some((mine, _)), Some((theirs, item))) = (from_base, from_over) {
            if mine == theirs {
                taken.insert(mine);
                out.push(merged(theirs, item)?);
                next_shared = shared.next();
                b += 1;
                o += 1;
                continue;
            }
            if in_over.contains_key(mine) && next_shared.is_some_and(|next| next != mine) {
                // Its turn comes where `over` has it.
                b += 1;
                continue;
            }
        }
        if let Some((mine, item)) = from_base {
            if !in_over.contains_key(mine) {
                out.push(item.clone());
                b += 1;
                continue;
            }
            if taken.contains(mine) {
                b += 1;
            }
        }
        if let Some((theirs, item)) = from_over {
            taken.insert(theirs);
            out.push(merged(theirs, item)?);
            o += 1;
            if next_shared == Some(theirs) {
                next_shared = shared.next();
            }
        }
    }
    Ok(out)
}

fn elements<S: Schema>(atom: &ListAtom<S>, items: &[Value]) -> Result<Vec<PathElement>, Problems> {
    let element = |(i, item)| {
        atom.element_of(item)
            .map_err(|e| Problems::new(format!("element {i}: {e}")))
    };
    items.iter().enumerate().map(element).collect()
}
