//! Patches applied to their originals.

use kubewright_merge::json_patch::{self, Decoding};
use proptest::prelude::*;
use serde_json::{Value, json, value::to_raw_value};

use super::*;

fn patch(before: &Value, after: &Value, original: &Value) -> Vec<PatchOperation> {
    let (before, after) = (before.to_string(), after.to_string());
    changes(&before, &after, &original.to_string()).unwrap()
}

fn patched(before: &Value, after: &Value, original: &Value) -> Value {
    let operations = serde_json::to_vec(&patch(before, after, original)).unwrap();
    let patch = json_patch::Patch::decode(&operations, Decoding::Checked).unwrap();
    json_patch::apply(original.clone(), &patch).unwrap()
}

#[test]
fn unknown_fields_survive() {
    let original = json!({"spec": {"ship": "", "new": 1}, "other": {}});
    let before = json!({"spec": {"ship": ""}});
    let after = json!({"spec": {"ship": "pequod"}});
    assert_eq!(
        patched(&before, &after, &original),
        json!({"spec": {"ship": "pequod", "new": 1}, "other": {}})
    );
}

#[test]
fn encoded_defaults_are_not_changes() {
    let original = json!({"spec": {}});
    let before =
        json!({"spec": {"masts": 3, "rigging": {"sails": 1, "ropes": []}}, "status": null});
    assert!(patch(&before, &before, &original).is_empty());
    // An object that is missing in the original is added as a whole.
    let mut after = before.clone();
    after["spec"]["rigging"]["sails"] = json!(2);
    assert_eq!(
        patched(&before, &after, &original),
        json!({"spec": {"rigging": {"sails": 2, "ropes": []}}})
    );
}

#[test]
fn fields_are_removed_only_if_they_exist() {
    let original = json!({"a": 1, "b": [], "unknown": true});
    let before = json!({"a": 1, "c": 2});
    assert_eq!(
        patched(&before, &json!({}), &original),
        json!({"b": [], "unknown": true})
    );
    // The type does not encode an empty list of the original.
    assert_eq!(
        patched(&before, &json!({"a": 1, "c": 2, "b": [1]}), &original)["b"],
        json!([1])
    );
}

#[test]
fn unknown_fields_of_list_items_survive() {
    let item = |name: &str, unknown: bool| {
        let mut item = json!({"name": name, "image": "x"});
        if unknown {
            item["unknown"] = json!(name);
        }
        item
    };
    let list = |names: &[&str], unknown| -> Vec<Value> {
        names.iter().map(|name| item(name, unknown)).collect()
    };
    let original = json!({"items": list(&["a", "b", "c"], true)});
    let before = json!({"items": list(&["a", "b", "c"], false)});
    for names in [
        ["sidecar", "a", "b", "c"].as_slice(),
        &["a", "b", "c", "sidecar"],
        &["c", "b", "a"],
        &["b", "x", "c", "a"],
        &["a", "c"],
        &["c"],
        &[],
    ] {
        let mut after = json!({"items": list(names, false)});
        let mut expected = after.clone();
        for (i, name) in names.iter().enumerate() {
            after["items"][i]["image"] = json!("y");
            expected["items"][i]["image"] = json!("y");
            if ["a", "b", "c"].contains(name) {
                expected["items"][i]["unknown"] = json!(name);
            }
        }
        assert_eq!(patched(&before, &after, &original), expected, "{names:?}");
    }
}

#[test]
fn a_list_that_the_type_decodes_differently_is_replaced() {
    let original = json!({"items": [null, 1]});
    let (before, after) = (json!({"items": [1]}), json!({"items": [1, 2]}));
    assert_eq!(
        patch(&before, &after, &original),
        [PatchOperation::Replace {
            path: "/items".into(),
            value: json!([1, 2])
        }]
    );
}

#[test]
fn one_changed_field_is_one_operation_with_escaped_names() {
    let before = json!({"labels": {"a/b~c": "1"}, "list": [1, 2, 3]});
    let mut after = before.clone();
    after["labels"]["a/b~c"] = json!("2");
    assert_eq!(
        patch(&before, &after, &before),
        [PatchOperation::Replace {
            path: "/labels/a~1b~0c".into(),
            value: json!("2")
        }]
    );
}

/// Returns documents with objects, lists of scalars, and lists of named items.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        "[a-c~/]{0,2}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-d/]", inner.clone(), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            prop::collection::vec(("[a-e]", inner), 0..5).prop_map(|items| items
                .into_iter()
                .map(|(name, value)| json!({"name": name, "value": value}))
                .collect()),
        ]
    });
    prop::collection::btree_map("[a-d]", tree, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

proptest! {
    #[test]
    fn patches_apply_the_change(before in documents(), after in documents()) {
        prop_assert_eq!(patched(&before, &after, &before), after);
    }

    #[test]
    fn equal_parts_do_not_matter(
        shared in documents(), before in documents(), after in documents(), original in documents()
    ) {
        let put = |part: &Value, keys: &[&str]| {
            let part = keys.iter().rev().fold(part.clone(), |part, key| json!({*key: part}));
            let mut whole = shared.clone();
            whole["b"] = part;
            whole
        };
        for keys in [&["\"/{", "c"][..], &["a"], &[]] {
            let (before, after) = (put(&before, keys).to_string(), put(&after, keys).to_string());
            for original in [put(&original, keys), put(&original, &["a"]), shared.clone()] {
                let original = to_raw_value(&original).unwrap();
                let mut whole = Patch::default();
                whole.value(
                    serde_json::from_str(&before).unwrap(),
                    serde_json::from_str(&after).unwrap(),
                    &original,
                ).unwrap();
                let narrowed = changes(&before, &after, original.get()).unwrap();
                prop_assert_eq!(narrowed, whole.operations);
            }
        }
    }
}
