//! The `Status` object, and a constructor for every error that the API server returns.
//!
//! Messages, reasons, codes and details are those of kube-apiserver, because tools read them. A [`Status`] is an error
//! type: handlers return `Result<_, Status>`, and the server encodes it.
//!
//! ```
//! use kubewright_machinery::{gvk::GroupResource, status::{self, Reason}};
//!
//! let gone = status::not_found(&GroupResource::new("apps", "deployments"), "web");
//! assert_eq!((gone.code, &gone.reason), (404, &Reason::NotFound));
//! assert_eq!(gone.message, r#"deployments.apps "web" not found"#);
//! ```

pub(crate) mod object;
mod reason;

use std::fmt;

use object::Status;
pub use object::{Cause, Details, StatusMeta};
pub use reason::Reason;

use crate::{
    field::{self, FieldError},
    go,
    gvk::{GroupKind, GroupResource},
};

fn of(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.into(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    }
}

/// Creates a 400: the request makes no sense.
pub fn bad_request(message: impl Into<String>) -> Status {
    Status::failure(400, Reason::BadRequest, message)
}

/// Creates a 401: the client is not authenticated.
pub fn unauthorized() -> Status {
    Status::failure(401, Reason::Unauthorized, "Unauthorized")
}

/// Creates a 403: the client may not do this. `cause` completes the sentence.
pub fn forbidden(resource: &GroupResource, name: &str, cause: impl fmt::Display) -> Status {
    let message = if resource.group.is_empty() && resource.resource.is_empty() {
        format!("forbidden: {cause}")
    } else if name.is_empty() {
        format!("{resource} is forbidden: {cause}")
    } else {
        format!("{resource} {} is forbidden: {cause}", go::quote(name))
    };
    Status::failure(403, Reason::Forbidden, message).with_details(of(resource, name))
}

/// Creates a 404 for an object.
pub fn not_found(resource: &GroupResource, name: &str) -> Status {
    Status::failure(
        404,
        Reason::NotFound,
        format!("{resource} {} not found", go::quote(name)),
    )
    .with_details(of(resource, name))
}

/// Creates a 404 for a resource, at a path that looks like one.
pub fn resource_not_found() -> Status {
    Status::failure(
        404,
        Reason::NotFound,
        "the server could not find the requested resource",
    )
    .with_details(Details::default())
}

/// Creates a 405: the resource does not have this verb.
pub fn method_not_allowed(resource: &GroupResource, verb: &str) -> Status {
    Status::failure(
        405,
        Reason::MethodNotAllowed,
        format!("{verb} is not supported on resources of kind \"{resource}\""),
    )
    .with_details(Details {
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    })
}

/// Creates a 409: an object of that name exists.
pub fn already_exists(resource: &GroupResource, name: &str) -> Status {
    Status::failure(
        409,
        Reason::AlreadyExists,
        format!("{resource} {} already exists", go::quote(name)),
    )
    .with_details(of(resource, name))
}

/// Creates a 409: no free name could be generated.
pub fn generate_name_conflict(resource: &GroupResource, name: &str) -> Status {
    Status::failure(409, Reason::AlreadyExists,
        format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            go::quote(name)
        ),
    )
    .with_details(of(resource, name))
    .retry_after(1)
}

/// Creates a 409: other managers own the fields that were applied.
pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Status {
    Status::failure(409, Reason::Conflict, message).with_details(Details {
        causes,
        ..Details::default()
    })
}

/// Creates a 409: the object has changed. `cause` completes the sentence.
pub fn conflict(resource: &GroupResource, name: &str, cause: impl fmt::Display) -> Status {
    Status::failure(
        409,
        Reason::Conflict,
        format!(
            "Operation cannot be fulfilled on {resource} {}: {cause}",
            go::quote(name)
        ),
    )
    .with_details(of(resource, name))
}

/// Creates a 410: the requested revision has been compacted.
pub fn expired(message: impl Into<String>) -> Status {
    Status::failure(410, Reason::Expired, message)
}

/// Creates a 406: nothing that the client accepts can be sent.
pub fn not_acceptable(accepted: &[&str]) -> Status {
    let accepted = accepted.join(", ");
    let message = format!("only the following media types are accepted: {accepted}");
    Status::failure(406, Reason::NotAcceptable, message)
}

/// Creates a 415: the body is of a type that is not supported.
pub fn unsupported_media_type(accepted: &[&str]) -> Status {
    let accepted = accepted.join(", ");
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Status::failure(415, Reason::UnsupportedMediaType, message)
}

/// Creates a 413: the body is too large. The message is the whole sentence: `Request entity too large: limit is 3145728`.
pub fn too_large(message: impl Into<String>) -> Status {
    Status::failure(413, Reason::RequestEntityTooLarge, message)
}

/// Creates a 422: the object breaks rules. Every field error that is [`reported`](field::reported) becomes a cause.
pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Status {
    let errors = field::reported(errors);
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
        Reason::Invalid,
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

/// Creates a 429: the client sends too many requests.
pub fn too_many_requests(message: impl Into<String>, retry_after: u16) -> Status {
    Status::failure(429, Reason::TooManyRequests, message).retry_after(retry_after)
}

/// Creates a 500: the server failed.
pub fn internal(message: impl fmt::Display) -> Status {
    Status::failure(
        500,
        Reason::InternalError,
        format!("Internal error occurred: {message}"),
    )
    .with_cause("", message.to_string(), "")
}

/// Creates a 500 without a reason, for failures that kube-apiserver does not classify.
pub fn unknown(message: impl Into<String>) -> Status {
    Status::failure(500, Reason::Unknown, message)
}

/// Creates the 500 for an object that is too large to be stored, with the message of etcd.
///
/// [`MAX_OBJECT_BYTES`](crate::limits::MAX_OBJECT_BYTES) is the limit.
pub fn object_too_large() -> Status {
    unknown("etcdserver: request is too large")
}

/// Creates a 503: the server is not available.
pub fn service_unavailable(message: impl Into<String>) -> Status {
    Status::failure(503, Reason::ServiceUnavailable, message)
}

/// Creates a 504: the request took too long. The message is the whole sentence: `Timeout: request did not complete …`.
pub fn timeout(message: impl Into<String>, retry_after: u16) -> Status {
    Status::failure(504, Reason::Timeout, message).retry_after(retry_after)
}

/// Creates a 504: the requested resourceVersion is newer than the newest one.
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
        ] {
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn every_field_error_becomes_a_cause_and_is_reported_once() {
        let error = required(&Path::new("spec"), "");
        let status = invalid(&GroupKind::new("", "Pod"), "a", &[error.clone(), error]);
        assert_eq!(status.message, "Pod \"a\" is invalid: spec: Required value");
        assert_eq!(status.details.unwrap().causes.len(), 2);
        let status = invalid(&GroupKind::new("apps", "Deployment"), "a", &[]);
        assert_eq!(status.message, "Deployment.apps \"a\" is invalid");
    }
}
