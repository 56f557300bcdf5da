//! The wire as Go reads it, and what it says when it cannot.

use kubewright_protobuf::{DecodeError, decode};
use serde_json::{Value, json};

use crate::hostile::{envelope, field};

fn config_map(raw: &[u8]) -> Result<Value, String> {
    let bytes = envelope("v1", "ConfigMap", raw);
    decode(&bytes, ("", ""))
        .map(|decoded| decoded.value)
        .map_err(|error| error.to_string())
}

#[test]
fn bytes_that_are_no_envelope_are_recognised() {
    for (bytes, message) in [
        (&b""[..], "empty data"),
        (b"k8s\0", "empty body"),
        (
            b"{\"kind\":\"Pod\"}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (
            b"k8s",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0\xff", "unexpected EOF"),
        (
            b"k8s\0\x08\x00",
            "proto: wrong wireType = 0 for field TypeMeta",
        ),
        (
            b"k8s\0\x0c",
            "proto: Unknown: wiretype end group for non-group",
        ),
    ] {
        let error = decode(bytes, ("v1", "Pod")).unwrap_err();
        assert_eq!(error, DecodeError::Envelope(message.into()));
        assert_eq!(error.type_meta(), None);
    }
}

#[test]
fn errors_within_an_object_name_its_kind() {
    let error = decode(b"k8s\0\x12\x02\x09\x09", ("v1", "ConfigMap")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "proto: wrong wireType = 1 for field ObjectMeta"
    );
    assert_eq!(error.type_meta(), Some(("v1", "ConfigMap")));
    let error = decode(&envelope("v1", "X", b""), ("v1", "ConfigMap")).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"no kind "X" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#
    );
    assert_eq!(error.type_meta(), Some(("v1", "X")));
    let error = decode(&envelope("", "", b""), ("", "")).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:"", Kind:""}'"#
    );
    for (raw, message) in [
        (&[0x0a, 5, 0][..], "unexpected EOF"),
        (&[0xff; 11], "proto: integer overflow"),
        (&[0], "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (
            &[0x0c],
            "proto: ConfigMap: wiretype end group for non-group",
        ),
        (&[0x7e], "proto: illegal wireType 6"),
        (
            &[0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            "proto: negative length found during unmarshaling",
        ),
    ] {
        assert_eq!(config_map(raw), Err(message.into()));
    }
}

#[test]
fn the_caller_names_what_the_envelope_does_not() {
    let default = ("apps/v1", "Deployment");
    let names = |bytes: &[u8]| {
        let decoded = decode(bytes, default).unwrap();
        assert_eq!(decoded.value["kind"], *decoded.kind);
        assert_eq!(decoded.value["apiVersion"], *decoded.api_version);
        (decoded.api_version, decoded.kind)
    };
    assert_eq!(
        names(&envelope("", "", b"")),
        ("apps/v1".into(), "Deployment".into())
    );
    assert_eq!(
        names(&envelope("", "ReplicaSet", b"")),
        ("apps/v1".into(), "ReplicaSet".into())
    );
    assert_eq!(
        names(&envelope("a/b/c", "", b"")),
        ("apps/v1".into(), "Deployment".into())
    );
    assert_eq!(
        names(&envelope("v1", "Pod", b"")),
        ("v1".into(), "Pod".into())
    );
}

#[test]
fn repeated_messages_merge_and_of_repeated_scalars_the_last_counts() {
    let raw = [
        field(1, &[field(1, b"first"), field(3, b"space")].concat()),
        field(2, &[field(1, b"k"), field(2, b"old")].concat()),
        field(1, &field(1, b"second")),
        field(2, &[field(2, b"new"), field(1, b"k")].concat()),
        vec![0x20, 1, 0x20, 0],
    ]
    .concat();
    let value = config_map(&raw).unwrap();
    assert_eq!(
        value["metadata"],
        json!({"name": "second", "namespace": "space"})
    );
    assert_eq!(value["data"], json!({"k": "new"}));
    assert_eq!(value["immutable"], false);
    // A zero takes back what came before.
    let value =
        config_map(&[field(1, &field(1, b"first")), field(1, &field(1, b""))].concat()).unwrap();
    assert_eq!(value["metadata"], json!({}));
}

