//! Changes of a valid object at a position of its schema, which break it there or show how it is stored.

use kubewright_resource::generate::SchemaPath;
use serde_json::{Value, json};

/// The maximum length of generated texts and lists, so that recordings stay readable.
const MOST: u64 = 40;

/// A change at a position.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Sets another value.
    Set(Value),
    /// Repeats the first item of a list.
    Repeat(usize),
    /// Removes a field.
    Remove(String),
    /// Adds a field.
    Insert(&'static str, Value),
    /// Changes nothing: the presence of a value is enough.
    Nothing,
}

impl Change {
    /// Applies the change. Returns false if it has no effect.
    pub(super) fn apply(&self, value: &mut Value) -> bool {
        match (self, value) {
            (Self::Nothing, _) => true,
            (Self::Set(other), value) => {
                let differs = value != other;
                *value = other.clone();
                differs
            }
            (Self::Repeat(times), Value::Array(items)) => {
                let Some(first) = items.first().cloned() else {
                    return false;
                };
                *items = vec![first; *times];
                true
            }
            (Self::Remove(key), Value::Object(fields)) => fields.remove(key).is_some(),
            (Self::Insert(key, field), Value::Object(fields)) => {
                fields.insert((*key).to_owned(), field.clone());
                true
            }
            _ => false,
        }
    }
}

/// Returns all changes that are possible at a position, with what each one shows.
pub(super) fn changes(place: &SchemaPath<'_>) -> Vec<(String, Change)> {
    let schema = place.schema;
    let mut out: Vec<(String, Change)> = Vec::new();
    let mut add = |what: &str, change: Change| out.push((what.to_owned(), change));
    let has = |key: &str| !schema[key].is_null();
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    let preserves = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    if int_or_string {
        for value in [json!(5), json!("5"), json!(true), json!(1.5)] {
            add(
                &format!("{value} for a number or a text"),
                Change::Set(value),
            );
        }
    }
    match schema["type"].as_str() {
        Some("string") => add("a number for a text", Change::Set(json!(7))),
        Some("integer") => {
            add("a text for a whole number", Change::Set(json!("seven")));
            add("a fraction for a whole number", Change::Set(json!(1.5)));
            add("a whole number with a point", Change::Set(json!(2.0)));
        }
        Some("number") => add("a text for a number", Change::Set(json!("seven"))),
        Some("boolean") => add("a text for a truth", Change::Set(json!("yes"))),
        Some("array") => {
            add("an object for a list", Change::Set(json!({"a": 1})));
            add("a null in a list", Change::Set(json!([null])));
        }
        Some("object") => {
            add("a text for an object", Change::Set(json!("text")));
            add("a list for an object", Change::Set(json!([])));
        }
        _ => {}
    }
    match (schema["nullable"] == true, has("default")) {
        (true, _) => add("null where it may be", Change::Set(Value::Null)),
        (false, true) => add("null where there is a default", Change::Set(Value::Null)),
        (false, false) => add("null", Change::Set(Value::Null)),
    }
    if has("enum") {
        add("none of the values", Change::Set(json!("none-of-them")));
    }
    if has("pattern") {
        add("against the pattern", Change::Set(json!("! ?")));
    }
    if let Some(format) = schema["format"]
        .as_str()
        .filter(|_| schema["type"] == "string")
    {
        add(&format!("no {format}"), Change::Set(json!("no such thing")));
    }
    if schema["minLength"].as_u64().is_some_and(|n| n > 0) {
        add("too short", Change::Set(json!("")));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|n| *n < 8 * MOST) {
        add(
            "too long",
            Change::Set(json!("x".repeat(most as usize + 1))),
        );
    }
    let whole = |n: &Value, by: i64| n.as_i64().and_then(|n| n.checked_add(by));
    if let Some(n) = whole(&schema["minimum"], -1) {
        add("too small", Change::Set(json!(n)));
    }
    if let Some(n) = whole(&schema["maximum"], 1) {
        add("too large", Change::Set(json!(n)));
    }
    if schema["minItems"].as_u64().is_some_and(|n| n > 0) {
        add("too few items", Change::Set(json!([])));
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|n| *n < MOST) {
        add("too many items", Change::Repeat(most as usize + 1));
    }
    if schema["minProperties"].as_u64().is_some_and(|n| n > 0) {
        add("too few fields", Change::Set(json!({})));
    }
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => add("twice the same in a set", Change::Repeat(2)),
        Some("map") => {
            add("twice the same key", Change::Repeat(2));
            add("an item without its key", Change::Set(json!([{}])));
        }
        Some("atomic") => add("twice the same in an atomic list", Change::Repeat(2)),
        _ => {}
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default().to_owned();
        add("a required field is missing", Change::Remove(name));
    }
    if embedded {
        add(
            "an embedded object without a kind",
            Change::Remove("kind".to_owned()),
        );
        let odd = json!({"name": "Not A Name", "labels": {"-": "-"}});
        add(
            "an embedded object with odd metadata",
            Change::Insert("metadata", odd),
        );
    }
    if preserves {
        let more = json!({"kept": [1, {"a": null}]});
        add("a field that is kept", Change::Insert("unknownField", more));
    } else if has("properties") {
        add(
            "a field too many",
            Change::Insert("unknownField", json!({"a": 1})),
        );
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    if fields
        .into_iter()
        .any(|(_, field)| !field["default"].is_null())
    {
        add("defaults", Change::Nothing);
    }
    out
}
