//! Objects as a Go server of release 1.36 printed them, in both notations.

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_catalog::kind_type;
use kubewright_protobuf::{decode, encode, encode_watch_event};
use kubewright_schema::normalize_typed;
use serde_json::Value;

macro_rules! golden {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!("golden/", $name, ".json")),
            include_str!(concat!("golden/", $name, ".b64")),
        )),*]
    };
}

const OBJECTS: &[(&str, &str, &str)] = golden![
    "access-review",
    "api-group",
    "config-map",
    "custom-resource-definition",
    "deployment",
    "event",
    "lease",
    "partial-metadata",
    "pod-disruption-budget",
    "role",
    "scale",
    "secret",
    "status",
];

const WATCH_EVENT: &[(&str, &str, &str)] = golden!["watch-event"];

pub(crate) fn read(json: &str, base64: &str) -> (Value, Vec<u8>) {
    let value = serde_json::from_str(json).expect("the file is JSON");
    let base64: String = base64.lines().collect();
    (value, STANDARD.decode(base64).expect("the file is base64"))
}

pub(crate) fn objects() -> impl Iterator<Item = (&'static str, Value, Vec<u8>)> {
    OBJECTS.iter().map(|(name, json, base64)| {
        let (value, bytes) = read(json, base64);
        (*name, value, bytes)
    })
}

#[test]
fn objects_encode_to_the_bytes_of_the_go_server() {
    for (name, value, bytes) in objects() {
        assert_eq!(encode(&value).unwrap(), bytes, "{name}");
    }
}

#[test]
fn the_bytes_of_the_go_server_decode_to_the_object() {
    for (name, mut value, bytes) in objects() {
        let decoded = decode(&bytes, ("", "")).unwrap();
        let (group, version) = decoded
            .api_version
            .split_once('/')
            .unwrap_or(("", &decoded.api_version));
        let ty = kind_type(group, version, &decoded.kind)
            .or_else(|| kind_type(group, "v1", &decoded.kind))
            .expect("it is built in");
        let normal = normalize_typed(decoded.value, ty).unwrap();
        if name == "access-review" {
            // Lists that are empty and lists that are not there look the same.
            let extra = value
                .pointer_mut("/spec/extra/a")
                .expect("the object has it");
            *extra = normal["spec"]["extra"]["a"].clone();
            assert!(extra.as_array().is_none_or(Vec::is_empty));
        }
        assert_eq!(normal, value, "{name}");
    }
}

#[test]
fn a_watch_event_is_framed_as_the_go_server_does() {
    for (_, json, base64) in WATCH_EVENT {
        let (event, bytes) = read(json, base64);
        let kind = event["type"].as_str().unwrap();
        assert_eq!(encode_watch_event(kind, &event["object"]).unwrap(), bytes);
    }
}
