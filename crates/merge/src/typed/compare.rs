//! Compares two values.

use super::adding::added;
use super::atom::{Atom, ListAtom, MapAtom, resolve};
use super::error::Problems;
use super::validation::scalar_problem;
use crate::fieldset::{FieldSet, Filter, PathElement, equal};
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Map, Value};

/// The fields in which two values differ; no field is in two of the sets, but a value of another kind in its place.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let old = json!({"spec": {"size": 1, "colour": "red"}});
/// let new = json!({"spec": {"size": 1, "name": "a"}});
/// let changes = typed::compare(Deduced, &old, &new)?;
/// assert_eq!(changes.removed.paths()[0].to_string(), ".spec.colour");
/// assert_eq!(changes.added.paths()[0].to_string(), ".spec.name");
/// assert!(changes.modified.is_empty());
/// # Ok::<(), typed::Problems>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The fields that only the old value has.
    pub removed: FieldSet,
    /// The fields that both have, with different values.
    pub modified: FieldSet,
    /// The fields that only the new value has.
    pub added: FieldSet,
}

/// Compares two values of one type.
///
/// # Errors
///
/// Returns the problems of values that do not fit the schema.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let old = json!({"spec": {"size": 1, "colour": "red"}});
/// let new = json!({"spec": {"size": 2, "name": "a"}});
/// let changes = typed::compare(Deduced, &old, &new)?;
/// assert!(!changes.is_same());
/// assert_eq!(changes.modified.paths()[0].to_string(), ".spec.size");
/// # Ok::<(), typed::Problems>(())
/// ```
pub fn compare<S: Schema>(schema: S, old: &Value, new: &Value) -> Result<Comparison, Problems> {
    Ok(walk(schema, Some(old), Some(new), 0)?.below)
}

impl Comparison {
    /// Reports whether the values are the same for ownership; the order of list items may differ.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// The comparison limited to what counts.
    pub fn filtered(self, filter: Option<&Filter>) -> Comparison {
        match filter {
            None => self,
            Some(filter) => Comparison {
                removed: filter.apply(&self.removed),
                modified: filter.apply(&self.modified),
                added: filter.apply(&self.added),
            },
        }
    }
}

/// The difference at one path and below it.
#[derive(Default)]
struct Difference {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

/// The list that an item belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Old,
    New,
}

type Side<'v> = Option<&'v Value>;

fn walk<S: Schema>(
    schema: S,
    old: Side<'_>,
    new: Side<'_>,
    depth: usize,
) -> Result<Difference, Problems> {
    if depth > VALUE_DEPTH {
        return Err(Problems::too_deep());
    }
    let mut out = Difference::default();
    let atom = resolve(schema, new.or(old));
    if let (Some(old_value), Some(_)) = (old, new) {
        let old_atom = resolve(schema, Some(old_value));
        if !atom.same_kind(&old_atom) {
            out.treat(old_atom, old, new, depth)?;
        }
    }
    out.treat(atom, old, new, depth)?;
    Ok(out)
}

impl Difference {
    fn treat<S: Schema>(
        &mut self,
        atom: Atom<S>,
        old: Side<'_>,
        new: Side<'_>,
        depth: usize,
    ) -> Result<(), Problems> {
        let leaf = match atom {
            Atom::Scalar(scalar) => {
                let (o, n) = (scalar_problem(scalar, old), scalar_problem(scalar, new));
                if let (Some(o), Some(n)) = (o, n) {
                    let mut problems = Problems::new(format!("lhs: {o}"));
                    problems.0.extend(Problems::new(format!("rhs: {n}")).0);
                    return Err(problems);
                }
                true
            }
            Atom::Map(atom) => {
                let (o, n) = (entries(old), entries(new));
                let leaf = atom.atomic || (o.is_none() && n.is_none());
                if !leaf {
                    self.below.maps(&atom, o, n, depth)?;
                }
                leaf
            }
            Atom::List(atom) => {
                let (o, n) = (items(old), items(new));
                let leaf = atom.merge == ListMerge::Atomic || (o.is_empty() && n.is_empty());
                if !leaf {
                    self.below.lists(&atom, o, n, depth)?;
                }
                leaf
            }
        };
        match (old, new) {
            (None, _) => self.added = true,
            (_, None) => self.removed = true,
            (Some(old), Some(new)) => self.modified |= leaf && !equal(old, new),
        }
        Ok(())
    }

