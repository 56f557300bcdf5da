//! The `Status` object, and a constructor for every error the API server answers with.
//!
//! Messages, reasons, codes and details are those of kube-apiserver; tools read them. A [`Status`] is an error type:
//! handlers return `Result<_, Status>` and the door encodes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    field::{self, FieldError},
    go,
    gvk::{GroupKind, GroupResource},
};

/// The answer of the API server where there is no object to answer with, above all every error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Always `Status`.
    pub kind: String,
    /// Always `v1`.
    pub api_version: String,
    /// Always empty, except that an expired list says how to go on.
    #[serde(default)]
    pub metadata: StatusMeta,
    /// `Success` or `Failure`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// What happened, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What happened, for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// To what it happened, and the causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// The HTTP status code.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
}

/// The list metadata of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusMeta {
    /// With 410 on a chunked list: a token to go on with, at the newest state.
    #[serde(default, rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_: String,
}

/// To what it happened.
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
    /// Each single cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u16,
}

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// `FieldValueInvalid`
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
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
    /// A failure with a code, a reason and a message.
    pub fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
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

    /// Success, with the details of what it was done to. The code stays unset, as the real server leaves it.
    pub fn success(details: Details) -> Self {
        Self {
            kind: "Status".into(),
            api_version: "v1".into(),
            metadata: StatusMeta::default(),
            status: "Success".into(),
            message: String::new(),
            reason: String::new(),
            details: Some(Box::new(details)),
            code: 0,
        }
    }

    /// With details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// With one more cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        self.details.get_or_insert_default().causes.push(Cause {
            reason: reason.into(),
            message: message.into(),
            field: field.into(),
        });
        self
    }

    /// With a time after which to try again, which the door also sends as `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u16) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Encoded as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a Status is plain data")
    }
}

fn of(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.into(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    }
}

/// 400: the request makes no sense.
pub fn bad_request(message: impl Into<String>) -> Status {
    Status::failure(400, "BadRequest", message)
}

/// 401: nobody we know.
pub fn unauthorized() -> Status {
    Status::failure(401, "Unauthorized", "Unauthorized")
}

/// 403: not to this one. `cause` completes the sentence.
pub fn forbidden(resource: &GroupResource, name: &str, cause: impl fmt::Display) -> Status {
    let message = if resource.group.is_empty() && resource.resource.is_empty() {
        format!("forbidden: {cause}")
    } else if name.is_empty() {
        format!("{resource} is forbidden: {cause}")
    } else {
        format!("{resource} {} is forbidden: {cause}", go::quote(name))
    };
    Status::failure(403, "Forbidden", message).with_details(of(resource, name))
}

/// 404: no such object.
pub fn not_found(resource: &GroupResource, name: &str) -> Status {
    Status::failure(
        404,
        "NotFound",
        format!("{resource} {} not found", go::quote(name)),
    )
    .with_details(of(resource, name))
}

/// 404: no such resource, at a path that looks like one.
pub fn resource_not_found() -> Status {
    Status::failure(
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
    .with_details(Details::default())
}

/// 405: the resource does not do that.
pub fn method_not_allowed(resource: &GroupResource, verb: &str) -> Status {
    Status::failure(
        405,
        "MethodNotAllowed",
        format!("{verb} is not supported on resources of kind \"{resource}\""),
    )
    .with_details(Details {
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    })
}

/// 409: the name is taken.
pub fn already_exists(resource: &GroupResource, name: &str) -> Status {
    Status::failure(
        409,
        "AlreadyExists",
        format!("{resource} {} already exists", go::quote(name)),
    )
    .with_details(of(resource, name))
}

/// 409: five random characters made no free name.
pub fn generate_name_conflict(resource: &GroupResource, name: &str) -> Status {
    Status::failure(
        409,
        "AlreadyExists",
        format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            go::quote(name)
        ),
    )
    .with_details(of(resource, name))
    .retry_after(1)
}

/// 409: others manage the fields that were applied.
pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Status {
    Status::failure(409, "Conflict", message).with_details(Details {
        causes,
        ..Details::default()
    })
}

/// 409: the object is not what the writer thought. `cause` completes the sentence.
pub fn conflict(resource: &GroupResource, name: &str, cause: impl fmt::Display) -> Status {
    Status::failure(
        409,
        "Conflict",
        format!(
            "Operation cannot be fulfilled on {resource} {}: {cause}",
            go::quote(name)
        ),
    )
    .with_details(of(resource, name))
}

/// 410: that revision is no longer there.
pub fn expired(message: impl Into<String>) -> Status {
    Status::failure(410, "Expired", message)
}

/// 406: nothing that the client accepts can be sent.
pub fn not_acceptable(accepted: &[&str]) -> Status {
    let accepted = accepted.join(", ");
    let message = format!("only the following media types are accepted: {accepted}");
    Status::failure(406, "NotAcceptable", message)
}

/// 415: the body is of a type that is not read here.
pub fn unsupported_media_type(accepted: &[&str]) -> Status {
    let accepted = accepted.join(", ");
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Status::failure(415, "UnsupportedMediaType", message)
}

