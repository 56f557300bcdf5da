//! [`Revision`]: a change of an object, with its writer and the difference to the previous revision.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    moment,
    request::{Change, Entry},
    run::ObjectRef,
    value::{FieldChange, Values, diff, summary},
};

/// A change of an object, in its JSON form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Revision {
    /// The object, unless it is clear from the context.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub of: Option<ObjectRef>,
    /// The revision.
    pub revision: u64,
    /// The kind of the change.
    pub change: Option<Change>,
    /// The time of the request.
    #[serde(with = "moment::optional", skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The `User-Agent`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    /// The field manager.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_manager: String,
    /// The verb.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verb: String,
    /// The subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The number of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// The run that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A short description of the difference.
    pub summary: String,
    /// The difference.
    pub diff: Vec<FieldChange>,
    /// Whether the difference is truncated.
    pub diff_truncated: bool,
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// A decoded change of an object in the store.
///
/// ```
/// use kubewright_ledger::{Change, Revision, Values, Version};
/// use serde_json::json;
///
/// let version = Version {
///     revision: 8,
///     change: Change::Updated,
///     before: Some(json!({"spec": {"replicas": 1}})),
///     object: json!({"spec": {"replicas": 3}}),
/// };
/// let revision = Revision::of(&version, None, Values::Shown);
/// assert_eq!(revision.diff[0].path, "spec.replicas");
/// assert!(revision.touches("spec"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// The revision.
    pub revision: u64,
    /// The kind of the change.
    pub change: Change,
    /// The previous object; `None` for creations.
    pub before: Option<Value>,
    /// The new object; for deletions, the last one.
    pub object: Value,
}

/// The known history of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// The changes, oldest first.
    pub versions: Vec<Version>,
    /// Whether the first change is the creation of the object, or no change is known to be missing.
    pub complete: bool,
}

impl Revision {
    /// Describes a change.
    pub fn of(version: &Version, writer: Option<(u64, &Entry)>, values: Values) -> Self {
        let empty = Value::Null;
        let before = version.before.as_ref().unwrap_or(&empty);
        let (mut diff, diff_truncated) = match version.change {
            Change::Deleted => (Vec::new(), false),
            Change::Created | Change::Updated => diff(before, &version.object),
        };
        diff.iter_mut().for_each(|change| values.apply_to(change));
        let summary = match version.change {
            Change::Created => "created".to_owned(),
            Change::Deleted => "deleted".to_owned(),
            Change::Updated => summary(&diff),
        };
        let revision = Self {
            revision: version.revision,
            change: Some(version.change),
            summary,
            diff,
            diff_truncated,
            ..Self::default()
        };
        match writer {
            Some((number, entry)) => revision.written_by(number, entry),
            None => revision,
        }
    }

    fn written_by(self, number: u64, entry: &Entry) -> Self {
        let (caller, kind) = (entry.caller(), entry.kind());
        Self {
            time: Some(entry.time),
            user: caller.user.to_owned(),
            user_agent: caller.user_agent.to_owned(),
            field_manager: caller.field_manager.to_owned(),
            verb: kind.verb.to_owned(),
            subresource: kind.subresource.to_owned(),
            request: Some(number),
            run: entry.run.as_deref().map(str::to_owned),
            ..self
        }
    }

    /// Reports whether the change affects a field, a field below it, or one above it.
    pub fn touches(&self, path: &str) -> bool {
        self.diff.iter().any(|change| {
            let changed = change.path.as_str();
            is_below(changed, path) || is_below(path, changed)
        })
    }
}

/// Reports whether a path equals another one, or is below it.
fn is_below(path: &str, other: &str) -> bool {
    match path.strip_prefix(other) {
        Some(rest) => other.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    }
}
