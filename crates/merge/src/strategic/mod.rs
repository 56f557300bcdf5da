//! Strategic merge patch: a merge patch that knows which lists merge, and by which key.
//!
//! [`apply`] is what the server does with `application/strategic-merge-patch+json`; [`diff`] and [`diff3`] are what
//! clients compute, `diff3` the way `kubectl apply` does.
//!
//! Directives in a patch:
//! - `$patch: replace` or `delete` in an object replaces or empties it; in an item of a list that merges, `delete`
//!   removes the item with the same key, and `replace` replaces the whole list.
//! - `$deleteFromPrimitiveList/x` names scalars to take out of the list `x`.
//! - `$setElementOrder/x` names the order of the items of `x`; items it does not name keep their places among them.
//! - `$retainKeys` names the only members that the object keeps.
//!
//! A [`PatchSchema`] describes how fields merge. Custom resources have none, and Kubernetes rejects such patches for
//! them.

mod conflicts;
mod diffing;
mod lists;
mod merging;
#[cfg(test)]
mod tests;

use kubewright_machinery::{
    go,
    limits::{VALUE_DEPTH, depth_of},
};
use merging::Options;
use serde_json::{Map, Value};

/// A handle to the type of a value, as far as patches go.
///
/// ```
/// use kubewright_merge::strategic::{self, Holder, PatchField, PatchSchema, Strategy};
/// use serde_json::json;
///
/// #[derive(Clone, Copy)]
/// enum Type {
///     Pod,
///     Containers,
///     Container,
/// }
///
/// impl PatchSchema for Type {
///     fn holder(&self) -> Holder<'_> {
///         Holder::Struct("Pod")
///     }
///
///     fn patch_field(&self, name: &str) -> Option<PatchField<Self>> {
///         (name == "containers").then_some(PatchField {
///             schema: Type::Containers,
///             strategy: Strategy::Merge,
///             retain_keys: false,
///             merge_key: Some("name"),
///         })
///     }
///
///     fn item(&self) -> Option<Self> {
///         matches!(self, Type::Containers).then_some(Type::Container)
///     }
/// }
///
/// let pod = json!({"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]});
/// let patch = json!({"containers": [{"name": "a", "image": "x:2"}]});
/// let patched = strategic::apply(Type::Pod, pod, patch)?;
/// assert_eq!(patched["containers"][0]["image"], "x:2");
/// assert_eq!(patched["containers"][1]["name"], "b");
/// # Ok::<(), strategic::Error>(())
/// ```
pub trait PatchSchema: Copy {
    /// Returns the schema of the fields of an object of this type.
    fn holder(&self) -> Holder<'_>;

    /// The field of that name.
    fn patch_field(&self, name: &str) -> Option<PatchField<Self>>;

    /// The type of the items, if this is a list.
    fn item(&self) -> Option<Self>;
}

/// The schema of the fields of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    /// A struct of that name, such as `PodSpec`.
    Struct(&'a str),
    /// Something without known fields, by its kind: `map`, `string`.
    Other(&'a str),
}

/// A field, and how it merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchField<S> {
    /// The type of its value.
    pub schema: S,
    /// The way the value merges.
    pub strategy: Strategy,
    /// `true` if patches name the members that the object keeps.
    pub retain_keys: bool,
    /// The member that identifies items, for lists of objects that merge.
    pub merge_key: Option<&'static str>,
}

/// The way the value of a field merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Objects are merged, lists are replaced.
    Default,
    /// Lists merge.
    Merge,
    /// Objects and lists are replaced.
    Replace,
}

/// A patch that cannot be applied or computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A directive has the wrong form. Kubernetes responds with 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch requires something that is not supported. Kubernetes responds with 422.
    #[error("{0}")]
    Unprocessable(String),
    /// The patch does not fit the object. Kubernetes responds with 500.
    #[error("{0}")]
    Internal(String),
    /// The current object has changed where the patch changes it; [`diff3`] only.
    #[error("patch:\n{patch}\nconflicts with changes made from original to current:\n{changes}\n")]
    Conflict {
        /// The patch, as JSON.
        patch: String,
        /// The concurrent changes, as JSON.
        changes: String,
    },
}

/// Applies `patch` to `original`.
///
/// # Errors
///
/// Returns an error if the patch does not fit the object or its schema.
pub fn apply<S: PatchSchema>(schema: S, original: Value, patch: Value) -> Result<Value, Error> {
    let (original, patch) = (object(original)?, object(patch)?);
    merging::merge_map(original, patch, Some(schema), Options::APPLY).map(Value::Object)
}

