use serde_json::json;

use super::*;

fn review(response: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

fn read(answer: Value, version: ReviewVersion, role: Role) -> Result<Response, String> {
    let review = decode(answer, version)?;
    verify(&review, version, "u", role).map_err(|e| format!("invalid: {e}"))
}

fn said(answer: Value, role: Role) -> String {
    read(answer, ReviewVersion::V1, role).unwrap_err()
}

#[test]
fn a_response_is_read() {
    let answer = review(json!({
        "uid": "u", "allowed": true, "patch": "W10=", "patchType": "JSONPatch",
        "warnings": ["careful"], "auditAnnotations": {"k": "v"}, "more": 1,
    }));
    let response = read(answer, ReviewVersion::V1, Role::Mutating).unwrap();
    assert!(response.allowed);
    assert_eq!(response.patch, b"[]");
    assert_eq!(response.patch_type, "JSONPatch");
    assert_eq!(response.warnings, ["careful"]);
    assert_eq!(response.annotations["k"], "v");
}

#[test]
fn responses_that_break_the_rules_have_their_words() {
    use Role::{Mutating, Validating};
    let patched = |patch: Value| {
        let mut response = json!({"uid": "u", "allowed": true});
        for (key, value) in patch.as_object().into_iter().flatten() {
            response[key] = value.clone();
        }
        review(response)
    };
    let cases = [
        (
            review(Value::Null),
            Mutating,
            "invalid: webhook response was absent",
        ),
        (
            review(json!({"uid": "v"})),
            Mutating,
            "invalid: expected response.uid=\"u\", got \"v\"",
        ),
        (
            json!({"response": {"uid": "u"}}),
            Mutating,
            "invalid: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            patched(json!({"patch": "W10="})),
            Mutating,
            "invalid: webhook returned response.patch but not response.patchType",
        ),
        (
            patched(json!({"patchType": "JSONPatch"})),
            Mutating,
            "invalid: webhook returned response.patchType but not response.patch",
        ),
        (
            patched(json!({"patch": "W10=", "patchType": "JSONPatch"})),
            Validating,
            "invalid: validating webhook may not return response.patch",
        ),
        (
            patched(json!({"patchType": "JSONPatch"})),
            Validating,
            "invalid: validating webhook may not return response.patchType",
        ),
        (
            json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}),
            Mutating,
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "Review"}),
            Mutating,
            "no kind \"Review\" is registered for version \"admission.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            patched(json!({"allowed": "yes"})),
            Mutating,
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
    ];
    for (answer, role, words) in cases {
        assert_eq!(said(answer, role), words);
    }
}

#[test]
fn the_older_version_checks_less() {
    let version = ReviewVersion::V1Beta1;
    let answer = json!({"response": {"allowed": true, "patch": "W10="}});
    let response = read(answer.clone(), version, Role::Mutating).unwrap();
    assert_eq!(response.patch_type, "JSONPatch");
    let response = read(answer, version, Role::Validating).unwrap();
    assert!(response.patch.is_empty());
}
