//! Server-side apply.

use super::conflict::Conflicts;
use super::endpoint::Endpoint;
use super::entry::{Entry, ManagedFields, Operation};
use super::last_applied;
use super::ownership::{self, Failure, Reconciled};
use super::prune::{self, Last};
use super::update::{describe, entries_of, group_version_kind, put_entries, take_entries, track};
use crate::fieldset::{FieldSet, equal};
use crate::schema::Schema;
use crate::typed::{self, Duplicates};
use kubewright_machinery::time::Time;
use serde_json::Value;

/// A request to apply.
///
/// ```
/// use kubewright_machinery::time::Time;
/// use kubewright_merge::managed::{Apply, ApplyError, Endpoint, OneVersion, apply};
/// use kubewright_merge::schema::Deduced;
/// use serde_json::json;
///
/// # let versions = OneVersion::default();
/// # let endpoint = Endpoint {
/// #     schema: Deduced,
/// #     api_version: "example.com/v1",
/// #     kind: "Widget",
/// #     subresource: "",
/// #     versions: &versions,
/// # };
/// let empty = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
/// let patch = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}});
/// let now = Time::from_unix(0, 0);
/// let request = Apply { live: &empty, empty: &empty, patch: &patch, manager: "me", force: false, now };
/// let applied = apply(&request, &endpoint)?;
/// assert_eq!(applied.object["spec"], json!({"size": 1}));
/// assert!(applied.changed);
///
/// let again = Apply { live: &applied.object, ..request };
/// assert!(!apply(&again, &endpoint)?.changed);
/// # Ok::<(), ApplyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Apply<'a> {
    /// The object before the write; `empty` for a creation.
    pub live: &'a Value,
    /// The encoding of an empty object of the kind, as for [`update`](super::update()).
    pub empty: &'a Value,
    /// The configuration.
    pub patch: &'a Value,
    /// The field manager.
    pub manager: &'a str,
    /// Takes fields from other owners instead of failing with a conflict.
    pub force: bool,
    /// The time of entries whose fields change.
    pub now: Time,
}

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The merged object with its `managedFields`. Defaults are for the caller to fill in.
    pub object: Value,
    /// `true` if anything but `managedFields` differs from the live object.
    pub changed: bool,
}

/// An apply that fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields that would change. Kubernetes responds with 409.
    #[error("{0}")]
    Conflicts(#[from] Conflicts),
    /// The request is wrong. Kubernetes responds with 400.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not fit the schema. Kubernetes responds with 500.
    #[error("{0}")]
    Internal(String),
}

/// Applies a configuration.
///
/// # Errors
///
/// Returns conflicts with other managers, and errors of requests that do not fit the schema.
pub fn apply<S: Schema>(
    request: &Apply<'_>,
    endpoint: &Endpoint<'_, S>,
) -> Result<Applied, ApplyError> {
    let managed = ManagedFields::decode(entries_of(request.live).unwrap_or(&Value::Null))
        .map_err(|e| internal(format!("failed to decode managed fields: {e}")))?;
    check_patch(request.patch, endpoint)?;
    let mut outcome = merge(request, endpoint, managed.clone(), request.force);
    if let Err(ApplyError::Conflicts(conflicts)) = outcome {
        outcome = match last_applied::tolerated(request, endpoint) {
            None => Err(ApplyError::Conflicts(conflicts)),
            Some(tolerated) => match conflicts.outside(&tolerated) {
                Some(conflicts) => Err(ApplyError::Conflicts(conflicts)),
                None => merge(request, endpoint, managed, true),
            },
        };
    }
    let mut applied = outcome?;
    last_applied::refresh(request, &mut applied.object);
    Ok(applied)
}

fn check_patch<S>(patch: &Value, endpoint: &Endpoint<'_, S>) -> Result<(), ApplyError> {
    let text = |name: &str| patch.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if (api_version, kind) != (endpoint.api_version, endpoint.kind) {
        let named = group_version_kind(api_version, kind);
        return Err(ApplyError::BadRequest(format!(
            "invalid object type: {named}"
        )));
    }
    Ok(())
}

