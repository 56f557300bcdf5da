//! JSON, YAML and protobuf documents.

use kubewright_schema::{
    decode_typed, decode_untyped, encode, normalize_typed, parse_json, read_type_meta,
    yaml::{parse_yaml, to_yaml},
};
use serde_json::Value;

use crate::parts;

/// The depth up to which every JSON parser accepts documents.
const SHALLOW: usize = 100;

/// The largest expansion of a YAML document, in bytes of JSON for each byte of YAML, beyond what small documents may have.
const MAX_EXPANSION: usize = 64;

/// The size up to which a YAML document may expand freely.
const FREE_EXPANSION: usize = 32 << 20;

/// Checks that what is read can be written and read again, by type and without one.
pub(crate) fn json(data: &[u8]) {
    let parsed = parse_json(data);
    if let Ok(value) = serde_json::from_slice::<Value>(data)
        && depth(&value) < SHALLOW
    {
        assert!(parsed.is_ok(), "valid JSON is rejected: {parsed:?}");
    }
    let Ok(node) = parsed else { return };
    let _ = read_type_meta(&node);
    if let Ok((value, _)) = decode_untyped(node.clone()) {
        round_trip(&value);
    }
    for (group, version, plural) in [("", "v1", "pods"), ("apps", "v1", "deployments")] {
        let ty = kubewright_catalog::resource(group, version, plural)
            .expect("a built-in kind")
            .ty;
        let Ok(typed) = decode_typed(node.clone(), ty) else {
            continue;
        };
        round_trip(&typed.value);
        let normal = normalize_typed(typed.value, ty).expect("a decoded value fits its type");
        let again = normalize_typed(normal.clone(), ty).expect("a normal value fits its type");
        assert_eq!(again, normal, "normalized twice");
    }
}

/// Checks that YAML expands within bounds, and that what is written is read again as the same value.
pub(crate) fn yaml(data: &[u8]) {
    let Ok(yaml) = parse_yaml(data) else { return };
    let Ok(value) = yaml.node.into_value() else {
        return;
    };
    let expanded = encode(&value).len();
    assert!(
        expanded <= FREE_EXPANSION.max(data.len() * MAX_EXPANSION),
        "{} bytes of YAML became {expanded} bytes",
        data.len()
    );
    let Ok(text) = to_yaml(&value) else { return };
    let again = parse_yaml(text.as_bytes()).expect("our own YAML is YAML");
    let again = again
        .node
        .into_value()
        .expect("our own numbers are numbers");
    if !has_odd_breaks(&value) {
        assert_eq!(again, value, "as YAML:\n{text}");
    }
}

/// Returns whether a string has a line break that YAML 1.1 folds and JSON does not escape. kube-apiserver prints those as spaces.
fn has_odd_breaks(value: &Value) -> bool {
    let odd = |text: &str| text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    match value {
        Value::String(text) => odd(text),
        Value::Array(items) => items.iter().any(has_odd_breaks),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| odd(name) || has_odd_breaks(value)),
        _ => false,
    }
}

/// Checks that a decoded message encodes, and that decoding and encoding it again changes no byte.
pub(crate) fn protobuf(data: &[u8]) {
    let Ok(decoded) = kubewright_protobuf::decode(data, ("v1", "Pod")) else {
        return;
    };
    let Ok(bytes) = kubewright_protobuf::encode(&decoded.value) else {
        return;
    };
    let again = kubewright_protobuf::decode(&bytes, ("v1", "Pod"))
        .expect("an encoded message can be decoded");
    let second = kubewright_protobuf::encode(&again.value).expect("a decoded message encodes");
    assert_eq!(second, bytes, "{}", again.value);
}

fn round_trip(value: &Value) {
    let bytes = encode(value);
    let again = parts::json(&bytes).expect("our own JSON is JSON");
    assert_eq!(again, *value, "{}", String::from_utf8_lossy(&bytes));
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or_default()
}
