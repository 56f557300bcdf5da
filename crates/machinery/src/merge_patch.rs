//! Applies JSON merge patches (RFC 7386), and computes them from two or three documents.
//!
//! [`apply`] is what the server does with `application/merge-patch+json`; [`diff`] and [`diff3`] are what clients
//! compute, `diff3` the way `kubectl apply` does for kinds without strategic merge.
//!
//! One departure from the RFC, which clients can observe: a value that is new or takes the place of something that is
//! no object loses the `null` members of its objects, also inside arrays.

#[cfg(test)]
mod tests;

use crate::limits::{VALUE_DEPTH, depth_of};
use serde_json::{Map, Value};

/// A merge patch that cannot be applied or computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is not an object or array.
    #[error("Invalid JSON Patch")]
    BadPatch,
    /// A document is not what the operation needs.
    #[error("Invalid JSON Document")]
    BadDocument,
    /// A document nests too deep.
    #[error("exceeded max depth")]
    TooDeep,
    /// The requested change and the requested deletion contradict each other.
    #[error(
        "patch:\n{changes}\nconflicts with changes made from original to current:\n{deletions}\n"
    )]
    Conflict {
        /// Additions and changes, as JSON.
        changes: String,
        /// The deletions, as JSON.
        deletions: String,
    },
}

/// Applies `patch` to `document` in place. An array as patch replaces the document.
///
/// # Errors
///
/// Returns an error if the document or the patch is not an object, or nests too deep.
///
/// ```
/// use kubewright_machinery::merge_patch;
/// use serde_json::json;
///
/// let mut document = json!({"a": 1, "b": 2});
/// merge_patch::apply(&mut document, json!({"a": null, "c": 3}))?;
/// assert_eq!(document, json!({"b": 2, "c": 3}));
/// # Ok::<(), merge_patch::Error>(())
/// ```
pub fn apply(document: &mut Value, patch: Value) -> Result<(), Error> {
    if depth_of(document) > VALUE_DEPTH || depth_of(&patch) > VALUE_DEPTH {
        return Err(Error::TooDeep);
    }
    match (document, patch) {
        (Value::Null, _) => return Err(Error::BadDocument),
        (Value::Object(document), Value::Object(patch)) => merge(document, patch),
        (document, mut patch @ (Value::Object(_) | Value::Array(_))) => {
            prune_nulls(&mut patch);
            *document = patch;
        }
        _ => return Err(Error::BadPatch),
    }
    Ok(())
}

/// The merge patch that turns `original` into `modified`; empty when they are equal.
///
/// # Errors
///
/// Returns an error if a document is not an object, or nests too deep.
pub fn diff(original: &Value, modified: &Value) -> Result<Value, Error> {
    match (original, modified) {
        (Value::Object(original), Value::Object(modified)) => {
            bounded(&[original, modified])?;
            Ok(Value::Object(changes(original, modified)))
        }
        _ => Err(Error::BadDocument),
    }
}

/// Computes the merge patch that applies the user's changes to the live object.
///
/// `original` is the configuration that the user applied last, `modified` the new one, `current` the live object.
/// Fields that differ between `current` and `modified` are set; fields that the user dropped since `original` are
/// deleted; fields that others
/// added are kept.
///
/// # Errors
///
/// Returns an error if a document is not an object, or nests too deep.
pub fn diff3(original: &Value, modified: &Value, current: &Value) -> Result<Value, Error> {
    let (Value::Object(original), Value::Object(modified), Value::Object(current)) =
        (original, modified, current)
    else {
        return Err(Error::BadDocument);
    };
    bounded(&[original, modified, current])?;
    let additions = without_nulls(changes(current, modified));
    let mut patch = only_nulls(changes(original, modified));
    if contradict(&additions, &patch) {
        return Err(Error::Conflict {
            changes: Value::Object(additions).to_string(),
            deletions: Value::Object(patch).to_string(),
        });
    }
    merge(&mut patch, additions);
    Ok(Value::Object(patch))
}

fn bounded(documents: &[&Map<String, Value>]) -> Result<(), Error> {
    for fields in documents {
        if fields.values().any(|v| depth_of(v) >= VALUE_DEPTH) {
            return Err(Error::TooDeep);
        }
    }
    Ok(())
}

fn merge(document: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, mut wanted) in patch {
        match (document.get_mut(&name), &mut wanted) {
            (_, Value::Null) => {
                document.remove(&name);
            }
            (Some(Value::Object(found)), Value::Object(fields)) => {
                merge(found, std::mem::take(fields));
            }
            (Some(found @ Value::Object(_)), _) => *found = wanted,
            _ => {
                prune_nulls(&mut wanted);
                document.insert(name, wanted);
            }
        }
    }
}

fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(prune_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

fn changes(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, wanted) in to {
        match (from.get(name), wanted) {
            (Some(Value::Object(found)), Value::Object(fields)) => {
                let inner = changes(found, fields);
                if !inner.is_empty() {
                    out.insert(name.clone(), Value::Object(inner));
                }
            }
            (Some(found), _) if equal(found, wanted) => {}
            _ => {
                out.insert(name.clone(), wanted.clone());
            }
        }
    }
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        out.insert(name.clone(), Value::Null);
    }
    out
}

/// Compares values, with all numbers as floats.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the fields that a patch sets, without those that it deletes. An empty object is a value; one that becomes
/// empty means no change.
fn without_nulls(patch: Map<String, Value>) -> Map<String, Value> {
    patch
        .into_iter()
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::Object(fields) if !fields.is_empty() => {
                let kept = without_nulls(fields);
                (!kept.is_empty()).then_some((name, Value::Object(kept)))
            }
            value => Some((name, value)),
        })
        .collect()
}

/// Returns the fields that a patch deletes, without those that it sets.
fn only_nulls(patch: Map<String, Value>) -> Map<String, Value> {
    patch
        .into_iter()
        .filter_map(|(name, value)| match value {
            Value::Null => Some((name, Value::Null)),
            Value::Object(fields) => {
                let kept = only_nulls(fields);
                (!kept.is_empty()).then_some((name, Value::Object(kept)))
            }
            _ => None,
        })
        .collect()
}

/// Reports whether two patches change one field in different ways.
fn contradict(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.iter().any(|(name, left)| match (left, b.get(name)) {
        (_, None) => false,
        (Value::Object(left), Some(Value::Object(right))) => contradict(left, right),
        (left, Some(right)) => left != right,
    })
}