#[test]
fn unknown_fields_and_groups_are_skipped() {
    let unknown = [
        vec![0x98, 6, 42],
        vec![0x9b, 6, 0x08, 1, 0x13, 0x14, 0x9c, 6],
        vec![0x9d, 6, 1, 2, 3, 4],
        vec![0x99, 6, 1, 2, 3, 4, 5, 6, 7, 8],
        vec![0x9a, 6, 2, 9, 9],
    ]
    .concat();
    let value = config_map(&[&unknown[..], &field(1, &field(1, b"a")), &unknown].concat()).unwrap();
    assert_eq!(
        value,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    );
}

#[test]
fn lists_of_numbers_may_be_packed() {
    // spec.securityContext.supplementalGroups: 2, 14, 4.
    for groups in [
        vec![0x20, 1, 0x20, 0xac, 2],
        vec![0x22, 3, 1, 0xac, 2],
        vec![0x20, 1, 0x22, 2, 0xac, 2],
    ] {
        let raw = field(2, &field(14, &groups));
        let value = decode(&envelope("v1", "Pod", &raw), ("", ""))
            .unwrap()
            .value;
        assert_eq!(
            value["spec"]["securityContext"]["supplementalGroups"],
            json!([1, 300])
        );
    }
}

#[test]
fn entries_of_maps_may_lack_a_side() {
    let value = config_map(
        &[
            field(2, b""),
            field(3, &field(1, b"k")),
            field(2, &field(1, b"k")),
        ]
        .concat(),
    )
    .unwrap();
    assert_eq!(value["data"], json!({"": "", "k": ""}));
    assert_eq!(value["binaryData"], json!({"k": ""}));
}

#[test]
fn text_that_is_not_utf8_is_replaced_byte_by_byte() {
    let value = config_map(&field(1, &field(1, b"a\xff\xe6\xbcb"))).unwrap();
    assert_eq!(value["metadata"]["name"], "a\u{fffd}\u{fffd}\u{fffd}b");
}

#[test]
fn times_are_read_whatever_their_range() {
    let created = |stamp: &[u8]| {
        config_map(&field(1, &field(8, stamp))).map(|v| v["metadata"]["creationTimestamp"].clone())
    };
    assert_eq!(created(b""), Ok(Value::Null));
    assert_eq!(created(&[8, 0]), Ok("1970-01-01T00:00:00Z".into()));
    assert_eq!(created(&[0x10, 5, 8, 1]), Ok("1970-01-01T00:00:01Z".into()));
    assert!(created(&[8, 255, 255, 255, 255, 255, 255, 255, 255, 127]).is_ok());
    let lease = |stamp: &[u8]| {
        let raw = field(2, &field(3, stamp));
        let value = decode(&envelope("coordination.k8s.io/v1", "Lease", &raw), ("", ""))
            .unwrap()
            .value;
        value["spec"]["acquireTime"].clone()
    };
    assert_eq!(lease(&[0x10, 0xe7, 7]), "1970-01-01T00:00:00.000000Z");
    assert_eq!(lease(&[0x10, 0xe8, 7]), "1970-01-01T00:00:00.000001Z");
    // Minus one microsecond.
    assert_eq!(
        lease(&[0x10, 0x98, 0xf8, 255, 255, 255, 255, 255, 255, 255, 1]),
        "1969-12-31T23:59:59.999999Z"
    );
    assert_eq!(
        lease(&[0x10, 255, 255, 255, 255, 7]),
        "1970-01-01T00:00:02.147483Z"
    );
}

#[test]
fn quantities_are_checked() {
    let quota = |text: &[u8]| {
        let entry = [field(1, b"cpu"), field(2, &field(1, text))].concat();
        let raw = field(2, &field(1, &entry));
        decode(&envelope("v1", "ResourceQuota", &raw), ("", ""))
            .map(|decoded| decoded.value["spec"]["hard"]["cpu"].clone())
            .map_err(|error| error.to_string())
    };
    assert_eq!(quota(b"0.5"), Ok("500m".into()));
    assert_eq!(
        quota(b"x"),
        Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".into())
    );
    for text in ["1e2147483647", "1e-2147483648", "9e99999999999999"] {
        assert!(
            quota(text.as_bytes()).is_ok_and(|v| v.to_string().len() < 100)
                || quota(text.as_bytes()).is_err()
        );
    }
}
