//! The part of a schema that applies to the value at hand, and the path elements of list items.

use super::error::Problems;
use crate::fieldset::{KeyField, PathElement, equal};
use crate::schema::{ListMerge, Scalar, Schema, Shape};
use kubewright_machinery::go;
use serde_json::Value;
use std::sync::Arc;

/// The treatment of one value.
pub(super) enum Atom<S> {
    Map(MapAtom<S>),
    List(ListAtom<S>),
    Scalar(Scalar),
}

/// A struct or a map.
pub(super) struct MapAtom<S> {
    schema: S,
    pub(super) element: Option<S>,
    pub(super) atomic: bool,
    named: bool,
}

/// A list.
pub(super) struct ListAtom<S> {
    schema: S,
    pub(super) item: S,
    pub(super) merge: ListMerge,
}

/// Returns the treatment of a value. A value of any type is treated by its own type, and `null` as a map.
pub(super) fn resolve<S: Schema>(schema: S, value: Option<&Value>) -> Atom<S> {
    resolve_shape(schema, schema.shape(), value)
}

/// Returns the treatment of a value whose schema has this shape.
pub(super) fn resolve_shape<S: Schema>(
    schema: S,
    shape: Shape<S>,
    value: Option<&Value>,
) -> Atom<S> {
    match shape {
        Shape::Scalar(scalar) => Atom::Scalar(scalar),
        Shape::Struct { atomic, element } => Atom::Map(MapAtom {
            schema,
            element,
            atomic,
            named: true,
        }),
        Shape::Map { atomic, item } => Atom::Map(MapAtom {
            schema,
            element: Some(item),
            atomic,
            named: false,
        }),
        Shape::List { merge, item } => Atom::List(ListAtom {
            schema,
            item,
            merge,
        }),
        shape @ (Shape::Untyped | Shape::Deduced) => match value {
            Some(Value::Array(_)) => Atom::List(ListAtom {
                schema,
                item: schema,
                merge: ListMerge::Atomic,
            }),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Atom::Scalar(Scalar::Any),
            _ => {
                let atomic = matches!(shape, Shape::Untyped);
                Atom::Map(MapAtom {
                    schema,
                    element: Some(schema),
                    atomic,
                    named: false,
                })
            }
        },
    }
}

impl<S> Atom<S> {
    /// Reports whether both treat values alike; only values of any type can differ.
    pub(super) fn same_kind(&self, other: &Atom<S>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl<S: Schema> MapAtom<S> {
    /// The type of an entry, and whether it is a named field.
    pub(super) fn child(&self, name: &str) -> (Option<S>, bool) {
        match self.named.then(|| self.schema.field(name)).flatten() {
            Some(field) => (Some(field), true),
            None => (self.element, false),
        }
    }

    /// The type of an entry that must have one.
    pub(super) fn known_child(&self, name: &str) -> Result<(S, bool), Problems> {
        match self.child(name) {
            (Some(schema), named) => Ok((schema, named)),
            (None, _) => {
                Err(Problems::new("field not declared in schema").below(format_args!(".{name}")))
            }
        }
    }
}

impl<S: Schema> ListAtom<S> {
    /// The path element of an item of a list that merges.
    pub(super) fn element_of(&self, item: &Value) -> Result<PathElement, String> {
        match self.merge {
            ListMerge::Atomic => Err("invalid indexing of non-associative list".into()),
            ListMerge::Set => set_element(item),
            ListMerge::Map => self.keyed_element(item),
        }
    }

    /// The items by their path elements, in the order of these; none for an item that occurs more than once.
    pub(super) fn distinct<'v>(
        &self,
        items: &'v [Value],
    ) -> Result<Vec<(PathElement, Option<&'v Value>)>, Problems> {
        let mut found = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let element = self
                .element_of(item)
                .map_err(|e| Problems::new(format!("element {i}: {e}")))?;
            found.push((element, Some(item)));
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found.dedup_by(|(later, _), (earlier, item)| {
            let again = later == earlier;
            if again {
                *item = None;
            }
            again
        });
        Ok(found)
    }

    /// Reports whether an item has a path element, without building it.
    pub(super) fn check(&self, item: &Value) -> Result<(), String> {
        let fine = match (self.merge, item) {
            (ListMerge::Map, Value::Object(fields)) => self
                .keys()
                .any(|name| fields.contains_key(name) || self.schema.key_default(name).is_some()),
            (ListMerge::Set, Value::Bool(_) | Value::Number(_) | Value::String(_)) => true,
            _ => false,
        };
        if fine {
            Ok(())
        } else {
            self.element_of(item).map(drop)
        }
    }

    /// Reports whether two items have the same path element, without building it; `false` if one of them has none.
    pub(super) fn is_same(&self, a: &Value, b: &Value) -> bool {
        match (self.merge, a, b) {
            (ListMerge::Set, Value::Object(_) | Value::Array(_) | Value::Null, _) => false,
            (ListMerge::Set, a, b) => equal(a, b),
            (ListMerge::Map, Value::Object(a), Value::Object(b)) => {
                let mut any = false;
                let same = self.keys().all(|name| match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => {
                        any = true;
                        equal(a, b)
                    }
                    (None, None) => {
                        any |= self.schema.key_default(name).is_some();
                        true
                    }
                    (Some(given), None) | (None, Some(given)) => {
                        any = true;
                        self.schema
                            .key_default(name)
                            .is_some_and(|default| equal(given, &default))
                    }
                });
                same && any
            }
            _ => false,
        }
    }

    fn keyed_element(&self, item: &Value) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".into());
            }
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut keys = self.keys().filter_map(|name| {
            let given = fields.get(name).cloned();
            let value = given.or_else(|| self.schema.key_default(name))?;
            let name = name.into();
            Some(KeyField { name, value })
        });
        // Nearly all lists have one key.
        let keys: Arc<[KeyField]> = match (keys.next(), keys.next()) {
            (Some(only), None) => Arc::new([only]),
            (first, second) => {
                let mut all: Vec<_> = first.into_iter().chain(second).chain(keys).collect();
                all.sort_by(|a, b| a.name.cmp(&b.name));
                all.into()
            }
        };
        if keys.is_empty() {
            let names: Vec<_> = self.keys().map(go::quote).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::Key(keys))
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|i| self.schema.key(i))
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => {
            Err("associative list without keys has an element that's a map type".into())
        }
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        scalar => Ok(PathElement::value(scalar.clone())),
    }
}
