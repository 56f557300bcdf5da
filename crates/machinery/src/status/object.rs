//! The `Status` object.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Reason;

/// The response of the API server where there is no object to return: every error, and the success of some deletes.
///
/// ```
/// use kubewright_machinery::{Status, status};
///
/// let full = status::too_many_requests("too many requests, please try again later", 1);
/// assert_eq!(full.details.as_ref().map(|details| details.retry_after_seconds), Some(1));
/// let read: Status = serde_json::from_slice(&full.to_json())?;
/// assert_eq!(read, full);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Always `Status`.
    pub kind: String,
    /// Always `v1`.
    pub api_version: String,
    /// Empty, except for the continue token of an expired list.
    #[serde(default)]
    pub metadata: StatusMeta,
    /// `Success` or `Failure`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// A description of the failure for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The reason of the failure for programs.
    #[serde(default, skip_serializing_if = "Reason::is_unknown")]
    pub reason: Reason,
    /// The object concerned, and the causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// The HTTP status code.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
}

/// The list metadata of a [`Status`].
///
/// ```
/// use kubewright_machinery::status::{self, StatusMeta};
///
/// let mut expired = status::expired("the list is too old");
/// expired.metadata = StatusMeta { continue_: "token".into() };
/// assert_eq!(serde_json::to_value(&expired)?["metadata"]["continue"], "token");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusMeta {
    /// With 410 on a chunked list: a token that continues the list at the newest state.
    #[serde(default, rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_: String,
}

/// The object that a [`Status`] is about, and the causes of the failure.
///
/// ```
/// use kubewright_machinery::{Status, status::Details};
/// use serde_json::json;
///
/// let details = Details { name: "web".into(), kind: "pods".into(), ..Details::default() };
/// let deleted = serde_json::to_value(Status::success(details))?;
/// assert_eq!(deleted["status"], "Success");
/// assert_eq!(deleted["details"], json!({"name": "web", "kind": "pods"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The object's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group of `kind`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (`pods`), or for invalid objects the kind (`Pod`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's uid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The causes of the failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The seconds after which to retry; 0 if none are given.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u16,
}

/// One cause of a failure.
///
/// ```
/// use kubewright_machinery::status::{self, Cause};
///
/// let cause = Cause {
///     reason: "FieldManagerConflict".into(),
///     message: r#"conflict with "kubectl""#.into(),
///     field: ".spec.replicas".into(),
/// };
/// let conflict = status::apply_conflict("Apply failed with 1 conflict", vec![cause.clone()]);
/// assert_eq!(conflict.code, 409);
/// assert_eq!(conflict.details.expect("there is a cause").causes, [cause]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The reason for programs: `FieldValueInvalid`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A description for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field: `spec.replicas`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero(n: &u16) -> bool {
    *n == 0
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for Status {}

impl Status {
    /// Creates a failure.
    pub fn failure(code: u16, reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self {
            kind: "Status".into(),
            api_version: "v1".into(),
            metadata: StatusMeta::default(),
            status: "Failure".into(),
            message: message.into(),
            reason: reason.into(),
            details: None,
            code,
        }
    }

    /// Creates a success with the details of the object. The code stays unset, as kube-apiserver leaves it.
    pub fn success(details: Details) -> Self {
        Self {
            kind: "Status".into(),
            api_version: "v1".into(),
            metadata: StatusMeta::default(),
            status: "Success".into(),
            message: String::new(),
            reason: Reason::Unknown,
            details: Some(Box::new(details)),
            code: 0,
        }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        self.details.get_or_insert_default().causes.push(Cause {
            reason: reason.into(),
            message: message.into(),
            field: field.into(),
        });
        self
    }

    /// Sets the seconds after which to retry, which the server also sends as `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u16) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Encodes the status as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a Status is plain data")
    }
}