    fn is_nothing(&self) -> bool {
        !(self.removed || self.modified || self.added) && self.below.is_same()
    }
}

impl Comparison {
    fn maps<S: Schema>(
        &mut self,
        atom: &MapAtom<S>,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        depth: usize,
    ) -> Result<(), Problems> {
        let mut entry = |name: &str, old: Side<'_>, new: Side<'_>| -> Result<(), Problems> {
            let (schema, _) = atom.known_child(name)?;
            if let (None, Some(new)) = (old, new) {
                let below =
                    added(schema, new, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?;
                self.added.push(PathElement::field(name), true, below);
                return Ok(());
            }
            let difference =
                walk(schema, old, new, depth + 1).map_err(|e| e.below(format_args!(".{name}")))?;
            if !difference.is_nothing() {
                self.push(PathElement::field(name), difference);
            }
            Ok(())
        };
        for (name, value) in new.into_iter().flatten() {
            entry(name, old.and_then(|old| old.get(name)), Some(value))?;
        }
        for (name, value) in old.into_iter().flatten() {
            if new.is_none_or(|new| !new.contains_key(name)) {
                entry(name, Some(value), None)?;
            }
        }
        Ok(())
    }

    fn lists<'v, S: Schema>(
        &mut self,
        atom: &ListAtom<S>,
        old: &'v [Value],
        new: &'v [Value],
        depth: usize,
    ) -> Result<(), Problems> {
        if old.len() == new.len() && old.iter().zip(new).all(|(o, n)| equal(o, n)) {
            return Ok(());
        }
        // Items with the same element come together, those of the old list first.
        let mut items = Vec::with_capacity(old.len() + new.len());
        for (i, item) in old.iter().enumerate() {
            items.push((element(atom, i, item)?, Which::Old, item));
        }
        for (i, item) in new.iter().enumerate() {
            items.push((element(atom, i, item)?, Which::New, item));
        }
        items.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        for group in items.chunk_by(|(a, ..), (b, ..)| a == b) {
            let Some((element, ..)) = group.first() else {
                continue;
            };
            let (old, new) = group.split_at(group.partition_point(|(_, w, _)| *w == Which::Old));
            let item = |old: Side<'_>, new: Side<'_>| {
                walk(atom.item, old, new, depth + 1).map_err(|e| e.below(element))
            };
            let first = |side: &[(PathElement, Which, &'v Value)]| side.first().map(|(.., v)| *v);
            let difference = match (old, new) {
                ([] | [_], [] | [_]) => item(first(old), first(new))?,
                ([_, _, ..], [_, _, ..]) => {
                    let same =
                        old.len() == new.len() && old.iter().zip(new).all(|(o, n)| equal(o.2, n.2));
                    Difference {
                        modified: !same,
                        ..Difference::default()
                    }
                }
                // An item that occurred more than once is owned as a whole; now it is owned by its fields.
                ([_, _, ..], single) => {
                    let mut difference = match first(single) {
                        Some(new) => item(None, Some(new))?,
                        None => Difference::default(),
                    };
                    difference.removed = true;
                    difference
                }
                (single, _) => {
                    let mut difference = match first(single) {
                        Some(old) => item(Some(old), None)?,
                        None => Difference::default(),
                    };
                    difference.added = true;
                    difference
                }
            };
            if !difference.is_nothing() {
                self.push(element.clone(), difference);
            }
        }
        Ok(())
    }

    fn push(&mut self, element: PathElement, difference: Difference) {
        let Difference {
            removed,
            modified,
            added,
            below,
        } = difference;
        if removed || !below.removed.is_empty() {
            self.removed.push(element.clone(), removed, below.removed);
        }
        if modified || !below.modified.is_empty() {
            self.modified
                .push(element.clone(), modified, below.modified);
        }
        if added || !below.added.is_empty() {
            self.added.push(element, added, below.added);
        }
    }
}

fn element<S: Schema>(atom: &ListAtom<S>, i: usize, item: &Value) -> Result<PathElement, Problems> {
    atom.element_of(item)
        .map_err(|e| Problems::new(format!("element {i}: {e}")))
}

/// The entries of a map that has some.
fn entries(value: Side<'_>) -> Option<&Map<String, Value>> {
    value
        .and_then(Value::as_object)
        .filter(|fields| !fields.is_empty())
}

fn items(value: Side<'_>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
