//! Lists that merge: the types of their items, and the order of the result.

use super::{DIRECTIVE, Error, bad_order, internal, no_merge_key, wrong_type};
use crate::fieldset::compare_values;
use kubewright_machinery::go;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Lists up to this length are sorted by insertion.
const SMALL: usize = 20;

/// The type of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Objects,
    Scalars,
}

/// A value in the order of values, to look it up.
#[derive(Clone)]
pub(super) struct Scalar(pub(super) Value);

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_values(&self.0, &other.0)
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scalar {}

/// Reports whether two values have the same type; integers and floats differ.
pub(super) fn same_type(a: &Value, b: &Value) -> bool {
    go::type_name(a) == go::type_name(b)
}

/// Returns the type of the items of all lists, which must be the same.
pub(super) fn kind_of(lists: &[&[Value]]) -> Result<Kind, Error> {
    let mut items = lists.iter().copied().flatten();
    let Some(first) = items.next() else {
        return Err(internal("no elements in any of the given slices".into()));
    };
    if first.is_array() {
        return Err(Error::Unprocessable(
            "lists of lists are not supported".into(),
        ));
    }
    if first.is_null() || !items.all(|item| same_type(first, item)) {
        let printed: Vec<_> = lists
            .iter()
            .map(|list| go::display(&Value::Array(list.to_vec())))
            .collect();
        let printed = printed.join(" ");
        return Err(internal(format!(
            "list element types are not identical: [{printed}]"
        )));
    }
    Ok(if first.is_object() {
        Kind::Objects
    } else {
        Kind::Scalars
    })
}

/// Returns the index of the first item with each key.
pub(super) fn places(items: &[Value], key: &str) -> BTreeMap<Scalar, usize> {
    let mut places = BTreeMap::new();
    for (i, item) in items.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(Scalar(value.clone())).or_insert(i);
        }
    }
    places
}

/// The items with nothing but their keys.
pub(super) fn keys_only(items: &[Value], key: &str) -> Vec<Value> {
    let item = |item: &Value| {
        let value = item.get(key).map(|value| (key.to_owned(), value.clone()));
        Value::Object(value.into_iter().collect())
    };
    items.iter().map(item).collect()
}

/// The scalars of `items` that are not in `unwanted`.
pub(super) fn without(items: Vec<Value>, unwanted: &[Value]) -> Vec<Value> {
    let unwanted: BTreeSet<Scalar> = unwanted.iter().cloned().map(Scalar).collect();
    items
        .into_iter()
        .filter(|item| !unwanted.contains(&Scalar(item.clone())))
        .collect()
}

/// Each scalar once.
pub(super) fn deduplicated(items: Vec<Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    items
        .into_iter()
        .filter(|item| seen.insert(Scalar(item.clone())))
        .collect()
}

/// Checks that a patch names its items in the order that its `$setElementOrder` demands, and no others.
pub(super) fn check_order(
    patch: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), Error> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut wanted = Vec::with_capacity(patch.len());
    for item in patch {
        match (item, key) {
            (Value::Object(_), Some(_)) if deletes(item) => {}
            (Value::Object(_), _) | (_, None) => wanted.push(item),
            (other, Some(_)) => return Err(wrong_type("map[string]interface {}", other)),
        }
    }
    let mut wanted = wanted.into_iter().peekable();
    let mut places = order.iter().peekable();
    while let (Some(item), Some(place)) = (wanted.peek(), places.peek()) {
        if item.get(DIRECTIVE).is_some() {
            wanted.next();
            continue;
        }
        if key_value(item, key)? == key_value(place, key)? {
            wanted.next();
        }
        places.next();
    }
    if wanted.peek().is_none() {
        return Ok(());
    }
    let print = |items: &[Value]| go::display(&Value::Array(items.to_vec()));
    Err(internal(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        print(patch),
        print(order)
    )))
}

/// The order of the live list for a patch that also names an order: what follows a deleted item moves up, and new items
/// take the places that become free at the end.
pub(super) fn with_places_reused(live: &[Value], patch: &[Value], key: Option<&str>) -> Vec<Value> {
    let (Some(key), true) = (key, patch.iter().any(deletes)) else {
        return live.to_vec();
    };
    let gone: BTreeSet<Scalar> = patch
        .iter()
        .filter(|item| deletes(item))
        .filter_map(|item| item.get(key).cloned().map(Scalar))
        .collect();
    let key_of = |item: &Value| item.get(key).cloned().map(Scalar);
    let is_gone = |item: &&Value| key_of(item).is_some_and(|value| gone.contains(&value));
    let mut order: Vec<Value> = live.iter().filter(|item| !is_gone(item)).cloned().collect();
    let mut known: BTreeSet<Scalar> = order.iter().filter_map(key_of).collect();
    let replaces = patch
        .iter()
        .any(|i| i.get(DIRECTIVE).and_then(Value::as_str) == Some("replace"));
    for item in patch
        .iter()
        .filter(|item| !replaces && item.get(DIRECTIVE).is_none())
    {
        if order.len() == live.len() {
            break;
        }
        if key_of(item).is_some_and(|value| known.insert(value)) {
            order.push(item.clone());
        }
    }
    order
}

/// Puts the items of a merged list in order.
///
/// Items that `named` has come in the order of `order`, the others in the order of `live`; both are then interleaved so
/// that the order of `live` holds where it can.
pub(super) fn arrange(
    merged: Vec<Value>,
    named: &[Value],
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
    kind: Kind,
) -> Result<Vec<Value>, Error> {
    arrange_checked(merged, named, order, live, key, Ok(kind))
}

