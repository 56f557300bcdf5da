//! Decodes request bodies into objects, with the error messages of kube-apiserver.

use bytes::Bytes;
use http::HeaderMap;
use kubewright_machinery::{
    Status,
    gvk::{GroupVersion, GroupVersionKind},
    status,
};
use kubewright_protobuf::DecodeError;
use kubewright_schema::{
    Node, Problems, TYPE_META_CONTEXT, decode_typed, decode_untyped, parse_json, read_type_meta,
    yaml::parse_yaml,
};
use serde_json::{Value, json};

use super::{Target, custom::Document};
use crate::{
    body::{Body, TooManyBytes},
    flow::TOO_MANY_REQUESTS,
    registry::Shape,
    request::{RequestContext, options::FieldValidation},
    respond::negotiate::{Media, body_media},
    server::RETRY_AFTER,
};

/// The largest body that the server reads.
pub(crate) const BODY_LIMIT: usize = kubewright_machinery::limits::MAX_REQUEST_BYTES;

/// Reads the whole body. Fails with 413 if it is too large, and with 429 if others use the memory for bodies.
pub(super) async fn read_body(body: Body) -> Result<Bytes, Status> {
    match body.collect_up_to(BODY_LIMIT).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(status::too_large(format!(
            "Request entity too large: limit is {BODY_LIMIT}"
        ))),
        Err(e) if e.is::<TooManyBytes>() => {
            Err(status::too_many_requests(TOO_MANY_REQUESTS, RETRY_AFTER))
        }
        Err(e) => Err(status::bad_request(format!(
            "unable to read the request body: {e}"
        ))),
    }
}

/// Decodes a body into an object of the target's kind.
pub(super) fn object(
    cx: &RequestContext,
    target: &Target,
    headers: &HeaderMap,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Value, Status> {
    let media = body_media(headers, target.media())?;
    let (kind, shape) = target.body_type();
    if let Some(custom) = target.custom() {
        let document = Document {
            kind,
            custom,
            body,
            validation,
        };
        return match media {
            Media::Protobuf => match custom.protobuf() {
                Some(ty) => document.decode_protobuf(cx, ty),
                None => Err(unsupported_protobuf()),
            },
            Media::Json => document.decode(cx, json(kind, body)?, None),
            Media::Yaml => {
                let yaml =
                    parse_yaml(body).map_err(|e| unrecognized(kind, &e.to_string(), body))?;
                document.decode(cx, yaml.node, yaml.problem)
            }
        };
    }
    let (mut value, problems) = match media {
        Media::Protobuf => (protobuf(kind, shape, body)?, Problems::default()),
        Media::Json => typed(kind, shape, json(kind, body)?, body)?,
        Media::Yaml => {
            let yaml = parse_yaml(body).map_err(|e| unrecognized(kind, &e.to_string(), body))?;
            let (value, mut problems) = typed(kind, shape, yaml.node, body)?;
            if let Some(problem) = yaml.problem {
                problems.push_first(problem);
            }
            (value, problems)
        }
    };
    check_problems(cx, kind, &problems, validation)?;
    value["kind"] = json!(kind.kind);
    value["apiVersion"] = json!(kind.api_version());
    Ok(value)
}

fn json<'a>(kind: &GroupVersionKind, body: &'a [u8]) -> Result<Node<'a>, Status> {
    parse_json(body).map_err(|e| {
        let text = format!("{TYPE_META_CONTEXT}{e}");
        unrecognized(kind, &text, body)
    })
}

/// Returns the error for protobuf: custom resources have no protobuf form.
fn unsupported_protobuf() -> Status {
    let names = [Media::Json.name(), Media::Yaml.name()];
    status::unsupported_media_type(&names)
}

fn typed(
    kind: &GroupVersionKind,
    shape: Shape,
    node: Node<'_>,
    body: &[u8],
) -> Result<(Value, Problems), Status> {
    let (api_version, given_kind) = match read_type_meta(&node) {
        Ok((api_version, kind)) => (api_version.to_owned(), kind.to_owned()),
        Err(e) => {
            let text = format!("{TYPE_META_CONTEXT}{e}");
            return Err(unrecognized(kind, &text, body));
        }
    };
    if GroupVersion::parse(&api_version).is_none() {
        let text = format!("unexpected GroupVersion string: {api_version}");
        return Err(unrecognized(kind, &text, body));
    }
    check_kind(kind, &api_version, &given_kind)?;
    match shape {
        Shape::Typed(ty) => {
            let reset = resets_managers(&node);
            let mut typed =
                decode_typed(node, ty).map_err(|e| unhandled(kind, kind, &e.to_string()))?;
            if reset {
                typed.value["metadata"]["managedFields"] = json!([]);
            }
            Ok((typed.value, typed.problems))
        }
        Shape::Untyped => decode_untyped(node).map_err(|e| unhandled(kind, kind, &e.to_string())),
    }
}

