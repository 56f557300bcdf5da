//! Properties that hold for every input.

use kubewright_schema::{
    decode_typed, decode_untyped, encode, normalize_typed, normalize_untyped, parse_json,
    yaml::parse_yaml,
};
use proptest::{collection, prelude::*};
use serde_json::{Map, Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            collection::btree_map(".{0,6}", inner, 0..6)
                .prop_map(|map| Value::Object(Map::from_iter(map))),
        ]
    })
}

/// A pod with known and unknown fields.
fn pod() -> impl Strategy<Value = Value> {
    let container = (
        ".{0,8}",
        proptest::option::of(0..70_000i32),
        proptest::option::of("[0-9]{1,4}(m|Mi|)"),
        any::<bool>(),
    )
        .prop_map(|(name, port, cpu, tty)| {
            json!({"name": name, "ports": [{"containerPort": port}], "tty": tty,
                   "resources": {"limits": cpu.map(|cpu| json!({"cpu": cpu}))}, "junk": 1})
        });
    (
        collection::btree_map("[a-z]{1,5}", ".{0,5}", 0..4),
        collection::vec(container, 0..4),
        proptest::option::of(any::<i64>()),
        any_value(),
    )
        .prop_map(|(labels, containers, grace, junk)| {
            json!({"metadata": {"labels": labels, "annotations": null},
                   "spec": {"containers": containers, "terminationGracePeriodSeconds": grace},
                   "junk": junk})
        })
}

proptest! {
    #[test]
    fn parsing_agrees_with_serde_json(value in any_value()) {
        let text = serde_json::to_vec(&value).unwrap();
        prop_assert_eq!(&parse_json(&text).unwrap().into_value().unwrap(), &value);
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(parse_json(&pretty).unwrap().into_value().unwrap(), value);
    }

    #[test]
    fn text_that_serde_json_refuses_is_refused(text in r#"[\[\]{}",:0-9a-fu\\ .-]{0,20}"#) {
        let ours = parse_json(text.as_bytes());
        let theirs: Result<&serde_json::value::RawValue, _> = serde_json::from_str(&text);
        // The raw value checks the grammar alone, but escapes of lone surrogates too.
        if !text.contains("\\u") {
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", ours);
        }
    }

    #[test]
    fn encoding_reads_back(value in any_value()) {
        let back: Value = serde_json::from_slice(&encode(&value)).unwrap();
        prop_assert_eq!(back, value);
    }

    #[test]
    fn decoding_what_was_decoded_changes_nothing(value in pod()) {
        let ty = kubewright_catalog::resource("", "v1", "pods").unwrap().ty;
        let text = serde_json::to_vec(&value).unwrap();
        let once = decode_typed(parse_json(&text).unwrap(), ty).unwrap();
        let text = encode(&once.value);
        let twice = decode_typed(parse_json(&text).unwrap(), ty).unwrap();
        prop_assert!(twice.problems.is_empty());
        prop_assert_eq!(&twice.value, &once.value);
        // What is stored is the same whether it was decoded before or not, and storing it again changes nothing.
        let stored = normalize_typed(value, ty).unwrap();
        prop_assert_eq!(&normalize_typed(once.value, ty).unwrap(), &stored);
        prop_assert_eq!(normalize_typed(stored.clone(), ty).unwrap(), stored);
    }

    #[test]
    fn any_value_decodes_or_fails_without_a_panic(value in any_value()) {
        let text = serde_json::to_vec(&json!({"spec": value, "metadata": value})).unwrap();
        for resource in ["pods", "services", "events"] {
            let ty = kubewright_catalog::resource("", "v1", resource).unwrap().ty;
            let _ = decode_typed(parse_json(&text).unwrap(), ty);
        }
        let (mut stored, _) = decode_untyped(parse_json(&text).unwrap()).unwrap();
        normalize_untyped(&mut stored);
        let (read, _) = decode_untyped(parse_json(&encode(&stored)).unwrap()).unwrap();
        prop_assert_eq!(read, stored);
    }

    #[test]
    fn any_bytes_parse_or_fail_without_a_panic(bytes in collection::vec(any::<u8>(), 0..64)) {
        let _ = parse_json(&bytes);
        let _ = parse_yaml(&bytes);
    }

    #[test]
    fn any_text_is_yaml_or_not(text in "([a-z:{}&*!|>'\"?, \\n#-]|\\[|\\]){0,40}") {
        let _ = parse_yaml(text.as_bytes());
    }

    #[test]
    fn json_is_yaml(value in any_value()) {
        let value = json!({"a": value});
        let text = serde_json::to_vec(&value).unwrap();
        // YAML has no control characters, and its keys are short.
        if let Ok(yaml) = parse_yaml(&text) {
            let (mut expected, _) = decode_untyped(parse_json(&text).unwrap()).unwrap();
            // On its way to JSON, a float of YAML is printed.
            normalize_untyped(&mut expected);
            prop_assert_eq!(decode_untyped(yaml.node).unwrap().0, expected);
        }
    }
}
