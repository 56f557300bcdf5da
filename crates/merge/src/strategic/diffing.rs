//! Computes patches.

use super::lists::{self, Kind};
use super::{
    DELETE_FROM_LIST, DIRECTIVE, Error, PatchSchema, RETAIN_KEYS, SET_ORDER, Strategy, internal,
    list_field, object_field,
};
use kubewright_machinery::go;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// The contents of a patch.
#[derive(Clone, Copy)]
pub(super) struct Options {
    order: bool,
    changes: bool,
    deletions: bool,
    retain_keys: bool,
}

impl Options {
    /// Everything.
    pub(super) const ALL: Options = Options {
        order: true,
        changes: true,
        deletions: true,
        retain_keys: false,
    };
    /// The options for changes and additions.
    pub(super) const CHANGES: Options = Options {
        deletions: false,
        ..Options::ALL
    };
    /// The options for deletions.
    pub(super) const DELETIONS: Options = Options {
        changes: false,
        ..Options::ALL
    };
    /// Everything but the order of lists.
    pub(super) const UNORDERED: Options = Options {
        order: false,
        ..Options::ALL
    };
}

type Fields = Map<String, Value>;

/// The patch that turns `original` into `modified`.
pub(super) fn diff_maps<S: PatchSchema>(
    original: &Fields,
    modified: &Fields,
    schema: Option<S>,
    options: Options,
) -> Result<Fields, Error> {
    let mut patch = Fields::new();
    for (name, wanted) in modified {
        let Some(found) = original.get(name) else {
            if options.changes {
                patch.insert(name.clone(), wanted.clone());
            }
            continue;
        };
        if name == DIRECTIVE {
            if !(found.is_string() && wanted.is_string()) {
                return Err(internal(format!(
                    "invalid value for special key: {DIRECTIVE}"
                )));
            }
            if found != wanted {
                patch.insert(name.clone(), wanted.clone());
            }
            continue;
        }
        match (found, wanted) {
            (Value::Object(found), Value::Object(wanted)) => {
                diff_object(name, found, wanted, &mut patch, schema, options)?;
            }
            (Value::Array(found), Value::Array(wanted)) => {
                diff_list(name, found, wanted, &mut patch, schema, options)?;
            }
            _ if options.changes && found != wanted => {
                patch.insert(name.clone(), wanted.clone());
            }
            _ => {}
        }
    }
    let gone = || {
        original
            .iter()
            .filter(|(name, _)| !modified.contains_key(*name))
    };
    if options.deletions {
        patch.extend(gone().map(|(name, _)| (name.clone(), Value::Null)));
    }
    if options.retain_keys {
        let mut kept: Vec<&String> = modified
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, _)| name)
            .collect();
        if !kept.is_empty() && (!patch.is_empty() || gone().any(|(_, value)| !value.is_null())) {
            kept.sort();
            let kept = kept.into_iter().cloned().map(Value::String).collect();
            patch.insert(RETAIN_KEYS.to_owned(), kept);
        }
    }
    Ok(patch)
}

fn diff_object<S: PatchSchema>(
    name: &str,
    original: &Fields,
    modified: &Fields,
    patch: &mut Fields,
    schema: Option<S>,
    options: Options,
) -> Result<(), Error> {
    let field = match object_field(schema, name) {
        Ok(field) => field,
        Err(_) if original == modified => return Ok(()),
        Err(e) => return Err(e),
    };
    if field.strategy == Strategy::Replace {
        if options.changes {
            patch.insert(name.to_owned(), Value::Object(modified.clone()));
        }
        return Ok(());
    }
    let options = Options {
        retain_keys: field.retain_keys,
        ..options
    };
    let inner = diff_maps(original, modified, Some(field.schema), options)?;
    if !inner.is_empty() {
        patch.insert(name.to_owned(), Value::Object(inner));
    }
    Ok(())
}

/// The part of a patch for a list that merges.
#[derive(Default)]
struct ListPatch {
    items: Vec<Value>,
    deletions: Vec<Value>,
    order: Vec<Value>,
}

fn diff_list<S: PatchSchema>(
    name: &str,
    original: &[Value],
    modified: &[Value],
    patch: &mut Fields,
    schema: Option<S>,
    options: Options,
) -> Result<(), Error> {
    let field = match list_field(schema, name) {
        Ok(field) => field,
        Err(_) if original == modified => return Ok(()),
        Err(e) => return Err(e),
    };
    if field.strategy != Strategy::Merge {
        if options.changes && original != modified {
            patch.insert(name.to_owned(), Value::Array(modified.to_vec()));
        }
        return Ok(());
    }
    let options = Options {
        retain_keys: field.retain_keys,
        ..options
    };
    let lists = diff_items(original, modified, field.schema, field.merge_key, options)?;
    let mut put = |name: String, items: Vec<Value>| {
        if !items.is_empty() {
            patch.insert(name, Value::Array(items));
        }
    };
    put(name.to_owned(), lists.items);
    put(format!("{DELETE_FROM_LIST}/{name}"), lists.deletions);
    put(format!("{SET_ORDER}/{name}"), lists.order);
    Ok(())
}

