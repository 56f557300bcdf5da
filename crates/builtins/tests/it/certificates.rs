//! Certificate signing requests.

use kubewright_builtins::{certificates::certificate_signing_request as csr, rules};
use serde_json::{Value, json};

use crate::{created, errors_of_create, updated};

const GROUP: &str = "certificates.k8s.io";
const KIND: &str = "CertificateSigningRequest";

/// A request of OpenSSL for `system:node:n1` in `system:nodes`, as PEM in base64.
const REQUEST: &str = concat!(
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIc01JR1NBZ0VBTURBeEZUQVRCZ05WQkFvTURITjVjM1JsYlRw",
    "dWIyUmxjekVYTUJVR0ExVUVBd3dPYzNsegpkR1Z0T201dlpHVTZiakV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNB",
    "QVJVUGQzZGZ5dVNYdGhuCmVoVDN2dFZraE03K3lXSGFmUVZkeGRzWFFndmNBbHNKb1U2cGE3VExYbnowbEFJdVpLVWZXZGdiUXIx",
    "K3UvckcKZmhZRDdQYTRvQUF3Q2dZSUtvWkl6ajBFQXdJRFNRQXdSZ0loQUpaWkl1eXVLbzhhckNHSXNUMDcxYm8ra01POAovOHFT",
    "OGtFUHkwVlBXTEp4QWlFQTI2VE5wcHpXVjY5bzFmcW9xSHV6bzFaK0t4a3FtKzc4UkMrY1MyMmRBb0E9Ci0tLS0tRU5EIENFUlRJ",
    "RklDQVRFIFJFUVVFU1QtLS0tLQo=",
);
/// A certificate of OpenSSL, as PEM in base64.
const CERTIFICATE: &str = concat!(
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiakNDQVJPZ0F3SUJBZ0lVWHFHVE1DNW9PSkpkZHNRcWJhV0tRL1pDaUt3",
    "d0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QmVEQWVGdzB5TmpFeE1UZ3dNVEk0TURSYUZ3MHpOakV4TVRVd01USTRN",
    "RFJhTUF3eApDakFJQmdOVkJBTU1BWGd3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVFCTWJTVDVnL0xaa0hJCita",
    "RjQ3SlJRdTZFVzVUT1psbVFsWEh4WkFtS1MyYlROSW1ONkxqWHRCaDFRcm9nSUwwUUJRcmN6ekVrRTNZamkKaUFoSXBLNU5vMU13",
    "VVRBZEJnTlZIUTRFRmdRVTlaTk9PbGpkYUY4NWNKV3dyem8xMTdONGo2a3dId1lEVlIwagpCQmd3Rm9BVTlaTk9PbGpkYUY4NWNK",
    "V3dyem8xMTdONGo2a3dEd1lEVlIwVEFRSC9CQVV3QXdFQi96QUtCZ2dxCmhrak9QUVFEQWdOSkFEQkdBaUVBbmNrSGREcld5aWor",
    "SDlpdE1UUURoaDdVWWRWREsrMEw4cC9wYW5jNWRVb0MKSVFETG1HU2NrQ0hXa1N4VnlZR1Y4dUdaSG5NdjVuc3JIN1phNXh6NFpH",
    "U1ZZdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K",
);