/// 413: the body is too large. The message is the whole sentence: `Request entity too large: limit is 3145728`.
pub fn too_large(message: impl Into<String>) -> Status {
    Status::failure(413, "RequestEntityTooLarge", message)
}

/// 422: the object breaks rules. Every field error becomes a cause.
pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Status {
    let causes = errors
        .iter()
        .map(|e| Cause {
            reason: e.kind.reason().into(),
            message: e.body(),
            field: e.field.clone(),
        })
        .collect();
    let quoted = go::quote(name);
    Status::failure(
        422,
        "Invalid",
        match field::aggregate(errors) {
            list if list.is_empty() => format!("{kind} {quoted} is invalid"),
            list => format!("{kind} {quoted} is invalid: {list}"),
        },
    )
    .with_details(Details {
        name: name.into(),
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        causes,
        ..Details::default()
    })
}

/// 429: later.
pub fn too_many_requests(message: impl Into<String>, retry_after: u16) -> Status {
    Status::failure(429, "TooManyRequests", message).retry_after(retry_after)
}

/// 500: our fault.
pub fn internal(message: impl fmt::Display) -> Status {
    Status::failure(
        500,
        "InternalError",
        format!("Internal error occurred: {message}"),
    )
    .with_cause("", message.to_string(), "")
}

/// 500: something failed that has no reason of its own; the message is all there is.
pub fn unknown(message: impl Into<String>) -> Status {
    Status::failure(500, "", message)
}

/// 500, for lack of a better code: `operation` could not be done now.
pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after: u16) -> Status {
    Status::failure(
        500,
        "ServerTimeout",
        format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        ),
    )
    .with_details(of(resource, operation))
    .retry_after(retry_after)
}

/// 503: not now.
pub fn service_unavailable(message: impl Into<String>) -> Status {
    Status::failure(503, "ServiceUnavailable", message)
}

/// 504: it took too long. The message is the whole sentence: `Timeout: request did not complete …`.
pub fn timeout(message: impl Into<String>, retry_after: u16) -> Status {
    Status::failure(504, "Timeout", message).retry_after(retry_after)
}

/// 504: the asked-for resourceVersion has not happened yet.
pub fn too_large_resource_version(requested: u64, current: u64) -> Status {
    timeout(
        format!("Timeout: Too large resource version: {requested}, current: {current}"),
        1,
    )
    .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Path, required};

    fn json(status: &Status) -> String {
        String::from_utf8(status.to_json()).unwrap()
    }

    #[test]
    fn statuses_are_written_as_kube_apiserver_writes_them() {
        let pods = GroupResource::new("", "pods");
        let deployments = GroupResource::new("apps", "deployments");
        for (status, expected) in [
            (
                bad_request("no"),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"BadRequest","code":400}"#,
            ),
            (
                not_found(&deployments, "a\"b"),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"a\\\"b\" not found","reason":"NotFound","details":{"name":"a\"b","group":"apps","kind":"deployments"},"code":404}"#,
            ),
            (
                resource_not_found(),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#,
            ),
            (
                too_large_resource_version(99, 7),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 99, current: 7","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#,
            ),
            (
                Status::success(of(&pods, "a")),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"pods"}}"#,
            ),
            (
                unknown("resourceVersion should not be set on objects to be created"),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"resourceVersion should not be set on objects to be created","code":500}"#,
            ),
        ] {
            assert_eq!(json(&status), expected);
            assert_eq!(serde_json::from_str::<Status>(expected).unwrap(), status);
        }
    }

    #[test]
    fn messages_complete_their_sentences() {
        let pods = GroupResource::new("", "pods");
        for (status, code, message) in [
            (
                forbidden(&pods, "a", "no"),
                403,
                "pods \"a\" is forbidden: no",
            ),
            (forbidden(&pods, "", "no"), 403, "pods is forbidden: no"),
            (
                forbidden(&GroupResource::default(), "", "no"),
                403,
                "forbidden: no",
            ),
            (already_exists(&pods, "a"), 409, "pods \"a\" already exists"),
            (
                generate_name_conflict(&pods, "a"),
                409,
                "pods \"a\" already exists, the server was not able to generate a unique name for the object",
            ),
            (
                conflict(&pods, "a", "no"),
                409,
                "Operation cannot be fulfilled on pods \"a\": no",
            ),
            (internal("no"), 500, "Internal error occurred: no"),
            (
                server_timeout(&pods, "list", 1),
                500,
                "The list operation against pods could not be completed at this time, please try again.",
            ),
        ] {
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn every_field_error_becomes_a_cause_but_is_told_once() {
        let error = required(&Path::new("spec"), "");
        let status = invalid(&GroupKind::new("", "Pod"), "a", &[error.clone(), error]);
        assert_eq!(status.message, "Pod \"a\" is invalid: spec: Required value");
        assert_eq!(status.details.unwrap().causes.len(), 2);
        let status = invalid(&GroupKind::new("apps", "Deployment"), "a", &[]);
        assert_eq!(status.message, "Deployment.apps \"a\" is invalid");
    }
}
