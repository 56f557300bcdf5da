//! A schema as Rust types can express it, and what had to go for that.
//!
//! kube's derive rewrites `anyOf` and `oneOf`, because that is how it lowers Rust enums: branches lose their types, and their
//! properties move up. Branches that only ask for fields survive; others are taken out here, and each is reported.
//!
//! `x-kubernetes-int-or-string` says all that its usual `anyOf` of integer and string says, so that one goes without a word.

use serde_json::{Map, Value, json};

/// What a branch must not say if it is to survive.
const REWRITTEN: [&str; 6] = [
    "properties",
    "type",
    "enum",
    "description",
    "default",
    "additionalProperties",
];

/// The schema without what cannot be expressed. What is gone is reported with its place.
pub(super) fn settle(schema: &mut Map<String, Value>, path: &str, notes: &mut Vec<String>) {
    if is_int_or_string(schema) {
        schema.remove("anyOf");
    }
    for key in ["anyOf", "oneOf"] {
        let lost = match schema.get(key) {
            Some(Value::Array(branches)) => !branches.iter().all(survives),
            Some(_) => true,
            None => false,
        };
        if lost {
            schema.remove(key);
            notes.push(format!(
                "{path}: `{key}` with types or properties in its branches is not kept"
            ));
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            if let Value::Object(property) = property {
                settle(property, &format!("{path}.{name}"), notes);
            }
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        settle(items, &format!("{path}[]"), notes);
    }
    if let Some(Value::Object(values)) = schema.get_mut("additionalProperties") {
        settle(values, &format!("{path}[*]"), notes);
    }
}

/// An integer or a string, by its extension.
pub(super) fn is_int_or_string(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-int-or-string") == Some(&json!(true))
}

fn survives(branch: &Value) -> bool {
    let Value::Object(branch) = branch else {
        return false;
    };
    let below = |key: &str| match branch.get(key) {
        Some(Value::Array(branches)) => branches.iter().all(survives),
        _ => true,
    };
    !REWRITTEN.iter().any(|key| branch.contains_key(*key))
        && ["anyOf", "oneOf", "allOf"].into_iter().all(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(schema: Value) -> (Value, Vec<String>) {
        let Value::Object(mut schema) = schema else {
            panic!("not an object")
        };
        let mut notes = Vec::new();
        settle(&mut schema, "spec", &mut notes);
        (Value::Object(schema), notes)
    }

    #[test]
    fn branches_that_only_ask_for_fields_stay() {
        let schema = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(settled(schema.clone()), (schema, vec![]));
    }

    #[test]
    fn branches_with_types_go_and_are_reported() {
        let port = json!({"anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}]});
        let (left, notes) = settled(json!({"properties": {"port": port}}));
        assert_eq!(left, json!({"properties": {"port": {}}}));
        assert_eq!(
            notes,
            ["spec.port: `anyOf` with types or properties in its branches is not kept"]
        );
    }

    #[test]
    fn the_usual_branches_of_int_or_string_go_without_a_word() {
        let (left, notes) = settled(json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        }));
        assert_eq!(left, json!({"x-kubernetes-int-or-string": true}));
        assert!(notes.is_empty());
    }
}