fn request() -> Value {
    json!({
        "metadata": {"name": "Any Name", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"request": REQUEST, "signerName": "example.com/s", "usages": ["client auth"]},
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut request = request();
    request["spec"][field] = value;
    request
}

fn with_status(status: Value) -> Value {
    let mut request = created(GROUP, KIND, request());
    request["metadata"]["resourceVersion"] = "1".into();
    request["status"] = status;
    request
}

/// Returns the stored object and the errors of an update of `/status`.
fn status_updated(old: &Value, status: Value) -> (Value, Vec<String>) {
    let mut new = with_status(status);
    let rules = rules(GROUP, KIND);
    (rules.default)(&mut new);
    (rules.prepare_status_update)(&mut new, old);
    (rules.stamp_subresource_update.unwrap())(&mut new, old, "now");
    let errors = (rules.validate_status_update)(&new, old);
    (new, errors.iter().map(ToString::to_string).collect())
}

/// Returns the stored object and the errors of an update of `/approval`.
fn approval_updated(old: &Value, status: Value) -> (Value, Vec<String>) {
    let mut new = with_status(status);
    csr::prepare_approval(&mut new, old);
    let stamp = rules(GROUP, KIND).stamp_subresource_update.unwrap();
    stamp(&mut new, old, "now");
    let errors = csr::validate_approval(&new, old);
    (new, errors.iter().map(ToString::to_string).collect())
}

fn decided(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "r", "lastUpdateTime": "then", "lastTransitionTime": "then"})
}

#[test]
fn any_name_and_a_verified_request_are_accepted() {
    assert_eq!(errors_of_create(GROUP, KIND, request()), [""; 0]);
}

#[test]
fn the_request_must_be_signed_with_its_key() {
    let tampered = REQUEST.replace("TURBeEZ", "TURBeEY");
    assert_ne!(tampered, REQUEST);
    let errors = errors_of_create(GROUP, KIND, with("request", json!(tampered)));
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("spec.request: Invalid value: \"LS0t"),
        "{errors:?}"
    );
    for (text, detail) in [
        ("", "PEM block type must be CERTIFICATE REQUEST"),
        (CERTIFICATE, "PEM block type must be CERTIFICATE REQUEST"),
        (
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFVPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
            "asn1: syntax error: data truncated",
        ),
    ] {
        let errors = errors_of_create(GROUP, KIND, with("request", json!(text)));
        assert_eq!(
            errors,
            [format!("spec.request: Invalid value: \"{text}\": {detail}")]
        );
    }
}

