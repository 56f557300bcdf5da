//! The audit event, and its JSON as kube-apiserver logs it.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use kubewright_machinery::{Status, go};
use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use super::policy::{Level, Stage};
use crate::request::UserInfo;

/// One stage of a request, as `audit.k8s.io/v1` describes it.
///
/// The names of the fields are those of the log.
///
/// ```
/// use kubewright_apiserver::audit::Event;
///
/// let event = Event { verb: "create".into(), request_uri: "/api/v1/namespaces".into(), ..Event::default() };
/// let line = event.to_json();
/// assert!(line.starts_with(r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"#));
/// assert!(line.contains(r#""verb":"create""#));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// The amount that is recorded.
    pub level: Level,
    /// The id of the request, which the client gets in the header `Audit-ID`.
    pub audit_id: String,
    /// The stage of the request.
    pub stage: Stage,
    /// The path and the query as they were sent.
    pub request_uri: String,
    /// The verb: `list` for a resource, the lower-case method for other paths.
    pub verb: String,
    /// The user that was authenticated; without a name if that failed.
    pub user: Arc<UserInfo>,
    /// The user that it acted as.
    pub impersonated_user: Option<Arc<UserInfo>>,
    /// The rule that allowed to act as another user, such as `impersonate:user-info`; empty for the verb `impersonate`.
    pub impersonation_constraint: String,
    /// The addresses that the request came from: those that proxies report, and the peer's. Empty for a request in process.
    pub source_ips: Vec<IpAddr>,
    /// The `User-Agent`, at most 1024 bytes of it.
    pub user_agent: String,
    /// The object that the request is about; `None` for a path that names no resource.
    pub object_ref: Option<ObjectReference>,
    /// The outcome: the code, and everything else of a [`Status`] if that was the answer.
    pub response_status: Option<Status>,
    /// The JSON of the object that was sent, with defaults and before admission; a patch as it was sent.
    pub request_object: Option<Bytes>,
    /// The JSON of the answer.
    pub response_object: Option<Bytes>,
    /// The time at which the request arrived.
    pub request_received: Timestamp,
    /// The time of this stage.
    pub stage_timestamp: Timestamp,
    /// The notes of authorization, admission and others.
    pub annotations: BTreeMap<String, String>,
}

/// The object that an [`Event`] is about.
///
/// ```
/// use kubewright_apiserver::audit::ObjectReference;
///
/// let web = ObjectReference { resource: "deployments".into(), api_group: "apps".into(), ..Default::default() };
/// assert_eq!(serde_json::to_string(&web)?, r#"{"resource":"deployments","apiGroup":"apps"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The resource, such as `deployments`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// The namespace, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name, or empty if the server generates it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The uid that the client sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The group; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// The version, such as `v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The resourceVersion that the client sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The subresource, such as `status`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
}

impl Event {
    /// Returns the code of the answer, or 0 before there is one.
    pub fn code(&self) -> u16 {
        self.response_status
            .as_ref()
            .map_or(0, |status| status.code)
    }

    /// Returns whether the request is one about a resource: the verb, and the plural name with the subresource, if any.
    ///
    /// ```
    /// use kubewright_apiserver::audit::{Event, ObjectReference};
    ///
    /// let scale = ObjectReference {
    ///     resource: "deployments".into(),
    ///     subresource: "scale".into(),
    ///     ..ObjectReference::default()
    /// };
    /// let event = Event { verb: "update".into(), object_ref: Some(scale), ..Event::default() };
    /// assert!(event.is("update", "deployments/scale"));
    /// assert!(!event.is("update", "deployments"));
    /// ```
    pub fn is(&self, verb: &str, resource: &str) -> bool {
        let Some(object) = self.object_ref.as_ref().filter(|_| self.verb == verb) else {
            return false;
        };
        let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        object.resource == plural && object.subresource == subresource
    }