fn merge<S: Schema>(
    request: &Apply<'_>,
    endpoint: &Endpoint<'_, S>,
    mut managed: ManagedFields,
    force: bool,
) -> Result<Applied, ApplyError> {
    let Apply {
        live,
        empty,
        patch,
        manager,
        now,
        ..
    } = *request;
    let Endpoint {
        schema,
        api_version,
        subresource,
        ..
    } = *endpoint;
    if managed.entries.is_empty() {
        // There are no owners yet: existing fields belong to earlier writers.
        track(
            empty,
            live,
            endpoint,
            &mut managed,
            "before-first-apply",
            now,
        )
        .map_err(|e| internal(format!("failed to create manager for existing fields: {e}")))?;
    }
    if entries_of(patch).is_some_and(Value::is_array) {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".into(),
        ));
    }
    typed::validate(schema, patch, Duplicates::Refused).map_err(|e| {
        internal(format!(
            "failed to create typed patch object ({}): {e}",
            describe(patch)
        ))
    })?;
    if !schema.is_enforced() {
        typed::validate(schema, live, Duplicates::Allowed).map_err(|e| {
            internal(format!(
                "failed to create typed live object ({}): {e}",
                describe(live)
            ))
        })?;
    }
    let reconciled = ownership::reconcile(live, endpoint, &mut managed).map_err(internal)?;

    let mut claimed = typed::to_field_set(schema, patch)
        .map_err(|e| internal(format!("failed to get field set: {e}")))?;
    if let Some(filter) = endpoint.versions.filter(api_version) {
        claimed = filter.apply(&claimed);
    }
    let manager = if manager.is_empty() {
        "unknown"
    } else {
        manager
    };
    if reconciled == Reconciled::AsTheyWere {
        let found = managed.find(manager, Operation::Apply, api_version, subresource);
        let own = found.and_then(|at| managed.entries.get(at));
        let repeated = own.is_some_and(|own| {
            own.api_version == api_version
                && typed::covers(schema, live, patch)
                && own.fields == ownership::strip(&claimed)
        });
        if repeated {
            return Ok(Applied {
                object: live.clone(),
                changed: false,
            });
        }
    }
    let merged = typed::merge(schema, live, patch)
        .map_err(|e| internal(format!("failed to merge config: {e}")))?;
    let (own, last) = claim(&mut managed, manager, api_version, subresource, claimed);
    let mut object = prune::prune(merged, &managed, own, last.as_ref(), endpoint)
        .map_err(|e| internal(format!("failed to prune fields: {e}")))?;
    ownership::release(live, &object, endpoint, &mut managed, Some(own), force).map_err(
        |failure| match failure {
            Failure::Conflicts(conflicts) => ApplyError::Conflicts(conflicts),
            Failure::Other(why) => internal(why),
        },
    )?;
    let changed = !equal(live, &object);
    if let Some(own) = managed.find(manager, Operation::Apply, api_version, subresource) {
        settle(&mut managed, own, changed.then_some(now));
    }
    take_entries(&mut object);
    put_entries(&mut object, managed);
    Ok(Applied { object, changed })
}

/// Gives the manager's entry the claimed fields. Returns the index of the entry, and the fields that it owned before.
fn claim(
    managed: &mut ManagedFields,
    manager: &str,
    api_version: &str,
    subresource: &str,
    fields: FieldSet,
) -> (usize, Option<Last>) {
    let found = managed.find(manager, Operation::Apply, api_version, subresource);
    if let Some((at, entry)) = found.and_then(|at| Some((at, managed.entries.get_mut(at)?))) {
        let last = Last {
            fields: std::mem::replace(&mut entry.fields, fields),
            api_version: std::mem::replace(&mut entry.api_version, api_version.to_owned()),
        };
        return (at, Some(last));
    }
    managed.entries.push(Entry {
        manager: manager.to_owned(),
        operation: Operation::Apply,
        api_version: api_version.to_owned(),
        time: None,
        fields,
        subresource: subresource.to_owned(),
    });
    (managed.entries.len() - 1, None)
}

/// Removes fields that cannot be owned from the entry, and sets the time if the object changed.
fn settle(managed: &mut ManagedFields, own: usize, changed: Option<Time>) {
    let Some(entry) = managed.entries.get_mut(own) else {
        return;
    };
    entry.fields = ownership::strip(&entry.fields);
    entry.time = changed.or(entry.time);
    if entry.fields.is_empty() {
        managed.entries.remove(own);
    }
}

fn internal(message: String) -> ApplyError {
    ApplyError::Internal(message)
}