#[test]
fn signers_are_a_domain_and_a_path() {
    let long = format!("{}.example.com/s", "a".repeat(250));
    for (signer, expected) in [
        ("", &["spec.signerName: Required value"][..]),
        (
            "kubernetes.io/legacy-unknown",
            &[
                "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed via this API version",
            ],
        ),
        (
            "example/s",
            &[
                "spec.signerName: Invalid value: \"example\": should be a domain with at least two segments separated by dots",
            ],
        ),
        (
            "a/b/c",
            &[
                "spec.signerName: Invalid value: \"a/b/c\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            ],
        ),
        (
            &long,
            &["spec.signerName: Too long: may not be more than 253 bytes"],
        ),
    ] {
        let errors = errors_of_create(GROUP, KIND, with("signerName", json!(signer)));
        assert_eq!(errors[..expected.len()], *expected, "{signer}");
    }
}

#[test]
fn usages_are_known_and_occur_once() {
    let errors = errors_of_create(GROUP, KIND, with("usages", json!([])));
    assert_eq!(errors, ["spec.usages: Required value"]);
    let usages = json!(["any", "odd", "any"]);
    let errors = errors_of_create(GROUP, KIND, with("usages", usages.clone()));
    assert!(errors[0].starts_with(
        "spec.usages[1]: Unsupported value: \"odd\": supported values: \"any\", \"cert sign\""
    ));
    assert_eq!(errors[1], "spec.usages[2]: Duplicate value: \"any\"");
    // An object that has them already may keep them.
    let mut old = created(GROUP, KIND, with("usages", usages));
    old["spec"]["signerName"] = "kubernetes.io/legacy-unknown".into();
    let (_, errors) = updated(GROUP, KIND, &old, request());
    assert_eq!(errors, [""; 0]);
}

#[test]
fn an_update_changes_metadata_only() {
    let old = created(GROUP, KIND, request());
    let mut new = with("usages", json!(["any"]));
    new["status"] = json!({"certificate": "eA=="});
    new["metadata"]["labels"] = json!({"a": "b"});
    let (stored, errors) = updated(GROUP, KIND, &old, new);
    assert_eq!(errors, [""; 0]);
    assert_eq!(
        (&stored["spec"], &stored["status"]),
        (&old["spec"], &old["status"])
    );
    assert_eq!(stored["metadata"]["labels"], json!({"a": "b"}));
}

#[test]
fn decisions_are_made_at_approval_and_stay() {
    let pending = with_status(json!({}));
    let (approved, errors) = approval_updated(
        &pending,
        json!({
            "certificate": "eA==", "conditions": [{"type": "Approved", "status": "True", "reason": "r"}],
        }),
    );
    assert_eq!(errors, [""; 0]);
    let condition = json!({
        "type": "Approved", "status": "True", "reason": "r", "lastUpdateTime": "now", "lastTransitionTime": "now",
    });
    assert_eq!(approved["status"], json!({"conditions": [condition]}));

    let (_, errors) = approval_updated(&approved, json!({"conditions": [decided("Denied")]}));
    let removed =
        "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"";
    assert_eq!(errors, [removed]);
    let both = json!({"conditions": [decided("Approved"), decided("Denied")]});
    let (_, errors) = approval_updated(&approved, both);
    let exclusive = "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive";
    assert_eq!(errors, [exclusive]);

    let (_, errors) = status_updated(&pending, json!({"conditions": [decided("Approved")]}));
    let added =
        "status.conditions: Forbidden: updates may not add a condition of type \"Approved\"";
    assert_eq!(errors, [added]);
    let (_, errors) = status_updated(&approved, json!({"conditions": []}));
    assert_eq!(errors, [removed]);
    // Other contents of a decision are ignored here.
    let (stored, errors) = status_updated(&approved, json!({"conditions": [decided("Approved")]}));
    assert_eq!((stored, errors), (approved, Vec::new()));
}

#[test]
fn conditions_have_a_type_and_a_status() {
    let pending = with_status(json!({}));
    let conditions = json!([
        {"type": "Failed", "status": "False"}, {"type": "", "status": "Odd"}, {"type": "Odd"}, {"type": "Odd", "status": "True"},
    ]);
    let (_, errors) = approval_updated(&pending, json!({"conditions": conditions}));
    assert_eq!(
        errors,
        [
            "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\"",
            "status.conditions[1].type: Required value",
            "status.conditions[1].status: Unsupported value: \"Odd\": supported values: \"False\", \"True\", \"Unknown\"",
            "status.conditions[2].status: Required value",
            "status.conditions[3].type: Duplicate value: \"Odd\"",
        ]
    );
}

#[test]
fn the_certificate_is_written_once() {
    let pending = with_status(json!({}));
    let (issued, errors) = status_updated(&pending, json!({"certificate": CERTIFICATE}));
    assert_eq!(errors, [""; 0]);
    let fixed =
        "status.certificate: Forbidden: updates may not modify existing certificate content";
    let (_, errors) = status_updated(&issued, json!({}));
    assert_eq!(errors, [fixed]);
    let (_, errors) = approval_updated(&issued, json!({"conditions": [decided("Approved")]}));
    assert_eq!(errors, [""; 0]);
    for (text, detail) in [
        ("eA==", "must contain at least one CERTIFICATE PEM block"),
        (
            REQUEST,
            "only CERTIFICATE PEM blocks are allowed, found \"CERTIFICATE REQUEST\"",
        ),
        (
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCms6IHYKCkFRSUQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
            "no PEM block headers are permitted",
        ),
        (
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFRSUQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
            "x509: malformed certificate",
        ),
    ] {
        let (_, errors) = status_updated(&pending, json!({"certificate": text}));
        let expected =
            format!("status.certificate: Invalid value: \"<certificate data>\": {detail}");
        assert_eq!(errors, [expected]);
    }
}