/// The patch that turns `original` into `modified`; empty when they are equal.
///
/// # Errors
///
/// Returns an error if an object does not fit its schema.
pub fn diff<S: PatchSchema>(schema: S, original: &Value, modified: &Value) -> Result<Value, Error> {
    let (original, modified) = (fields(original)?, fields(modified)?);
    diffing::diff_maps(original, modified, Some(schema), diffing::Options::ALL).map(Value::Object)
}

/// The handling of changes that conflict with those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Returns an error.
    Fail,
    /// Overwrites the changes of others.
    Overwrite,
}

/// Computes the patch that applies the user's changes to the live object.
///
/// `original` is the configuration that the user applied last, `modified` the new one, `current` the live object.
/// Changing a field that others changed since `original` is a conflict.
///
/// # Errors
///
/// Returns an error if an object does not fit its schema, or for a conflict.
pub fn diff3<S: PatchSchema>(
    schema: S,
    original: &Value,
    modified: &Value,
    current: &Value,
    on_conflict: OnConflict,
) -> Result<Value, Error> {
    let (original, modified, current) = (fields(original)?, fields(modified)?, fields(current)?);
    let schema = Some(schema);
    let delta = diffing::diff_maps(current, modified, schema, diffing::Options::CHANGES)?;
    let deletions = diffing::diff_maps(original, modified, schema, diffing::Options::DELETIONS)?;
    let patch = merging::merge_map(deletions, delta, schema, Options::COMBINE)?;
    if on_conflict == OnConflict::Fail {
        let changed = diffing::diff_maps(original, current, schema, diffing::Options::UNORDERED)?;
        if conflicts::in_maps(&patch, &changed, schema)? {
            return Err(Error::Conflict {
                patch: Value::Object(patch).to_string(),
                changes: Value::Object(changed).to_string(),
            });
        }
    }
    Ok(Value::Object(patch))
}

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// A field that holds an object.
fn object_field<S: PatchSchema>(schema: Option<S>, name: &str) -> Result<PatchField<S>, Error> {
    let Some(schema) = schema else {
        return Err(not_a_struct("interface"));
    };
    match schema.holder() {
        Holder::Other(kind) => Err(not_a_struct(kind)),
        Holder::Struct(holder) => schema.patch_field(name).ok_or_else(|| {
            let name = go::quote(name);
            internal(format!(
                "unable to find api field in struct {holder} for the json field {name}"
            ))
        }),
    }
}

/// A field that holds a list, with the type of its items.
fn list_field<S: PatchSchema>(schema: Option<S>, name: &str) -> Result<PatchField<S>, Error> {
    let field = object_field(schema, name)?;
    match field.schema.item() {
        None => Err(internal(
            "expected slice or array type, but got: struct".into(),
        )),
        Some(item) if item.item().is_some() => Err(internal("unexpected slice of slice".into())),
        Some(item) => Ok(PatchField {
            schema: item,
            ..field
        }),
    }
}

fn not_a_struct(kind: &str) -> Error {
    internal(format!(
        "merging an object in json but data type is not struct, instead is: {kind}"
    ))
}

fn object(value: Value) -> Result<Map<String, Value>, Error> {
    fields(&value)?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(bad_document()),
    }
}

fn fields(value: &Value) -> Result<&Map<String, Value>, Error> {
    match value {
        Value::Object(_) if depth_of(value) > VALUE_DEPTH => {
            Err(Error::BadRequest("exceeded max depth".into()))
        }
        Value::Object(fields) => Ok(fields),
        _ => Err(bad_document()),
    }
}

fn bad_document() -> Error {
    Error::BadRequest("invalid JSON document".into())
}

fn bad_order() -> Error {
    Error::BadRequest("invalid patch format of setElementOrder list".into())
}

fn bad_retain_keys() -> Error {
    Error::BadRequest("invalid patch format of retainKeys".into())
}

fn wrong_type(expected: &str, actual: &Value) -> Error {
    let actual = match actual {
        Value::Null => "%!s(<nil>)",
        other => go::type_name(other),
    };
    internal(format!("expected a {expected}, but received a {actual}"))
}

fn no_merge_key(item: &Map<String, Value>, key: &str) -> Error {
    let item = go::display_map(item);
    internal(format!(
        "map: {item} does not contain declared merge key: {key}"
    ))
}

fn unknown_directive(directive: &Value, map: &Map<String, Value>) -> Error {
    let directive = match directive {
        Value::String(s) => s.clone(),
        Value::Null => "%!s(<nil>)".into(),
        other => format!("%!s({}={})", go::type_name(other), go::display(other)),
    };
    internal(format!(
        "unknown patch type: {directive} in map: {}",
        go::display_map(map)
    ))
}

fn internal(message: String) -> Error {
    Error::Internal(message)
}
