//! Merges a patch into an object, or into another patch.

use super::lists::{self, Kind};
use super::{
    DELETE_FROM_LIST, DIRECTIVE, Error, PatchField, PatchSchema, RETAIN_KEYS, SET_ORDER, Strategy,
    bad_order, bad_retain_keys, internal, list_field, no_merge_key, object_field,
    unknown_directive, wrong_type,
};
use kubewright_machinery::go;
use serde_json::{Map, Value};

/// The target of a merge.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// An object: directives for lists are carried out. Otherwise a patch: they are kept.
    carry_out: bool,
    /// A `null` for a member that is not there is dropped.
    drop_unmatched_nulls: bool,
}

impl Options {
    pub(super) const APPLY: Options = Options {
        carry_out: true,
        drop_unmatched_nulls: true,
    };
    pub(super) const COMBINE: Options = Options {
        carry_out: false,
        drop_unmatched_nulls: false,
    };
}

/// Merges `patch` into `original`.
pub(super) fn merge_map<S: PatchSchema>(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: Option<S>,
    options: Options,
) -> Result<Map<String, Value>, Error> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch, options)?;
    set_orders(&mut original, &mut patch, schema, options)?;
    for (name, value) in patch {
        merge_member(&mut original, name, value, schema, options)?;
    }
    Ok(original)
}

fn merge_member<S: PatchSchema>(
    original: &mut Map<String, Value>,
    name: String,
    value: Value,
    schema: Option<S>,
    options: Options,
) -> Result<(), Error> {
    let deletes = name.starts_with(DELETE_FROM_LIST);
    if deletes && !options.carry_out {
        original.insert(name, value);
        return Ok(());
    }
    let name = if deletes {
        let list = list_of(&name, DELETE_FROM_LIST)
            .ok_or_else(|| Error::BadRequest("invalid patch format of primitive list".into()))?;
        if list.is_empty() {
            name
        } else {
            list.to_owned()
        }
    } else {
        name
    };
    if value.is_null() {
        original.remove(&name);
        if options.drop_unmatched_nulls {
            return Ok(());
        }
    }
    let merged = match (original.get_mut(&name), value) {
        (Some(Value::Object(found)), Value::Object(patch)) => {
            let field = object_field(schema, &name)?;
            if field.strategy == Strategy::Replace {
                Value::Object(patch)
            } else {
                let found = std::mem::take(found);
                Value::Object(merge_map(found, patch, Some(field.schema), options)?)
            }
        }
        (Some(Value::Array(found)), Value::Array(patch)) => {
            let field = list_field(schema, &name)?;
            Value::Array(merge_list(
                std::mem::take(found),
                patch,
                &field,
                deletes,
                options,
            )?)
        }
        _ if deletes => return Ok(()),
        (found, mut value) => {
            let same_type = found.is_some_and(|found| lists::same_type(found, &value));
            if options.drop_unmatched_nulls && !same_type {
                discard_nulls(&mut value);
            }
            match without_directives(value) {
                Some(value) => value,
                None => {
                    original.remove(&name);
                    return Ok(());
                }
            }
        }
    };
    original.insert(name, merged);
    Ok(())
}

/// Merges two lists of a field by its strategy; `deletes`: the patch names scalars to take out.
fn merge_list<S: PatchSchema>(
    original: Vec<Value>,
    patch: Vec<Value>,
    field: &PatchField<S>,
    deletes: bool,
    options: Options,
) -> Result<Vec<Value>, Error> {
    if field.strategy != Strategy::Merge && !deletes {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let kind = lists::kind_of(&[&original, &patch])?;
    if kind != Kind::Objects {
        if options.carry_out && deletes {
            return Ok(lists::without(original, &patch));
        }
        let merged = lists::deduplicated(original.iter().chain(&patch).cloned().collect());
        return lists::arrange(merged, &patch, &patch, &original, field.merge_key, kind);
    }
    let Some(key) = field.merge_key else {
        let kind = match field.schema.holder() {
            super::Holder::Struct(_) => "struct",
            super::Holder::Other(kind) => kind,
        };
        return Err(internal(format!(
            "cannot merge lists without merge key for {kind}"
        )));
    };
    let (original, patch) = special_items(original, patch, key)?;
    let order = lists::keys_only(&original, key);
    let wanted = lists::keys_only(&patch, key);
    let merged = merge_items(original, patch, key, field.schema, options)?;
    lists::arrange(merged, &wanted, &wanted, &order, Some(key), kind)
}

/// Executes the directives among the items of a patch. Returns the lists that are left to merge.
fn special_items(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        let Value::Object(fields) = &item else {
            return Err(wrong_type("map[string]interface {}", &item));
        };
        match fields
            .get(DIRECTIVE)
            .map(|directive| (directive, directive.as_str()))
        {
            None => rest.push(item),
            Some((_, Some("delete"))) => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                original.retain(|found| found.get(key) != Some(value));
            }
            Some((_, Some("replace"))) => replaces = true,
            Some((_, Some("merge"))) => {
                return Err(internal(
                    "merging lists cannot yet be specified in the patch".into(),
                ));
            }
            Some((directive, _)) => return Err(unknown_directive(directive, fields)),
        }
    }
    Ok(if replaces {
        (rest, Vec::new())
    } else {
        (original, rest)
    })
}