    /// Returns whether the request writes: its verb is `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub fn is_write(&self) -> bool {
        let writes = ["create", "update", "patch", "delete", "deletecollection"];
        self.object_ref.is_some() && writes.contains(&self.verb.as_str())
    }

    /// Decodes the object that was sent, if it was recorded.
    pub fn request_value(&self) -> Option<Value> {
        serde_json::from_slice(self.request_object.as_deref()?).ok()
    }

    /// Decodes the answer, if it was recorded.
    pub fn response_value(&self) -> Option<Value> {
        serde_json::from_slice(self.response_object.as_deref()?).ok()
    }

    /// Returns the event as a line of the log, without the line feed.
    pub fn to_json(&self) -> String {
        go::json_of(self)
    }

    /// Returns about how many bytes the event occupies.
    pub(super) fn size(&self) -> usize {
        const FIELDS: usize = 1024;
        let len = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        FIELDS + self.request_uri.len() + len(&self.request_object) + len(&self.response_object)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Line::of(self).serialize(serializer)
    }
}

/// An event in the order and with the omissions of the log.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    kind: &'static str,
    api_version: &'static str,
    level: Level,
    #[serde(rename = "auditID")]
    audit_id: &'a str,
    stage: Stage,
    #[serde(rename = "requestURI")]
    request_uri: &'a str,
    verb: &'a str,
    user: User<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impersonated_user: Option<User<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication_metadata: Option<AuthenticationMetadata<'a>>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "<[_]>::is_empty")]
    source_ips: &'a [IpAddr],
    #[serde(skip_serializing_if = "str::is_empty")]
    user_agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_ref: Option<&'a ObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_status: Option<Outcome<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_object: Option<&'a RawValue>,
    request_received_timestamp: String,
    stage_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct User<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<&'a str, &'a [String]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationMetadata<'a> {
    impersonation_constraint: &'a str,
}

/// A [`Status`] without its type.
#[derive(Serialize)]
struct Outcome<'a> {
    metadata: Empty,
    #[serde(skip_serializing_if = "str::is_empty")]
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "kubewright_machinery::status::Reason::is_unknown")]
    reason: &'a kubewright_machinery::status::Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a kubewright_machinery::status::Details>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

impl<'a> Line<'a> {
    fn of(event: &'a Event) -> Self {
        let constraint = event.impersonation_constraint.as_str();
        Self {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: event.level,
            audit_id: &event.audit_id,
            stage: event.stage,
            request_uri: &event.request_uri,
            verb: &event.verb,
            user: User::of(&event.user),
            impersonated_user: event.impersonated_user.as_deref().map(User::of),
            authentication_metadata: (!constraint.is_empty()).then_some(AuthenticationMetadata {
                impersonation_constraint: constraint,
            }),
            source_ips: &event.source_ips,
            user_agent: &event.user_agent,
            object_ref: event.object_ref.as_ref(),
            response_status: event.response_status.as_ref().map(Outcome::of),
            request_object: raw(&event.request_object),
            response_object: raw(&event.response_object),
            request_received_timestamp: micro_time(event.request_received),
            stage_timestamp: micro_time(event.stage_timestamp),
            annotations: &event.annotations,
        }
    }
}

impl<'a> User<'a> {
    fn of(user: &'a UserInfo) -> Self {
        let extra = user.extra.iter();
        Self {
            username: &user.name,
            uid: &user.uid,
            groups: &user.groups,
            extra: extra
                .map(|(key, values)| (key.as_str(), values.as_slice()))
                .collect(),
        }
    }
}

impl<'a> Outcome<'a> {
    fn of(status: &'a Status) -> Self {
        Self {
            metadata: Empty {},
            status: &status.status,
            message: &status.message,
            reason: &status.reason,
            details: status.details.as_deref(),
            code: status.code,
        }
    }
}

fn raw(json: &Option<Bytes>) -> Option<&RawValue> {
    serde_json::from_slice(json.as_deref()?).ok()
}

/// Formats a time with microseconds, as `metav1.MicroTime` does.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
