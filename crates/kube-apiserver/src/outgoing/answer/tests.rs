use super::*;

fn said(code: u16, body: &str) -> String {
    let status = StatusCode::from_u16(code).unwrap();
    read(status, body.as_bytes(), None).unwrap_err()
}

/// As a real server words them.
#[test]
fn failure_codes_have_their_messages() {
    let cases = [
        (
            302,
            "",
            "the server responded with the status code 302 but did not return more information",
        ),
        (
            400,
            "bad",
            "the server rejected our request for an unknown reason",
        ),
        (
            401,
            "",
            "the server has asked for the client to provide credentials",
        ),
        (403, "no", "no"),
        (
            500,
            r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no way", "code": 418}"#,
            "no way",
        ),
        (403, "", ""),
        (404, "", "the server could not find the requested resource"),
        (
            405,
            "",
            "the server does not allow this method on the requested resource",
        ),
        (
            406,
            "",
            "the server was unable to respond with a content type that the client supports",
        ),
        (409, "x", "the server reported a conflict"),
        (415, "y", "y"),
        (
            418,
            "tea",
            "the server responded with the status code 418 but did not return more information",
        ),
        (
            422,
            "",
            "the server rejected our request due to an error in our request",
        ),
        (
            429,
            "",
            "the server has received too many requests and has asked us to try again later",
        ),
        (
            500,
            "broken",
            "an error on the server (\"broken\") has prevented the request from succeeding",
        ),
        (
            500,
            "",
            "an error on the server (\"\") has prevented the request from succeeding",
        ),
        (
            503,
            "",
            "the server is currently unable to handle the request",
        ),
        (
            504,
            "late",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
    ];
    for (code, body, words) in cases {
        assert_eq!(said(code, body), words);
    }
}

#[test]
fn responses_without_a_document_are_errors() {
    assert_eq!(
        said(200, ""),
        "0-length response with status code: 200 and content type: application/json"
    );
    assert_eq!(
        said(200, "{"),
        "couldn't get version/kind; json parse error: unexpected end of JSON input"
    );
    assert_eq!(
        said(200, "[1]"),
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }"
    );
}

#[test]
fn a_body_is_repeated_in_part_and_escaped() {
    let long = format!("\u{1b}[2J{}", "x".repeat(5000));
    for code in [403, 406, 415, 500, 502] {
        let said = said(code, &long);
        assert!(said.len() < 400, "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn only_text_is_repeated() {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let error = read(status, b"broken", Some("application/json")).unwrap_err();
    assert_eq!(
        error,
        "an error on the server (\"unknown\") has prevented the request from succeeding"
    );
}
