//! Ownership after a create, update or patch.

use super::cap::cap;
use super::endpoint::Endpoint;
use super::entry::{Entry, ManagedFields, Operation};
use super::ownership::{self, Failure};
use crate::schema::Schema;
use crate::typed::{self, Duplicates};
use kubewright_machinery::time::Time;
use serde_json::{Map, Value};

/// A write whose ownership could not be computed. The object is left without `managedFields`, as Kubernetes leaves it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpdateError(pub(super) String);

/// Brings `metadata.managedFields` of `new` up to date.
///
/// `live` is the object before the write. On create it is what an empty object of the kind encodes to: for a built-in
/// kind with the fields that are written even when empty (a Deployment has `spec: {selector: null, strategy: {}, ..}`),
/// for a custom resource with `apiVersion` and `kind` alone. It decides whether `spec` itself is a field that the
/// creator added.
///
/// The entries are taken from `new`, so that a client can edit them; from `live` when `new` has none or they cannot be
/// read, and always when writing through a subresource. An empty list, or a list with one empty entry, resets them:
/// from then on ownership is not tracked until the next apply.
///
/// # Errors
///
/// Returns an error if an object does not fit its schema.
///
/// ```
/// use kubewright_machinery::time::Time;
/// use kubewright_merge::managed::{Endpoint, OneVersion, update};
/// use kubewright_merge::schema::Deduced;
/// use serde_json::json;
///
/// let versions = OneVersion::default();
/// let endpoint = Endpoint {
///     schema: Deduced,
///     api_version: "example.com/v1",
///     kind: "Widget",
///     subresource: "",
///     versions: &versions,
/// };
/// let empty = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
/// let mut widget = json!({
///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1},
/// });
/// update(&empty, &mut widget, &endpoint, "tool", Time::from_unix(0, 0))?;
/// let entry = &widget["metadata"]["managedFields"][0];
/// assert_eq!(entry["manager"], "tool");
/// assert_eq!(entry["fieldsV1"], json!({"f:spec": {".": {}, "f:size": {}}}));
/// # Ok::<(), kubewright_merge::managed::UpdateError>(())
/// ```
pub fn update<S: Schema>(
    live: &Value,
    new: &mut Value,
    endpoint: &Endpoint<'_, S>,
    manager: &str,
    now: Time,
) -> Result<(), UpdateError> {
    let sent = take_entries(new);
    let mut managed = starting_point(live, sent, endpoint.subresource);
    if managed.entries.is_empty() && is_stored(live) {
        return Ok(());
    }
    track(live, new, endpoint, &mut managed, manager, now)?;
    put_entries(new, managed);
    Ok(())
}

/// Returns the owners of the fields of a new object, sorted, and takes `metadata.managedFields` out of it.
///
/// This is [`update`] for a create, where nothing reads the owners before the object is encoded: the caller keeps them beside
/// the object and writes them with [`ManagedFields::write_json`].
///
/// # Errors
///
/// Returns an error if an object does not fit its schema.
pub fn create<S: Schema>(
    empty: &Value,
    new: &mut Value,
    endpoint: &Endpoint<'_, S>,
    manager: &str,
    now: Time,
) -> Result<ManagedFields, UpdateError> {
    let sent = take_entries(new);
    let mut managed = starting_point(empty, sent, endpoint.subresource);
    track(empty, new, endpoint, &mut managed, manager, now)?;
    managed.sort();
    Ok(managed)
}

/// Moves ownership for a write by `manager` that turned `live` into `new`.
pub(super) fn track<S: Schema>(
    live: &Value,
    new: &Value,
    endpoint: &Endpoint<'_, S>,
    managed: &mut ManagedFields,
    manager: &str,
    now: Time,
) -> Result<(), UpdateError> {
    let schema = endpoint.schema;
    // What an empty object encodes to fits its type, too.
    let to_check = [("new", new, true), ("live", live, is_stored(live))];
    for (which, object, _) in to_check
        .into_iter()
        .filter(|(_, _, doubtful)| *doubtful && !schema.is_enforced())
    {
        typed::validate(schema, object, Duplicates::Allowed).map_err(|e| {
            UpdateError(format!(
                "failed to convert {which} object ({}) to smd typed: {e}",
                describe(object)
            ))
        })?;
    }
    ownership::reconcile(live, endpoint, managed).map_err(UpdateError)?;
    let change = match ownership::release(live, new, endpoint, managed, None, true) {
        Ok(change) => change,
        Err(Failure::Other(why)) => return Err(UpdateError(why)),
        Err(Failure::Conflicts(conflicts)) => return Err(UpdateError(conflicts.to_string())),
    };
    let gained = ownership::strip(&change.modified.union(&change.added));
    if !gained.is_empty() {
        let manager = if manager.is_empty() {
            "unknown"
        } else {
            manager
        };
        let Endpoint {
            api_version,
            subresource,
            ..
        } = *endpoint;
        let found = managed
            .find(manager, Operation::Update, api_version, subresource)
            .and_then(|at| managed.entries.get_mut(at));
        match found {
            Some(entry) => {
                entry.fields = entry.fields.union(&gained);
                entry.time = Some(now);
            }
            None => managed.entries.push(Entry {
                manager: manager.to_owned(),
                operation: Operation::Update,
                api_version: api_version.to_owned(),
                time: Some(now),
                fields: gained,
                subresource: subresource.to_owned(),
            }),
        }
    }
    cap(managed);
    Ok(())
}

/// Takes `metadata.managedFields` out of an object.
pub(super) fn take_entries(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Writes `metadata.managedFields`; an object without entries has no such field.
pub(super) fn put_entries(object: &mut Value, managed: ManagedFields) {
    if managed.entries.is_empty() {
        return;
    }
    let Value::Object(fields) = object else {
        return;
    };
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".to_owned(), managed.encode());
    }
}

/// The entries of an object, or none if they cannot be read.
pub(super) fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Returns namespace, name and type of an object, as messages print them.
pub(super) fn describe(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let namespace = text(metadata.and_then(|m| m.get("namespace")));
    let name = text(metadata.and_then(|m| m.get("name")));
    let kind = text(object.get("kind"));
    format!(
        "{namespace}/{name}; {}",
        group_version_kind(&text(object.get("apiVersion")), &kind)
    )
}

/// A type as messages name it: `apps/v1, Kind=Deployment`, and `/v1, Kind=Pod` without a group.
pub(super) fn group_version_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

fn starting_point(live: &Value, sent: Option<Value>, subresource: &str) -> ManagedFields {
    let live_entries = || {
        let entries = entries_of(live).unwrap_or(&Value::Null);
        ManagedFields::decode(entries).unwrap_or_default()
    };
    let Some(sent) = sent.filter(|_| subresource.is_empty()) else {
        return live_entries();
    };
    if is_reset(&sent) {
        return ManagedFields::default();
    }
    match ManagedFields::decode(&sent) {
        Ok(managed) if !managed.entries.is_empty() => managed,
        _ => live_entries(),
    }
}

fn is_reset(entries: &Value) -> bool {
    let Some(entries) = entries.as_array() else {
        return false;
    };
    match entries.as_slice() {
        [] => true,
        [Value::Object(entry)] => entry
            .values()
            .all(|v| v.is_null() || v.as_str().is_some_and(str::is_empty)),
        _ => false,
    }
}

fn is_stored(object: &Value) -> bool {
    let uid = object
        .get("metadata")
        .and_then(|m| m.get("uid"))
        .and_then(Value::as_str);
    uid.is_some_and(|uid| !uid.is_empty())
}
