//! Whether a value fits its schema.

use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::{Problem, Problems};
use crate::fieldset::PathElement;
use crate::schema::{ListMerge, Scalar, Schema, Shape};
use crate::{MAX_DEPTH, depth_of, go_text};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Whether a list that merges may name an item twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// It may: stored objects do.
    Allowed,
    /// It may not: what is applied has to be clear.
    Refused,
}

/// Checks that `value` has the types that its schema declares, no field besides, and list items with their keys.
pub fn validate<S: Schema>(
    schema: S,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), Problems> {
    if depth_of(value) > MAX_DEPTH {
        return Err(Problems::too_deep());
    }
    let mut walk = Validation {
        duplicates,
        path: Vec::new(),
        problems: Vec::new(),
    };
    walk.value(schema, value);
    if walk.problems.is_empty() {
        Ok(())
    } else {
        Err(Problems(walk.problems))
    }
}

/// What is wrong with a scalar; nothing if it is absent or `null`.
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
            go_text::type_name(other)
        )),
        (Scalar::String, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_text::go_syntax(other)
        )),
        (Scalar::Boolean, other) => Some(format!(
            "expected boolean, got &{{{}}}",
            go_text::plain(other)
        )),
        (Scalar::Any, other) => Some(format!(
            "expected any scalar, got &{{{}}}",
            go_text::plain(other)
        )),
    }
}

struct Validation<'v> {
    duplicates: Duplicates,
    path: Vec<Step<'v>>,
    problems: Vec<Problem>,
}

/// A step of the path, printed only when something is wrong.
enum Step<'v> {
    Field(&'v str),
    Element(PathElement),
}

impl<'v> Validation<'v> {
    fn value<S: Schema>(&mut self, schema: S, value: &'v Value) {
        if matches!(schema.shape(), Shape::Untyped | Shape::Deduced) {
            return;
        }
        match resolve(schema, Some(value)) {
            Atom::Scalar(scalar) => {
                if let Some(message) = scalar_problem(scalar, Some(value)) {
                    self.report(message);
                }
            }
            Atom::Map(atom) => match value {
                Value::Object(fields) => self.map(&atom, fields),
                Value::Null => {}
                other => self.report(format!("expected map, got &{{{}}}", go_text::plain(other))),
            },
            Atom::List(atom) => match value {
                Value::Array(items) => self.list(&atom, items),
                Value::Null => {}
                other => self.report(format!("expected list, got &{{{}}}", go_text::plain(other))),
            },
        }
    }

    fn map<S: Schema>(&mut self, atom: &MapAtom<S>, fields: &'v Map<String, Value>) {
        for (name, field) in fields {
            self.path.push(Step::Field(name));
            let (schema, _) = atom.child(name);
            match schema {
                Some(schema) => self.value(schema, field),
                None => self.report("field not declared in schema".into()),
            }
            self.path.pop();
            if schema.is_none() {
                return;
            }
        }
    }

    fn list<S: Schema>(&mut self, atom: &ListAtom<S>, items: &'v [Value]) {
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let element = if atom.merge == ListMerge::Atomic {
                PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX))
            } else {
                match atom.element_of(item) {
                    Ok(element) => element,
                    Err(message) => return self.report(format!("element {i}: {message}")),
                }
            };
            if atom.merge != ListMerge::Atomic && self.duplicates == Duplicates::Refused {
                if seen.contains(&element) {
                    self.report(format!("duplicate entries for key {element}"));
                } else {
                    seen.insert(element.clone());
                }
            }
            self.path.push(Step::Element(element));
            self.value(atom.item, item);
            self.path.pop();
        }
    }

    fn report(&mut self, message: String) {
        let step = |step: &Step<'_>| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Element(element) => element.to_string(),
        };
        self.problems.push(Problem {
            path: self.path.iter().map(step).collect(),
            message,
        });
    }
}
