//! Finds conflicts between two patches.

use super::lists::{self, Kind};
use super::{
    DIRECTIVE, Error, PatchSchema, RETAIN_KEYS, Strategy, internal, list_field, object_field,
};
use kubewright_machinery::go;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The way a value merges, as far as it matters for conflicts.
#[derive(Clone, Copy)]
struct Place<S> {
    schema: Option<S>,
    strategy: Strategy,
    key: Option<&'static str>,
}

/// Reports whether two patches for one object conflict.
pub(super) fn in_maps<S: PatchSchema>(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    schema: Option<S>,
) -> Result<bool, Error> {
    let place = Place {
        schema,
        strategy: Strategy::Default,
        key: None,
    };
    maps(left, right, place)
}

fn values<S: PatchSchema>(left: &Value, right: &Value, place: Place<S>) -> Result<bool, Error> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => maps(left, right, place),
        (Value::Array(left), Value::Array(right)) => items(left, right, place),
        (left, right) => Ok(left != right),
    }
}

fn maps<S: PatchSchema>(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    place: Place<S>,
) -> Result<bool, Error> {
    if left.get(DIRECTIVE) != right.get(DIRECTIVE) {
        return Ok(true);
    }
    if place.strategy == Strategy::Replace {
        return Ok(false);
    }
    for (name, left) in left {
        if name == DIRECTIVE || name == RETAIN_KEYS {
            continue;
        }
        let Some(right) = right.get(name) else {
            continue;
        };
        let field = match left {
            Value::Array(_) => Some(list_field(place.schema, name)?),
            Value::Object(_) => Some(object_field(place.schema, name)?),
            _ => None,
        };
        let place = match field {
            Some(f) => Place {
                schema: Some(f.schema),
                strategy: f.strategy,
                key: f.merge_key,
            },
            None => Place {
                schema: None,
                strategy: Strategy::Default,
                key: None,
            },
        };
        if values(left, right, place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn items<S: PatchSchema>(left: &[Value], right: &[Value], place: Place<S>) -> Result<bool, Error> {
    let kind = lists::kind_of(&[left, right])?;
    let item = Place {
        schema: place.schema,
        strategy: Strategy::Default,
        key: None,
    };
    if place.strategy == Strategy::Merge {
        if kind == Kind::Scalars {
            return Ok(false);
        }
        let (left, right) = (by_key(left, place.key)?, by_key(right, place.key)?);
        for (key, left) in left {
            if let Some(right) = right.get(&key)
                && values(left, right, item)?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    if left.len() != right.len() {
        return Ok(true);
    }
    let sorted = |list: &[Value]| {
        let mut list = list.to_vec();
        if kind == Kind::Scalars {
            list = lists::deduplicated(list);
            list.sort_by_key(go::display);
        }
        list
    };
    let (left, right) = (sorted(left), sorted(right));
    for (left, right) in left.iter().zip(&right) {
        if values(left, right, item)? {
            return Ok(true);
        }
    }
    Ok(left.len() != right.len())
}

fn by_key<'v>(items: &'v [Value], key: Option<&str>) -> Result<BTreeMap<String, &'v Value>, Error> {
    let key = key.unwrap_or_default();
    let entry = |item: &'v Value| {
        let value = item.get(key).ok_or_else(|| {
            let item = go::display(item);
            internal(format!(
                "cannot find merge key `{key}` in merging list element:{item}"
            ))
        })?;
        Ok((go::display(value), item))
    };
    items.iter().map(entry).collect()
}