/// Arranges like [`arrange`], but reports errors of types after errors of keys.
pub(super) fn arrange_checked(
    merged: Vec<Value>,
    named: &[Value],
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
    kind: Result<Kind, Error>,
) -> Result<Vec<Value>, Error> {
    let (named, others) = partition(merged, named, key)?;
    let kind = kind?;
    let lookup = match kind {
        Kind::Objects => key.unwrap_or_default(),
        Kind::Scalars => "",
    };
    let rank_named = Ranks::new(order, lookup, kind);
    let rank_live = Ranks::new(live, lookup, kind);
    if kind == Kind::Objects {
        for list in [&named[..], order, &others[..], live] {
            check_keys(list, lookup)?;
        }
    }
    let named = sort(named, &rank_named, kind);
    let others = sort(others, &rank_live, kind);
    Ok(interleave(others, named, &rank_live))
}

/// The items of a patch in the order of the list they come from, deletions last.
pub(super) fn in_order_of(
    items: Vec<Value>,
    order: &[Value],
    key: Option<&str>,
    kind: Kind,
) -> Result<Vec<Value>, Error> {
    let lookup = if kind == Kind::Objects {
        key.unwrap_or_default()
    } else {
        ""
    };
    if kind == Kind::Objects {
        check_keys(&items, lookup)?;
        check_keys(order, lookup)?;
    }
    Ok(sort(items, &Ranks::new(order, lookup, kind), kind))
}

/// Returns the value of the merge key, or the item itself if there is none.
pub(super) fn key_value<'v>(item: &'v Value, key: Option<&str>) -> Result<&'v Value, Error> {
    let Some(key) = key else { return Ok(item) };
    let fields = as_map(item)?;
    fields.get(key).ok_or_else(|| no_merge_key(fields, key))
}

pub(super) fn as_map(item: &Value) -> Result<&Map<String, Value>, Error> {
    item.as_object()
        .ok_or_else(|| wrong_type("map[string]interface {}", item))
}

/// Reports whether an item of a patch is a directive to delete.
fn deletes(item: &Value) -> bool {
    item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

fn check_keys(items: &[Value], key: &str) -> Result<(), Error> {
    items
        .iter()
        .try_for_each(|item| key_value(item, Some(key)).map(drop))
}

/// Splits items into those that `named` has and the others.
fn partition(
    items: Vec<Value>,
    named: &[Value],
    key: Option<&str>,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let Some(key) = key else {
        let named: BTreeSet<Scalar> = named.iter().cloned().map(Scalar).collect();
        return Ok(items
            .into_iter()
            .partition(|item| named.contains(&Scalar(item.clone()))));
    };
    if let Some(at) = named.iter().position(|item| !item.is_object()) {
        return Err(if items.is_empty() {
            bad_order()
        } else {
            not_a_map(at)
        });
    }
    let places = places(named, key);
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for item in items {
        let value = Scalar(key_value(&item, Some(key))?.clone());
        if places.contains_key(&value) {
            ours.push(item)
        } else {
            others.push(item)
        }
    }
    Ok((ours, others))
}

fn not_a_map(at: usize) -> Error {
    internal(format!("value for key {at} is not a map"))
}

/// The position of each item in a list.
struct Ranks<'k> {
    places: BTreeMap<Scalar, usize>,
    key: Option<&'k str>,
}

impl<'k> Ranks<'k> {
    fn new(list: &[Value], key: &'k str, kind: Kind) -> Self {
        if kind == Kind::Objects {
            return Ranks {
                places: places(list, key),
                key: Some(key),
            };
        }
        let mut places = BTreeMap::new();
        for (i, item) in list.iter().enumerate() {
            places.entry(Scalar(item.clone())).or_insert(i);
        }
        Ranks { places, key: None }
    }

    fn of(&self, item: &Value) -> Option<usize> {
        let value = match self.key {
            None => item,
            Some(key) => item.get(key)?,
        };
        self.places.get(&Scalar(value.clone())).copied()
    }
}

/// Sorts items by rank; an item without one stays before the items it is compared with. Deletions go last.
fn sort(items: Vec<Value>, ranks: &Ranks<'_>, kind: Kind) -> Vec<Value> {
    let (deletions, items): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|item| kind == Kind::Objects && deletes(item));
    let mut ranked: Vec<(Option<usize>, Value)> = items
        .into_iter()
        .map(|item| (ranks.of(&item), item))
        .collect();
    if ranked.len() > SMALL || ranked.iter().all(|(rank, _)| rank.is_some()) {
        ranked.sort_by_key(|(rank, _)| *rank);
    } else {
        // An item without a rank goes before the item it is compared with, so the sorting algorithm is visible in the
        // result.
        for i in 1..ranked.len() {
            for j in (1..=i).rev() {
                let goes_first = match (&ranked[j].0, &ranked[j - 1].0) {
                    (Some(a), Some(b)) => a < b,
                    _ => true,
                };
                if !goes_first {
                    break;
                }
                ranked.swap(j, j - 1);
            }
        }
    }
    ranked
        .into_iter()
        .map(|(_, item)| item)
        .chain(deletions)
        .collect()
}

/// Puts `left` into `right`, each item before the first one that `ranks` has after it.
fn interleave(left: Vec<Value>, right: Vec<Value>, ranks: &Ranks<'_>) -> Vec<Value> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => return out,
            (Some(_), None) => left.next(),
            (None, Some(_)) => right.next(),
            (Some(l), Some(r)) => match (ranks.of(l), ranks.of(r)) {
                (Some(l), Some(r)) if l < r => left.next(),
                _ => right.next(),
            },
        };
        out.extend(next);
    }
}
