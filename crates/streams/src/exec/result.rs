//! [`Exit`]: the result of a command.

use kubewright_machinery::{
    Status,
    status::{Cause, Details, Reason, StatusMeta},
};
use serde::Serialize;

/// The exit code of a command.
///
/// ```
/// use kubewright_streams::Exit;
///
/// assert_eq!(Exit::code(0), Exit::SUCCESS);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(i32);

impl Exit {
    /// The command succeeded.
    pub const SUCCESS: Self = Self(0);

    /// Returns the result for an exit code.
    pub fn code(code: i32) -> Self {
        Self(code)
    }
}

/// The status that is sent to a client, without kind and version.
#[derive(Serialize)]
struct Outcome<'a> {
    metadata: &'a StatusMeta,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Reason::is_unknown")]
    reason: &'a Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    #[serde(skip_serializing_if = "is_zero")]
    code: u16,
}

fn is_zero(code: &u16) -> bool {
    *code == 0
}

/// Encodes the result as a JSON status, as in the fourth version of the protocol.
pub(super) fn as_json(result: &Result<Exit, Status>) -> Vec<u8> {
    let failure = failure(result);
    let outcome = match &failure {
        None => return br#"{"metadata":{},"status":"Success"}"#.to_vec(),
        Some(failure) => Outcome {
            metadata: &failure.metadata,
            status: "Failure",
            message: &failure.message,
            reason: &failure.reason,
            details: failure.details.as_deref(),
            code: failure.code,
        },
    };
    serde_json::to_vec(&outcome)
        .unwrap_or_else(|_| br#"{"metadata":{},"status":"Failure"}"#.to_vec())
}

/// Encodes the error as text, as in earlier versions of the protocol.
pub(super) fn as_text(result: &Result<Exit, Status>) -> Option<String> {
    failure(result).map(|failure| failure.message)
}

fn failure(result: &Result<Exit, Status>) -> Option<Status> {
    match result {
        Ok(Exit(0)) => None,
        Ok(Exit(code)) => {
            let text = format!(
                "command terminated with non-zero exit code: command terminated with exit code {code}"
            );
            let details = Details {
                causes: vec![Cause {
                    reason: "ExitCode".into(),
                    message: code.to_string(),
                    ..Cause::default()
                }],
                ..Details::default()
            };
            Some(Status::failure(0, "NonZeroExitCode", text).with_details(details))
        }
        Err(status) => Some(status.clone()),
    }
}

#[cfg(test)]
mod tests {
    use kubewright_machinery::status;

    use super::*;

    #[test]
    fn statuses_equal_those_of_a_kubelet() {
        let text = |result| String::from_utf8(as_json(&result)).unwrap();
        assert_eq!(
            text(Ok(Exit::SUCCESS)),
            r#"{"metadata":{},"status":"Success"}"#
        );
        assert_eq!(
            text(Ok(Exit::code(7))),
            concat!(
                r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: "#,
                r#"command terminated with exit code 7","reason":"NonZeroExitCode","#,
                r#""details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#
            )
        );
        assert_eq!(
            text(Err(status::bad_request("no"))),
            r#"{"metadata":{},"status":"Failure","message":"no","reason":"BadRequest","code":400}"#
        );
        assert_eq!(as_text(&Ok(Exit::SUCCESS)), None);
    }
}
