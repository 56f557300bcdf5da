use super::*;
use crate::fieldset::FieldSet;
use crate::schema::{Deduced, ListMerge, Scalar, Schema, Shape};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::{Value, json};

/// A schema written as a tree of statics.
#[derive(Clone, Copy)]
pub(crate) struct T(pub(crate) &'static Ty);

pub(crate) enum Ty {
    Num,
    Str,
    Bool,
    Struct(&'static [(&'static str, Ty)]),
    AtomicStruct(&'static [(&'static str, Ty)]),
    Map(&'static Ty),
    List(&'static Ty),
    Set(&'static Ty),
    Keyed(&'static [(&'static str, Option<&'static str>)], &'static Ty),
    Any,
    Free,
}

impl Schema for T {
    fn shape(&self) -> Shape<Self> {
        match self.0 {
            Ty::Num => Shape::Scalar(Scalar::Numeric),
            Ty::Str => Shape::Scalar(Scalar::String),
            Ty::Bool => Shape::Scalar(Scalar::Boolean),
            Ty::Struct(_) => Shape::Struct {
                atomic: false,
                element: None,
            },
            Ty::AtomicStruct(_) => Shape::Struct {
                atomic: true,
                element: None,
            },
            Ty::Map(item) => Shape::Map {
                atomic: false,
                item: T(item),
            },
            Ty::List(item) => Shape::List {
                merge: ListMerge::Atomic,
                item: T(item),
            },
            Ty::Set(item) => Shape::List {
                merge: ListMerge::Set,
                item: T(item),
            },
            Ty::Keyed(_, item) => Shape::List {
                merge: ListMerge::Map,
                item: T(item),
            },
            Ty::Any => Shape::Untyped,
            Ty::Free => Shape::Deduced,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        let (Ty::Struct(fields) | Ty::AtomicStruct(fields)) = self.0 else {
            return None;
        };
        fields.iter().find(|(n, _)| *n == name).map(|(_, ty)| T(ty))
    }

    fn key(&self, index: usize) -> Option<&str> {
        let Ty::Keyed(keys, _) = self.0 else {
            return None;
        };
        keys.get(index).map(|(name, _)| *name)
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        let Ty::Keyed(keys, _) = self.0 else {
            return None;
        };
        keys.iter()
            .find(|(name, _)| *name == key)?
            .1
            .map(Value::from)
    }
}

pub(crate) static ITEM: Ty = Ty::Struct(&[
    ("name", Ty::Str),
    ("port", Ty::Num),
    ("protocol", Ty::Str),
    ("args", Ty::List(&Ty::Str)),
]);
pub(crate) static ROOT: Ty = Ty::Struct(&[
    ("n", Ty::Num),
    ("s", Ty::Str),
    ("b", Ty::Bool),
    ("inner", Ty::Struct(&[("x", Ty::Num), ("y", Ty::Num)])),
    ("whole", Ty::AtomicStruct(&[("x", Ty::Num), ("y", Ty::Num)])),
    ("labels", Ty::Map(&Ty::Str)),
    ("atomic", Ty::List(&Ty::Num)),
    ("set", Ty::Set(&Ty::Str)),
    ("items", Ty::Keyed(&[("name", None)], &ITEM)),
    (
        "ports",
        Ty::Keyed(&[("port", None), ("protocol", Some("TCP"))], &ITEM),
    ),
    ("any", Ty::Any),
    ("free", Ty::Free),
]);

fn fields(value: Value) -> String {
    to_field_set(T(&ROOT), &value).expect("valid").to_json()
}

fn compared(old: Value, new: Value) -> [String; 3] {
    let c = compare(T(&ROOT), &old, &new).expect("valid");
    [c.removed.to_json(), c.modified.to_json(), c.added.to_json()]
}

fn merged(base: Value, over: Value) -> Value {
    merge(T(&ROOT), &base, &over).expect("valid")
}

fn removed(value: Value, set: &str) -> Value {
    remove_items(
        T(&ROOT),
        &value,
        &FieldSet::from_json(set).expect("FieldsV1"),
    )
}

fn problem(value: Value) -> String {
    validate(T(&ROOT), &value, Duplicates::Refused)
        .expect_err("invalid")
        .to_string()
}

#[test]
fn the_field_set_has_leaves_items_and_entries() {
    assert_eq!(
        fields(json!({
            "n": 1, "inner": {"x": 1}, "whole": {"x": 1}, "labels": {"a": "b"}, "atomic": [1],
            "set": ["a"], "items": [{"name": "a", "port": 1}], "ports": [{"port": 80}],
            "any": {"a": [1]}, "free": {"a": {"b": [1]}}
        })),
        r#"{"f:any":{},"f:atomic":{},"f:free":{"f:a":{".":{},"f:b":{}}},"f:inner":{"f:x":{}},"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:port":{}}},"f:labels":{"f:a":{}},"f:n":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:set":{"v:\"a\"":{}},"f:whole":{}}"#
    );
    assert_eq!(
        fields(json!({"inner": {}, "labels": null, "items": null, "set": []})),
        r#"{"f:inner":{},"f:items":{},"f:labels":{}}"#
    );
}

#[test]
fn repeated_items_are_owned_as_a_whole() {
    assert_eq!(
        fields(json!({"set": ["a", "a", "b"], "items": [{"name": "a"}, {"name": "a"}]})),
        r#"{"f:items":{"k:{\"name\":\"a\"}":{}},"f:set":{"v:\"a\"":{},"v:\"b\"":{}}}"#
    );
}

#[test]
fn a_new_object_adds_containers_too() {
    assert_eq!(
        compared(
            json!({}),
            json!({"inner": {"x": 1}, "labels": {"a": "b"}, "items": [{"name": "a"}]})
        ),
        [
            "{}",
            "{}",
            r#"{"f:inner":{".":{},"f:x":{}},"f:items":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:labels":{".":{},"f:a":{}}}"#
        ]
    );
    assert_eq!(
        compared(json!({"inner": {}}), json!({"inner": {"x": 1}}))[2],
        r#"{"f:inner":{"f:x":{}}}"#
    );
}

#[test]
fn changes_additions_and_removals_are_distinguished() {
    assert_eq!(
        compared(
            json!({"n": 1, "s": "a", "whole": {"x": 1}, "atomic": [1, 2], "set": ["a", "b"], "ports": [{"port": 80, "name": "x"}]}),
            json!({"n": 1.0, "s": "b", "whole": {"x": 2}, "atomic": [2, 1], "set": ["b", "c"], "ports": [{"port": 80, "protocol": "TCP", "name": "y"}]}),
        ),
        [
            r#"{"f:set":{"v:\"a\"":{}}}"#,
            r#"{"f:atomic":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}},"f:s":{},"f:whole":{}}"#,
            r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:protocol":{}}},"f:set":{"v:\"c\"":{}}}"#,
        ]
    );
}

#[test]
fn the_order_of_items_is_not_a_difference() {
    let c = compare(
        T(&ROOT),
        &json!({"set": ["a", "b"], "items": [{"name": "a"}, {"name": "b"}]}),
        &json!({"set": ["b", "a"], "items": [{"name": "b"}, {"name": "a"}]}),
    );
    assert!(c.expect("valid").is_same());
}

#[test]
fn another_kind_of_value_is_modified_and_what_it_holds_is_added() {
    assert_eq!(
        compared(json!({"free": {"a": 1}}), json!({"free": {"a": {"b": 1}}})),
        [
            "{}",
            r#"{"f:free":{"f:a":{}}}"#,
            r#"{"f:free":{"f:a":{"f:b":{}}}}"#
        ]
    );
}

#[test]
fn repeated_items_compare_as_a_whole() {
    let twice = |x: i64| json!({"items": [{"name": "a", "port": 1}, {"name": "a", "port": x}]});
    let once = || json!({"items": [{"name": "a", "port": 1}]});
    let a = r#"{"f:items":{"k:{\"name\":\"a\"}":{}}}"#;
    let all = r#"{"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:port":{}}}}"#;
    assert_eq!(compared(twice(2), twice(3)), ["{}", a, "{}"]);
    assert_eq!(compared(twice(2), once()), [a, "{}", all]);
    assert_eq!(compared(once(), twice(2)), [all, "{}", a]);
}

#[test]
fn merging_keeps_what_is_not_named() {
    assert_eq!(
        merged(
            json!({"n": 1, "inner": {"x": 1}, "whole": {"x": 1}, "labels": {"a": "1"}, "atomic": [1, 2], "items": [{"name": "a", "port": 1}]}),
            json!({"inner": {"y": 2}, "whole": {"y": 2}, "labels": {"b": "2"}, "atomic": [3], "items": [{"name": "a", "args": ["x"]}, {"name": "b"}]}),
        ),
        json!({"n": 1, "inner": {"x": 1, "y": 2}, "whole": {"y": 2}, "labels": {"a": "1", "b": "2"}, "atomic": [3], "items": [{"name": "a", "port": 1, "args": ["x"]}, {"name": "b"}]})
    );
    let live = json!({"labels": {"a": "1"}, "set": ["a"]});
    assert_eq!(
        merged(live.clone(), json!({"labels": null, "set": []})),
        live
    );
}

#[test]
fn merged_lists_take_the_order_of_the_upper_value() {
    let case = |base: &[&str], over: &[&str]| merged(json!({"set": base}), json!({"set": over}));
    assert_eq!(
        case(&["a", "b", "c"], &["c", "a"]),
        json!({"set": ["b", "c", "a"]})
    );
    assert_eq!(
        case(&["a", "b"], &["x", "a"]),
        json!({"set": ["x", "a", "b"]})
    );
    assert_eq!(
        case(&["a", "b", "c"], &["b", "x"]),
        json!({"set": ["a", "b", "c", "x"]})
    );
    assert_eq!(case(&["a", "a", "b"], &["a"]), json!({"set": ["a", "b"]}));
}

#[test]
fn removing_takes_items_and_leaves_null_where_nothing_remains() {
    assert_eq!(
        removed(
            json!({"n": 1, "labels": {"a": "1"}, "items": [{"name": "a", "port": 1}, {"name": "b"}], "set": ["a"]}),
            r#"{"f:labels":{"f:a":{}},"f:items":{"k:{\"name\":\"a\"}":{"f:port":{}},"k:{\"name\":\"b\"}":{}},"f:set":{"v:\"a\"":{}}}"#
        ),
        json!({"n": 1, "labels": null, "items": [{"name": "a"}], "set": null})
    );
    assert_eq!(removed(json!({"n": 1}), r#"{"f:n":{}}"#), json!(null));
}

#[test]
fn extracting_keeps_only_the_set() {
    let set = FieldSet::from_json(
        r#"{"f:n":{},"f:items":{"k:{\"name\":\"a\"}":{"f:port":{}}},"f:atomic":{}}"#,
    );
    let value = json!({"n": 1, "s": "x", "atomic": [1], "items": [{"name": "a", "port": 1}, {"name": "b"}]});
    assert_eq!(
        extract_items(T(&ROOT), &value, &set.expect("FieldsV1")),
        json!({"n": 1, "atomic": [1], "items": [{"port": 1}]})
    );
}

#[test]
fn values_that_do_not_fit_are_named_by_path() {
    assert_eq!(
        problem(json!({"nope": 1})),
        ".nope: field not declared in schema"
    );
    assert_eq!(
        problem(json!({"inner": {"x": "a"}})),
        ".inner.x: expected numeric (int or float), got string"
    );
    assert_eq!(
        problem(json!({"s": 1})),
        ".s: expected string, got &value.valueUnstructured{Value:1}"
    );
    assert_eq!(
        problem(json!({"b": "yes"})),
        ".b: expected boolean, got &{yes}"
    );
    assert_eq!(
        problem(json!({"labels": [1]})),
        ".labels: expected map, got &{[1]}"
    );
    assert_eq!(
        problem(json!({"set": {"a": 1}})),
        ".set: expected list, got &{map[a:1]}"
    );
    assert_eq!(
        problem(json!({"set": ["a", "a"]})),
        ".set: duplicate entries for key [=\"a\"]"
    );
    assert_eq!(
        problem(json!({"set": [null]})),
        ".set: element 0: associative list without keys has an element that's an explicit null"
    );
    assert_eq!(
        problem(json!({"items": [{"port": 1}]})),
        ".items: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default values for any key fields)"
    );
    assert_eq!(
        problem(json!({"atomic": [1, "x"]})),
        ".atomic[1]: expected numeric (int or float), got string"
    );
    assert_eq!(
        problem(json!({"b": 1, "n": "x"})),
        "errors:\n  .b: expected boolean, got &{1}\n  .n: expected numeric (int or float), got string"
    );
    assert!(validate(T(&ROOT), &json!({"set": ["a", "a"]}), Duplicates::Allowed).is_ok());
}

#[test]
fn deep_values_are_an_error() {
    let mut value = json!({});
    for _ in 0..MAX_DEPTH_PLUS {
        value = json!({ "a": value });
    }
    let other = json!({"a": value});
    assert!(validate(Deduced, &value, Duplicates::Allowed).is_err());
    assert!(to_field_set(Deduced, &value).is_err());
    assert!(compare(Deduced, &value, &other).is_err());
    assert!(merge(Deduced, &value, &other).is_err());
}

const MAX_DEPTH_PLUS: usize = VALUE_DEPTH + 10;

#[test]
fn owners_of_entries_become_owners_of_what_is_now_one_value() {
    let set = |text: &str| FieldSet::from_json(text).expect("FieldsV1");
    let old = set(r#"{"f:whole":{".":{},"f:x":{}},"f:atomic":{"i:0":{}},"f:n":{}}"#);
    let new = reconcile(T(&ROOT), &old).expect("changed");
    assert_eq!(new.to_json(), r#"{"f:atomic":{},"f:n":{},"f:whole":{}}"#);
    assert_eq!(reconcile(T(&ROOT), &new), None);
    assert_eq!(
        reconcile(
            T(&ROOT),
            &set(r#"{"f:free":{"f:a":{"f:b":{}}},"f:gone":{"f:x":{}}}"#)
        ),
        None
    );
}
