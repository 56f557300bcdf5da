//! Decoding of answers, with the errors of client-go.

use http::StatusCode;
use kubewright_machinery::go;
use kubewright_schema::{Node, decode_untyped, parse_json, yaml::parse_yaml};
use serde_json::Value;

use super::{Answer, excerpt, quoted_excerpt};

/// Decodes the document that an endpoint answered with.
///
/// # Errors
///
/// Returns the message of client-go for an answer that is a failure, or no document.
pub(crate) fn decode(answer: &Answer) -> Result<Value, String> {
    read(answer.status, &answer.body, answer.content_type.as_deref())
}

fn read(status: StatusCode, body: &[u8], content_type: Option<&str>) -> Result<Value, String> {
    if !status.is_success() {
        if let Some(message) = failure_message(body) {
            return Err(message);
        }
        // Only text is repeated in messages.
        let text = content_type.is_none_or(|t| t.trim_start().starts_with("text/"));
        return Err(error_of(
            status.as_u16(),
            if text { body } else { b"unknown" },
        ));
    }
    if body.is_empty() {
        let code = status.as_u16();
        let content_type = excerpt(content_type.unwrap_or("application/json"));
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    let unread = |e: String| format!("couldn't get version/kind; json parse error: {e}");
    let looks_like_json = body.trim_ascii_start().starts_with(b"{");
    let node = match looks_like_json {
        true => parse_json(body).map_err(|e| unread(excerpt(&e.to_string())))?,
        // Everything else is parsed as YAML, which almost any text is.
        false => {
            let document = parse_yaml(body).map_err(|e| unread(excerpt(&e.to_string())))?;
            document.node
        }
    };
    if matches!(node, Node::Object(_) | Node::Null) {
        let (answer, _) = decode_untyped(node).map_err(|e| unread(excerpt(&e.to_string())))?;
        return Ok(answer);
    }
    let kind = node.kind();
    Err(unread(format!(
        "json: cannot unmarshal {kind} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )))
}

/// Returns the message of a body that is a `Status` about a failure.
fn failure_message(body: &[u8]) -> Option<String> {
    let (answer, _) = decode_untyped(parse_json(body).ok()?).ok()?;
    let text = |key: &str| answer[key].as_str().unwrap_or_default();
    let is_failure = matches!(text("apiVersion"), "v1" | "")
        && (text("kind"), text("status")) == ("Status", "Failure");
    is_failure.then(|| excerpt(text("message")))
}

/// Checks that an answer that names its type is a review of a group and version. One that does not is checked by others.
///
/// # Errors
///
/// Returns the message of kube-apiserver for an answer of another type.
pub(crate) fn check_registered(
    answer: &Value,
    group: &str,
    kind: &str,
    version: &str,
) -> Result<(), String> {
    let text = |key: &str| excerpt(answer[key].as_str().unwrap_or_default());
    let (api_version, given_kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || given_kind.is_empty() {
        return Ok(());
    }
    if (api_version.as_str(), given_kind.as_str()) == ("v1", "Status") {
        return Err(format!(
            "converting (v1.Status) to ({version}.{kind}): unknown conversion"
        ));
    }
    let (given_group, given) = api_version.split_once('/').unwrap_or(("", &api_version));
    let known = given_group == group && matches!(given, "v1" | "v1beta1");
    if !known || given_kind != kind {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            go::quote(&given_kind),
            go::quote(&api_version)
        ));
    }
    if given != version {
        return Err(format!(
            "converting ({given}.{kind}) to ({version}.{kind}): unknown conversion"
        ));
    }
    Ok(())
}

/// Returns the error for a code that is not a success.
fn error_of(code: u16, body: &[u8]) -> String {
    /// The maximum size of a body that is searched for a reason.
    const MAX_BODY: usize = 2048;
    let said = String::from_utf8_lossy(body.get(..MAX_BODY).unwrap_or(body));
    let shown = excerpt(&said);
    let words = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 | 415 => shown.as_str(),
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if shown.is_empty() => {
            "the server was unable to respond with a content type that the client supports"
        }
        406 => shown.as_str(),
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500..=599 => {
            let said = quoted_excerpt(&said);
            return format!(
                "an error on the server ({said}) has prevented the request from succeeding"
            );
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    words.to_owned()
}

#[cfg(test)]
mod tests;