fn diff_items<S: PatchSchema>(
    original: &[Value],
    modified: &[Value],
    schema: S,
    key: Option<&'static str>,
    options: Options,
) -> Result<ListPatch, Error> {
    if original.is_empty() {
        let items = if options.changes {
            modified.to_vec()
        } else {
            Vec::new()
        };
        return Ok(ListPatch {
            items,
            ..ListPatch::default()
        });
    }
    let kind = lists::kind_of(&[original, modified])?;
    if kind == Kind::Scalars {
        let (items, deletions) = diff_scalars(original, modified, options);
        let items = lists::in_order_of(items, modified, key, kind)?;
        // The order is included unless the list has all the scalars in the order of their text.
        let sorted = sorted_by_text(original, None);
        let reordered = !sorted.iter().map(|(_, value)| *value).eq(modified);
        let ordered = options.order
            && ((options.deletions && !deletions.is_empty()) || (options.changes && reordered));
        let order = if ordered {
            modified.to_vec()
        } else {
            Vec::new()
        };
        return Ok(ListPatch {
            items,
            deletions,
            order,
        });
    }
    let key = key.unwrap_or_default();
    let (items, deletions) = diff_objects(original, modified, schema, key, options)?;
    let mut items = lists::in_order_of(items, modified, Some(key), kind)?;
    let mut same_order = original.len() == modified.len();
    for (o, m) in original
        .iter()
        .zip(modified)
        .take_while(|_| original.len() == modified.len())
    {
        same_order &= lists::key_value(o, Some(key))? == lists::key_value(m, Some(key))?;
    }
    items.extend(deletions);
    let ordered = options.order
        && ((options.changes && (!items.is_empty() || !same_order))
            || (options.deletions && !items.is_empty()));
    let order = if ordered {
        lists::keys_only(modified, key)
    } else {
        Vec::new()
    };
    Ok(ListPatch {
        items,
        deletions: Vec::new(),
        order,
    })
}

/// Returns the scalars to add and to delete; both lists are compared as sorted text.
fn diff_scalars(
    original: &[Value],
    modified: &[Value],
    options: Options,
) -> (Vec<Value>, Vec<Value>) {
    let (original, modified) = (
        sorted_by_text(original, None),
        sorted_by_text(modified, None),
    );
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    walk_sorted(&original, &modified, |old, new| {
        match (old, new) {
            (Some(old), None) if options.deletions => deleted.push(old.clone()),
            (None, Some(new)) if options.changes => added.push(new.clone()),
            _ => {}
        }
        Ok(())
    })
    .unwrap_or_default();
    (added, deduplicated_by_swapping(deleted))
}

/// Returns the objects to add or change, and the directives that delete.
fn diff_objects<S: PatchSchema>(
    original: &[Value],
    modified: &[Value],
    schema: S,
    key: &str,
    options: Options,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    for item in original.iter().chain(modified) {
        lists::key_value(item, Some(key))?;
    }
    let original = sorted_by_text(original, Some(key));
    let modified = sorted_by_text(modified, Some(key));
    let (mut changed, mut deleted) = (Vec::new(), Vec::new());
    walk_sorted(&original, &modified, |old, new| {
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut patch = diff_maps(
                    lists::as_map(old)?,
                    lists::as_map(new)?,
                    Some(schema),
                    options,
                )?;
                if !patch.is_empty() {
                    patch.insert(key.to_owned(), lists::key_value(new, Some(key))?.clone());
                    changed.push(Value::Object(patch));
                }
            }
            (None, Some(new)) if options.changes => changed.push(new.clone()),
            (Some(old), None) if options.deletions => {
                let mut directive = Fields::new();
                directive.insert(key.to_owned(), lists::key_value(old, Some(key))?.clone());
                directive.insert(DIRECTIVE.to_owned(), "delete".into());
                deleted.push(Value::Object(directive));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok((changed, deleted))
}

/// Returns the items with their sort keys.
fn sorted_by_text<'v>(items: &'v [Value], key: Option<&str>) -> Vec<(String, &'v Value)> {
    let text = |item: &Value| match key {
        None => go::display(item),
        Some(key) => item.get(key).map_or_else(String::new, go::display),
    };
    let mut items: Vec<_> = items.iter().map(|item| (text(item), item)).collect();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items
}

/// Walks two sorted lists side by side.
fn walk_sorted(
    original: &[(String, &Value)],
    modified: &[(String, &Value)],
    mut visit: impl FnMut(Option<&Value>, Option<&Value>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut original = original.iter().peekable();
    let mut modified = modified.iter().peekable();
    loop {
        let order = match (original.peek(), modified.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(o), Some(m)) => o.0.cmp(&m.0),
        };
        let old = if order.is_le() { original.next() } else { None };
        let new = if order.is_ge() { modified.next() } else { None };
        visit(old.map(|o| o.1), new.map(|m| m.1))?;
    }
}

/// Each scalar once; the last one takes the place of a repeated one, as patches of Kubernetes have it.
fn deduplicated_by_swapping(mut items: Vec<Value>) -> Vec<Value> {
    let mut i = 0;
    while i < items.len() {
        let mut j = i + 1;
        while j < items.len() {
            if items[i] == items[j] {
                items.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
    items
}