fn merge_items<S: PatchSchema>(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    schema: S,
    options: Options,
) -> Result<Vec<Value>, Error> {
    let mut places = lists::places(&original, key);
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(wrong_type("map[string]interface {}", &item));
        };
        let value = fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?;
        let place = lists::Scalar(value.clone());
        match places
            .get(&place)
            .copied()
            .and_then(|at| original.get_mut(at))
        {
            Some(Value::Object(found)) => {
                let found_fields = std::mem::take(found);
                *found = merge_map(found_fields, fields, Some(schema), options)?;
                // The item may have got another key, or lost it.
                if found.get(key) != Some(&place.0) {
                    places = lists::places(&original, key);
                }
            }
            _ => {
                places.insert(place, original.len());
                original.push(Value::Object(fields));
            }
        }
    }
    Ok(original)
}

/// Executes `$retainKeys`.
fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    options: Options,
) -> Result<(), Error> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    if !options.carry_out {
        return match original.get(RETAIN_KEYS) {
            None => {
                original.insert(RETAIN_KEYS.to_owned(), keys);
                Ok(())
            }
            Some(found) if *found == keys => Ok(()),
            Some(found) => Err(internal(format!(
                "{} and {} are not deep equal: this may happen when calculating the 3-way diff patch",
                go::display(found),
                go::display(&keys)
            ))),
        };
    }
    let Value::Array(keys) = keys else {
        return Err(bad_retain_keys());
    };
    let kept: std::collections::BTreeSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let exempt = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER);
    for (name, value) in patch.iter() {
        if !value.is_null() && !exempt(name) && !kept.contains(name.as_str()) {
            return Err(bad_retain_keys());
        }
    }
    original.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

/// Executes every `$setElementOrder` together with the list it is for.
fn set_orders<S: PatchSchema>(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: Option<S>,
    options: Options,
) -> Result<(), Error> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        if !options.carry_out {
            match original.get(&directive) {
                Some(found) if *found != order => return Err(bad_order()),
                Some(_) => {}
                None => _ = original.insert(directive.clone(), order.clone()),
            }
        }
        let Value::Array(order) = order else {
            return Err(wrong_type("[]interface {}", &order));
        };
        let name = list_of(&directive, SET_ORDER).ok_or_else(bad_order)?;
        set_order(original, patch, name, &order, schema, options)?;
    }
    Ok(())
}

fn set_order<S: PatchSchema>(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    name: &str,
    order: &[Value],
    schema: Option<S>,
    options: Options,
) -> Result<(), Error> {
    let list = |value: Option<&Value>| match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(wrong_type("[]interface {}", other)),
    };
    let found = list(original.get(name))?;
    let wanted = list(patch.get(name))?;
    let field = list_field(schema, name)?;
    let key = field.merge_key;
    lists::check_order(wanted.as_deref().unwrap_or_default(), order, key)?;
    let kinds = |found: &[Value], wanted: &[Value]| lists::kind_of(&[found, wanted]);
    let (merged, live, kind) = match (found, wanted) {
        (None, None) => return Ok(()),
        (Some(found), None) => {
            let kind = kinds(&found, &[]);
            (found.clone(), found, kind)
        }
        (None, Some(wanted)) => {
            let kind = kinds(&[], &wanted);
            let items = wanted.into_iter().filter_map(without_directives).collect();
            (items, Vec::new(), kind)
        }
        (Some(found), Some(wanted)) => {
            let kind = kinds(&found, &wanted);
            let live = lists::with_places_reused(&found, &wanted, key);
            (
                merge_list(found, wanted, &field, false, options)?,
                live,
                kind,
            )
        }
    };
    let arranged = lists::arrange_checked(merged, order, order, &live, key, kind)?;
    original.insert(name.to_owned(), Value::Array(arranged));
    patch.remove(name);
    Ok(())
}

/// The list that a directive such as `$setElementOrder/containers` is for.
fn list_of<'a>(directive: &'a str, prefix: &str) -> Option<&'a str> {
    let (found, list) = directive.split_once('/')?;
    (found == prefix).then_some(list)
}

/// The value without objects that are directives; none if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        ),
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        scalar => Some(scalar),
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}
