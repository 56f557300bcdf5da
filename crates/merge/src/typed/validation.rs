//! Validates values against their schema.

use super::atom::{Atom, ListAtom, MapAtom, resolve_shape};
use super::error::{Problem, Problems};
use crate::fieldset::PathElement;
use crate::schema::{ListMerge, Scalar, Schema, Shape};
use kubewright_machinery::{
    go,
    limits::{MAX_FIELD_ERRORS, VALUE_DEPTH, depth_of},
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The handling of duplicate items in lists that merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Duplicates are allowed, as in stored objects.
    Allowed,
    /// Duplicates are rejected, as in applied configurations.
    Refused,
}

/// Checks that `value` has the types that its schema declares, no field besides, and list items with their keys.
///
/// # Errors
///
/// Returns the problems of a value that does not fit the schema.
pub fn validate<S: Schema>(
    schema: S,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), Problems> {
    if depth_of(value) > VALUE_DEPTH {
        return Err(Problems::too_deep());
    }
    let problems = check(schema, value, duplicates);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Problems(problems))
    }
}

/// Validates a scalar, which may be absent or `null`.
pub(super) fn scalar_problem(scalar: Scalar, value: Option<&Value>) -> Option<String> {
    let value = value?;
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => Some(format!(
            "expected numeric (int or float), got {}",
            go::type_name(other)
        )),
        (Scalar::String, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go::syntax(other)
        )),
        (Scalar::Boolean, other) => {
            Some(format!("expected boolean, got &{{{}}}", go::display(other)))
        }
        (Scalar::Any, other) => Some(format!(
            "expected any scalar, got &{{{}}}",
            go::display(other)
        )),
    }
}

/// Collects the problems of a value, up to about [`MAX_FIELD_ERRORS`]. Paths are built on the way back, so that a valid
/// value needs none.
fn check<S: Schema>(schema: S, value: &Value, duplicates: Duplicates) -> Vec<Problem> {
    let shape = schema.shape();
    if matches!(shape, Shape::Untyped | Shape::Deduced) {
        return Vec::new();
    }
    match resolve_shape(schema, shape, Some(value)) {
        Atom::Scalar(scalar) => scalar_problem(scalar, Some(value)).map_or_else(Vec::new, problem),
        Atom::Map(atom) => match value {
            Value::Object(fields) => check_map(&atom, fields, duplicates),
            Value::Null => Vec::new(),
            other => problem(format!("expected map, got &{{{}}}", go::display(other))),
        },
        Atom::List(atom) => match value {
            Value::Array(items) => check_list(&atom, items, duplicates),
            Value::Null => Vec::new(),
            other => problem(format!("expected list, got &{{{}}}", go::display(other))),
        },
    }
}

fn check_map<S: Schema>(
    atom: &MapAtom<S>,
    fields: &Map<String, Value>,
    duplicates: Duplicates,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, field) in fields {
        let (schema, _) = atom.child(name);
        let found = match schema {
            Some(schema) => check(schema, field, duplicates),
            None => problem("field not declared in schema".into()),
        };
        if !found.is_empty() {
            problems.extend(Problems(found).below(format_args!(".{name}")).0);
        }
        if schema.is_none() || problems.len() >= MAX_FIELD_ERRORS {
            break;
        }
    }
    problems
}

fn check_list<S: Schema>(
    atom: &ListAtom<S>,
    items: &[Value],
    duplicates: Duplicates,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (i, item) in items.iter().enumerate() {
        if atom.merge != ListMerge::Atomic {
            let named = match duplicates {
                Duplicates::Allowed => atom.check(item),
                Duplicates::Refused => atom.element_of(item).map(|element| {
                    if seen.contains(&element) {
                        problems.extend(problem(format!("duplicate entries for key {element}")));
                    } else {
                        seen.insert(element);
                    }
                }),
            };
            if let Err(message) = named {
                problems.extend(problem(format!("element {i}: {message}")));
                return problems;
            }
        }
        let found = check(atom.item, item, duplicates);
        if !found.is_empty() {
            let position = || PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX));
            let element = atom.element_of(item).unwrap_or_else(|_| position());
            problems.extend(Problems(found).below(element).0);
        }
        if problems.len() >= MAX_FIELD_ERRORS {
            break;
        }
    }
    problems
}

fn problem(message: String) -> Vec<Problem> {
    Problems::new(message).0
}
