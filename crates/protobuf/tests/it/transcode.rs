//! Transcoded text equals an encoded tree of values.

use kubewright_protobuf::{
    EncodeError, ListType, ObjectType, Transcoder, decode, encode, encode_watch_event,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::round_trip::object;

fn type_of(value: &Value) -> Result<ObjectType, EncodeError> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    ObjectType::of(text("apiVersion"), text("kind"))
}

fn transcoded(value: &Value, text: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    Transcoder::new().object(&type_of(value)?, text, &mut out)?;
    Ok(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn text_and_tree_give_the_same_bytes(seed: u64) {
        let object = object(seed);
        // As the server stores it, with white space, and as other clients of the crate write it.
        let stored = kubewright_schema::encode(&object);
        let pretty = serde_json::to_vec_pretty(&object).expect("plain data");
        let expected = encode(&object);
        prop_assert_eq!(&transcoded(&object, &stored), &expected);
        prop_assert_eq!(&transcoded(&object, &pretty), &expected);
        if let Ok(ty) = type_of(&object) {
            let mut frame = Vec::new();
            Transcoder::new().watch_event("ADDED", &ty, &stored, &mut frame).expect("encoded before");
            prop_assert_eq!(frame, encode_watch_event("ADDED", &object).expect("encoded before"));
        }
    }

    #[test]
    fn any_bytes_are_answered(text in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..400, seed: u64) {
        let ty = ObjectType::of("v1", "Pod").expect("built in");
        let mut out = Vec::new();
        let _ = Transcoder::new().object(&ty, &text, &mut out);
        let object = object(seed);
        let mut stored = kubewright_schema::encode(&object);
        let cut = cut % stored.len();
        stored.splice(cut..(cut + 3).min(stored.len()), text);
        let _ = transcoded(&object, &stored);
    }
}

#[test]
fn repeated_and_unsorted_keys_mean_what_they_mean_in_a_tree() {
    for text in [
        r#"{"kind":"ConfigMap","apiVersion":"v1","data":{"b":"1","a":"2","b":"3","a":"4"}}"#,
        r#"{"data":{"a":"x"},"kind":"ConfigMap","data":null,"apiVersion":"v1"}"#,
        r#"{"data":null,"kind":"ConfigMap","data":{"k\u0061":"\ud83d\ude00\/"},"apiVersion":"v1"}"#,
        r#"{"d\u0061ta":{"a":"b"},"kind":"ConfigMap","apiVersion":"v1","unknown":{"x":[1]}}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            transcoded(&value, text.as_bytes()),
            encode(&value),
            "{text}"
        );
    }
}

#[test]
fn text_that_does_not_fit_is_an_error() {
    let ty = ObjectType::of("v1", "ConfigMap").unwrap();
    for (text, syntax) in [
        ("", true),
        ("{", true),
        (r#"{"data":{"a":1}}"#, false),
        (r#"{"metadata":{"generation":1.5}}"#, false),
        (r#"{"metadata":{"generation":-0}}"#, false),
        (r#"{"metadata":{"creationTimestamp":"yesterday"}}"#, false),
        (r#"{"data":{"a":"\ud800"}}"#, false),
    ] {
        let mut out = vec![7];
        let error = Transcoder::new()
            .object(&ty, text.as_bytes(), &mut out)
            .unwrap_err();
        assert_eq!(error == EncodeError::Syntax, syntax, "{text}: {error}");
        assert_eq!(out, [7]);
    }
}

#[test]
fn a_streamed_list_equals_an_encoded_one() {
    let pods: Vec<Value> = (0..50)
        .map(|i| {
            json!({"kind": "Pod", "apiVersion": "v1",
                "metadata": {"name": format!("p{i}"), "labels": {"i": i.to_string()}},
                "spec": {"containers": [{"name": "c", "image": "x".repeat(i * 10)}]}})
        })
        .collect();
    let metadata = json!({"resourceVersion": "12", "remainingItemCount": 0});
    for (api_version, kind) in [
        ("v1", "PodList"),
        ("meta.k8s.io/v1", "PartialObjectMetadataList"),
    ] {
        let list = ListType::of(api_version, kind).unwrap();
        let mut transcoder = Transcoder::new();
        let texts: Vec<_> = pods.iter().map(kubewright_schema::encode).collect();
        let lengths = texts
            .iter()
            .map(|text| list.item_len(&mut transcoder, text).unwrap());
        let length = lengths.sum();
        let mut out = Vec::new();
        list.start(&metadata, length, &mut out).unwrap();
        let start = out.len();
        for text in &texts {
            list.item(&mut transcoder, text, &mut out).unwrap();
        }
        assert_eq!(out.len() - start, length);
        out.extend(ListType::END);
        let whole =
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "items": pods});
        assert_eq!(out, encode(&whole).unwrap());
        let decoded = decode(&out, ("", "")).unwrap();
        assert_eq!(decoded.value["items"][49]["metadata"]["name"], "p49");
    }
    assert!(ListType::of("v1", "Pod").is_err());
    assert!(ListType::of("example.com/v1", "WidgetList").is_err());
}