/// Returns whether `managedFields` is an empty list, which resets it; if it is absent, it is kept. The decoded type does not
/// distinguish the two.
pub(super) fn resets_managers(node: &Node<'_>) -> bool {
    let managers = node
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"));
    matches!(managers, Some(Node::Array(entries)) if entries.is_empty())
}

fn protobuf(kind: &GroupVersionKind, shape: Shape, body: &[u8]) -> Result<Value, Status> {
    let default = (kind.api_version(), kind.kind.clone());
    let decoded = kubewright_protobuf::decode(body, (&default.0, &default.1))
        .map_err(|e| undecoded(kind, &e, body))?;
    check_kind(kind, &decoded.api_version, &decoded.kind)?;
    match shape {
        Shape::Typed(ty) => kubewright_schema::normalize_typed(decoded.value, ty)
            .map_err(|e| unhandled(kind, kind, &e.to_string())),
        Shape::Untyped => Ok(decoded.value),
    }
}

/// Returns the error for protobuf that cannot be decoded.
pub(super) fn undecoded(kind: &GroupVersionKind, error: &DecodeError, body: &[u8]) -> Status {
    match error.type_meta() {
        None => unrecognized(kind, &error.to_string(), body),
        Some((api_version, given)) => {
            let version = GroupVersion::parse(api_version).unwrap_or_default();
            unhandled(&version.with_kind(given), kind, &error.to_string())
        }
    }
}

/// Older versions that are accepted in place of the endpoint's, because their fields are the same.
const SAME_FIELDS: [(&str, &str, &str); 1] = [("policy", "v1beta1", "Eviction")];

/// Checks that the body is of the kind that the endpoint accepts. An unset kind is accepted.
fn check_kind(expected: &GroupVersionKind, api_version: &str, kind: &str) -> Result<(), Status> {
    let version = match api_version {
        "" => expected.group_version(),
        text => GroupVersion::parse(text).ok_or_else(|| {
            status::bad_request(format!("unexpected GroupVersion string: {text}"))
        })?,
    };
    let given = version.with_kind(if kind.is_empty() {
        &expected.kind
    } else {
        kind
    });
    let older = (
        given.group.as_str(),
        given.version.as_str(),
        given.kind.as_str(),
    );
    let same_kind = given.group == expected.group && given.kind == expected.kind;
    if given == *expected || (same_kind && SAME_FIELDS.contains(&older)) {
        return Ok(());
    }
    let known = kubewright_catalog::is_known_kind(&given.group, &given.version, &given.kind);
    let home = |kind: &GroupVersionKind| {
        kubewright_catalog::home_group(&kind.group, &kind.kind).to_owned()
    };
    if known && given.kind == expected.kind && home(&given) == home(expected) {
        return Err(status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            given.group_version(),
            expected.group_version()
        )));
    }
    let text = if known {
        let package = match expected.group.split('.').next() {
            None | Some("") => "core",
            Some(first) => first,
        };
        let (version, kind) = (&given.version, &given.kind);
        format!(
            "converting ({version}.{kind}) to ({package}.{}): unknown conversion",
            expected.kind
        )
    } else {
        format!(
            "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
            given.kind,
            given.group_version()
        )
    };
    Err(unhandled(&given, expected, &text))
}

/// Ignores, warns about or rejects unknown and duplicate fields.
pub(super) fn check_problems(
    cx: &RequestContext,
    kind: &GroupVersionKind,
    problems: &Problems,
    validation: FieldValidation,
) -> Result<(), Status> {
    if problems.is_empty() {
        return Ok(());
    }
    match validation {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            for problem in problems.iter() {
                for warning in problem.warnings() {
                    cx.warnings.add(warning);
                }
            }
            Ok(())
        }
        FieldValidation::Strict => Err(unhandled(kind, kind, &problems.to_string())),
    }
}

pub(super) fn unhandled(
    given: &GroupVersionKind,
    expected: &GroupVersionKind,
    text: &str,
) -> Status {
    status::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {text}",
        given.kind, given.version, expected.kind
    ))
}

pub(super) fn unrecognized(kind: &GroupVersionKind, text: &str, body: &[u8]) -> Status {
    status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {text} ({})",
        kind.kind,
        summarize(body)
    ))
}

/// Returns the beginning of a body: as text if it looks like JSON, otherwise in hexadecimal.
fn summarize(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let head = &body[..body.len().min(SHOWN)];
    let more = if body.len() > SHOWN { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => {
            let hex: String = head.iter().map(|b| format!("{b:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}
