//! The answer to a request that a webhook denied.

use kubewright_machinery::{
    Status, go,
    json::Read,
    status::{Cause, Details},
};
use serde_json::Value;

/// Returns the answer: the status of the webhook, with a code that is a failure and a message that names the webhook.
pub(super) fn status(webhook: &str, given: &Value) -> Status {
    let code = u16::try_from(given["code"].int()).unwrap_or_default();
    let code = if (400..1000).contains(&code) {
        code
    } else {
        400
    };
    let denied = format!(
        "admission webhook {} denied the request",
        go::quote(webhook)
    );
    let message = match (given["message"].text(), given["reason"].text()) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let denial = Status::failure(code, given["reason"].text(), message);
    let details = &given["details"];
    match details.is_set() {
        true => denial.with_details(read_details(details)),
        false => denial,
    }
}

fn read_details(details: &Value) -> Details {
    let text = |key: &str| details[key].text().to_owned();
    let causes = details["causes"].items().iter();
    Details {
        name: text("name"),
        group: text("group"),
        kind: text("kind"),
        uid: text("uid"),
        causes: causes
            .map(|cause| Cause {
                reason: cause["reason"].text().to_owned(),
                message: cause["message"].text().to_owned(),
                field: cause["field"].text().to_owned(),
            })
            .collect(),
        retry_after_seconds: u16::try_from(details["retryAfterSeconds"].int()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_denial_names_the_webhook() {
        let denied = "admission webhook \"a.b.c\" denied the request";
        let cases = [
            (
                Value::Null,
                400,
                "",
                format!("{denied} without explanation"),
            ),
            (json!({"message": "no"}), 400, "", format!("{denied}: no")),
            (
                json!({"reason": "Forbidden"}),
                400,
                "Forbidden",
                format!("{denied}: Forbidden"),
            ),
            (
                json!({"code": 200, "message": "no"}),
                400,
                "",
                format!("{denied}: no"),
            ),
            (
                json!({"code": 403, "message": "no"}),
                403,
                "",
                format!("{denied}: no"),
            ),
            (
                json!({"code": -1}),
                400,
                "",
                format!("{denied} without explanation"),
            ),
            (
                json!({"code": 70000}),
                400,
                "",
                format!("{denied} without explanation"),
            ),
        ];
        for (given, code, reason, message) in cases {
            let status = status("a.b.c", &given);
            assert_eq!(
                (status.code, status.reason.as_str()),
                (code, reason),
                "{given}"
            );
            assert_eq!(status.message, message);
            assert_eq!(status.status, "Failure");
        }
        let details = json!({"details": {"kind": "Pod", "causes": [{"field": "spec"}]}});
        let details = status("a.b.c", &details).details.unwrap();
        assert_eq!(details.kind, "Pod");
        assert_eq!(details.causes[0].field, "spec");
    }
}
