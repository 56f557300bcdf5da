use super::*;
use kubewright_machinery::{
    go::{self, JsonStyle},
    limits::VALUE_DEPTH,
};
use serde_json::json;

fn set(text: &str) -> FieldSet {
    FieldSet::from_json(text).expect("FieldsV1")
}

#[test]
fn the_encoding_is_ordered_by_kind_and_value() {
    let text = r#"{"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"port\":80}":{".":{},"f:x":{}},"k:{\"port\":443}":{},"v:\"a\\u003c\"":{},"i:2":{}}}"#;
    assert_eq!(set(text).to_json(), text);
    assert_eq!(FieldSet::from_value(&set(text).to_value()), Ok(set(text)));
    assert_eq!(set("{}").to_json(), "{}");
    assert_eq!(set("null").to_json(), "{}");
}

#[test]
fn unknown_elements_are_left_out() {
    assert_eq!(
        set(r#"{"z:new":{"f:a":{}},"f:b":{}}"#).to_json(),
        r#"{"f:b":{}}"#
    );
    assert_eq!(set(r#"{"f:a":{"z:new":{}}}"#).to_json(), r#"{"f:a":{}}"#);
}

#[test]
fn malformed_fields_are_errors() {
    for text in [
        "[]",
        "1",
        "{\"f:a\":1}",
        "{\"f:a\":[]}",
        "{\"f\":{}}",
        "{\"fa\":{}}",
        "{\"k:x\":{}}",
        "{\"k:1\":{}}",
        "{\"v:\":{}}",
        "{\"i:x\":{}}",
        "{\"i:\":{}}",
        "{",
        "{\"éa\":{}}",
        "{\"i:99999999999999999999\":{}}",
    ] {
        assert!(FieldSet::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn deep_fields_are_an_error_or_a_set_but_never_a_crash() {
    let mut value = json!({});
    for _ in 0..VALUE_DEPTH + 10 {
        value = json!({ "f:a": value });
    }
    assert_eq!(FieldSet::from_value(&value), Err(DecodeError::TooDeep));
    let path = vec![PathElement::field("a"); VALUE_DEPTH + 1];
    assert!(!FieldSet::new().insert(&path));
}

#[test]
fn differences_take_paths_or_whole_trees() {
    let all = set(r#"{"f:a":{".":{},"f:b":{},"f:c":{"f:d":{}}},"f:e":{}}"#);
    let a = set(r#"{"f:a":{}}"#);
    assert_eq!(
        all.difference(&a).to_json(),
        r#"{"f:a":{"f:b":{},"f:c":{"f:d":{}}},"f:e":{}}"#
    );
    assert_eq!(all.recursive_difference(&a).to_json(), r#"{"f:e":{}}"#);
    assert_eq!(a.difference(&all).to_json(), "{}");
    let below = set(r#"{"f:a":{"f:c":{}}}"#);
    assert_eq!(
        all.recursive_difference(&below).to_json(),
        r#"{"f:a":{".":{},"f:b":{}},"f:e":{}}"#
    );
}

#[test]
fn members_come_before_what_is_below_them() {
    let paths: Vec<_> =
        set(r#"{"f:a":{"f:b":{}},"f:c":{".":{},"k:{\"n\":1,\"s\":\"x\"}":{},"v:true":{}}}"#)
            .paths()
            .iter()
            .map(ToString::to_string)
            .collect();
    assert_eq!(paths, [".c", ".a.b", ".c[n=1,s=\"x\"]", ".c[=true]"]);
}

#[test]
fn leaves_have_nothing_below() {
    assert_eq!(
        set(r#"{"f:a":{".":{},"f:b":{}},"f:c":{}}"#)
            .leaves()
            .to_json(),
        r#"{"f:a":{"f:b":{}},"f:c":{}}"#
    );
}

#[test]
fn insertion_and_lookup_agree() {
    let mut s = FieldSet::new();
    let path = [PathElement::field("a"), PathElement::Index(3)];
    assert!(s.insert(&path));
    assert!(!s.insert(&path));
    assert!(!s.insert(&[]));
    assert!(s.contains(&path));
    assert!(!s.contains(&path[..1]));
    assert_eq!(s.len(), 1);
    assert_eq!(s.to_json(), r#"{"f:a":{"i:3":{}}}"#);
}

#[test]
fn patterns_select_below_any_item() {
    let f = |name: &str| Some(PathElement::field(name));
    let filter = Filter::Include(
        Pattern::prefix([f("spec"), f("c"), None, f("resources")])
            .or(Pattern::prefix([f("spec"), f("x")])),
    );
    let all = set(
        r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}},"f:x":{},"f:y":{}}}"#,
    );
    assert_eq!(
        filter.apply(&all).to_json(),
        r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:resources":{"f:limits":{}}}},"f:x":{}}}"#
    );
}

#[test]
fn the_text_of_a_value_is_written_without_the_value() {
    let text = r#"{"f:<a>":{"f:\u0008\u000c":{}},"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{}},"v:\"x&y\"":{},"i:7":{},"i:10":{}}}"#;
    let set = FieldSet::from_json(text).expect("FieldsV1");
    let (mut direct, mut of_value) = (String::new(), String::new());
    set.write_value_text(&mut direct);
    JsonStyle::Standard.write(&mut of_value, &set.to_value());
    assert_eq!(direct, of_value);
    assert!(direct.contains(r"\u003ca\u003e"), "{direct}");
}

#[test]
fn the_text_of_list_items_is_that_of_their_value() {
    let names = [
        "a", "ab", "a!", "a b", "a\"", "a\\", "a<b", "a&", "é", "", "z", "#", "A",
    ];
    for first in names {
        for second in names {
            let paths = [first, second].map(|name| {
                let item = PathElement::key([("name", json!(name))]);
                Path(vec![
                    PathElement::field("items"),
                    item,
                    PathElement::field("x"),
                ])
            });
            let set: FieldSet = paths.into_iter().collect();
            let mut direct = String::new();
            set.write_value_text(&mut direct);
            assert_eq!(direct, go::json(&set.to_value()), "{first:?} {second:?}");
        }
    }
}
