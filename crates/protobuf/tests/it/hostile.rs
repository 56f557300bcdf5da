//! Hostile bytes.

use kubewright_catalog::kind_type;
use kubewright_machinery::limits::DOCUMENT_DEPTH;
use kubewright_protobuf::{MAGIC, decode, encode};
use kubewright_schema::normalize_typed;
use proptest::prelude::*;
use serde_json::json;

use crate::{arbitrary::Draw, golden, round_trip::object};

/// An envelope around the bytes of an object.
pub(crate) fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
}

/// A block under a number below 16.
pub(crate) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// Whatever is decoded and fits its type can be encoded.
fn survives(bytes: &[u8]) {
    let Ok(decoded) = decode(bytes, ("v1", "Pod")) else {
        return;
    };
    let (group, version) = decoded
        .api_version
        .split_once('/')
        .unwrap_or(("", &decoded.api_version));
    let Some(ty) = kind_type(group, version, &decoded.kind) else {
        return;
    };
    if let Ok(normal) = normalize_typed(decoded.value, ty) {
        encode(&normal).expect("a normal object is encoded");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn random_bytes_do_no_harm(bytes: Vec<u8>) {
        survives(&bytes);
        survives(&[&MAGIC[..], &bytes].concat());
        for (api_version, kind) in [
            ("v1", "Pod"), ("v1", "Secret"), ("coordination.k8s.io/v1", "Lease"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ] {
            survives(&envelope(api_version, kind, &bytes));
            survives(&envelope(api_version, kind, &field(2, &bytes)));
        }
    }

    #[test]
    fn damaged_objects_do_no_harm(seed: u64) {
        let Ok(mut bytes) = encode(&object(seed)) else { return Ok(()) };
        let mut draw = Draw::new(seed.rotate_left(32));
        for _ in 0..=draw.below(6) {
            let at = draw.below(bytes.len());
            match draw.below(5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at, draw.next() as u8),
                2 => drop(bytes.remove(at)),
                3 => bytes[at] ^= 1 << draw.below(8),
                _ => bytes[at] = draw.next() as u8,
            }
            if bytes.is_empty() {
                break;
            }
        }
        survives(&bytes);
    }
}

#[test]
fn every_prefix_of_an_object_is_harmless() {
    for (_, _, bytes) in golden::objects() {
        for end in 0..bytes.len() {
            survives(&bytes[..end]);
        }
    }
}

#[test]
fn deep_schemas_are_refused_and_shallow_ones_read() {
    let nested = |levels: usize| {
        let mut schema = Vec::new();
        for _ in 0..levels {
            // `not`, number 28, whose tag takes two bytes.
            let inner = field(2, &schema);
            schema = [&[0xe2, 1][..], &inner[1..]].concat();
        }
        let version = field(4, &field(1, &schema));
        let raw = field(2, &field(7, &version));
        decode(
            &envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", &raw),
            ("", ""),
        )
    };
    assert!(nested(50).is_ok());
    for levels in [DOCUMENT_DEPTH, 10_000] {
        assert_eq!(
            nested(levels).unwrap_err().to_string(),
            "exceeded max depth"
        );
    }
}

#[test]
fn deep_values_are_not_encoded() {
    let mut schema = json!({});
    let mut data = json!(1);
    for _ in 0..1000 {
        schema = json!({"not": schema});
        data = json!([data]);
    }
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
    assert_eq!(
        encode(&definition).unwrap_err().to_string(),
        "exceeded max depth"
    );
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": data});
    assert_eq!(
        encode(&revision).unwrap_err().to_string(),
        "exceeded max depth"
    );
}

#[test]
fn deep_json_within_is_refused() {
    let text = "[".repeat(100_000);
    let raw = field(2, &field(1, text.as_bytes()));
    assert!(decode(&envelope("apps/v1", "ControllerRevision", &raw), ("", "")).is_err());
}
