//! Encoded values are decoded again.

use kubewright_catalog::{generated::KINDS, kind_type};
use kubewright_protobuf::{EncodeError, decode, encode};
use kubewright_schema::normalize_typed;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    arbitrary::{Draw, structure},
    fixtures::carried,
};

/// A normal object of some kind, drawn from a number.
pub(crate) fn object(seed: u64) -> Value {
    let mut draw = Draw::new(seed);
    let (group, version, kind, ty) = KINDS[draw.below(KINDS.len())];
    let mut value = structure(&mut draw, ty, 0);
    let api_version = [group, version].map(str::to_owned).join("/");
    value["apiVersion"] = api_version.trim_start_matches('/').into();
    value["kind"] = kind.into();
    normalize_typed(value, ty).expect("the value fits its type")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_kind_survives_the_wire(seed: u64) {
        let object = object(seed);
        let bytes = match encode(&object) {
            Ok(bytes) => bytes,
            Err(EncodeError::NoType { kind, .. }) => {
                prop_assert!(kind.starts_with("Table"), "{kind}");
                return Ok(());
            }
            Err(error) => panic!("{error}: {object}"),
        };
        let decoded = decode(&bytes, ("", "")).expect("it was just encoded");
        prop_assert_eq!(&object["kind"], &decoded.kind);
        prop_assert_eq!(&object["apiVersion"], &decoded.api_version);
        let (group, version) =
            decoded.api_version.split_once('/').unwrap_or(("", &decoded.api_version));
        let ty = kind_type(group, version, &decoded.kind).expect("it was just encoded");
        let again = normalize_typed(decoded.value, ty).expect("it was normal before");
        prop_assert_eq!(carried(&again), carried(&object));
        prop_assert_eq!(encode(&again).expect("it was encoded before"), bytes);
    }
}

#[test]
fn pointers_to_zero_differ_from_absent_ones() {
    let deployment =
        |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
    let decoded = |value: &Value| decode(&encode(value).unwrap(), ("", "")).unwrap().value;
    assert_eq!(
        decoded(&deployment(json!({"replicas": 0})))["spec"]["replicas"],
        0
    );
    assert_eq!(
        decoded(&deployment(json!({})))["spec"].get("replicas"),
        None
    );
    // Not a pointer: zero and absent are the same.
    assert_eq!(
        decoded(&deployment(json!({"minReadySeconds": 0})))["spec"].get("minReadySeconds"),
        None
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for (field, value) in [
        ("data", json!([])),
        ("data", json!({"a": 1})),
        ("immutable", json!("yes")),
        ("metadata", json!("x")),
        ("binaryData", json!({"a": "***"})),
        ("metadata", json!({"creationTimestamp": "yesterday"})),
        ("metadata", json!({"generation": 1.5})),
    ] {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        object[field] = value;
        assert!(
            matches!(encode(&object), Err(EncodeError::Mismatch { .. })),
            "{object}"
        );
    }
}

#[test]
fn custom_resources_and_tables_have_no_protobuf_form() {
    for (api_version, kind) in [
        ("example.com/v1", "Widget"),
        ("meta.k8s.io/v1", "Table"),
        ("v1", "Nope"),
        ("", ""),
    ] {
        let object = json!({"apiVersion": api_version, "kind": kind});
        let none = EncodeError::NoType {
            api_version: api_version.into(),
            kind: kind.into(),
        };
        assert_eq!(encode(&object), Err(none));
    }
    assert!(encode(&Value::Null).is_err());
}

#[test]
fn options_are_read_under_any_group() {
    let options = json!({"apiVersion": "example.com/v3", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground", "preconditions": {"uid": "u"}});
    let decoded = decode(&encode(&options).unwrap(), ("", "")).unwrap();
    assert_eq!(decoded.value, options);
}
