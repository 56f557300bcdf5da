use kubewright_cel::Extent;
use kubewright_machinery::{field::Path, limits::fits};
use serde_json::{Value, json};

use super::{
    coerce::{ConformOptions, conform, refresh},
    embedded::validate_embedded,
    field_path::find_field,
    list_types::validate_list_types,
    *,
};

fn schema(document: Value) -> Structural {
    Structural::compile(&document).unwrap()
}

fn conformed(mut object: Value, document: Value) -> (Value, Vec<String>) {
    let options = ConformOptions {
        track: true,
        drop_invalid: false,
    };
    let unknown = conform(&mut object, &schema(document), options).unwrap();
    (object, unknown)
}

#[test]
fn unknown_fields_go_unless_they_are_to_be_kept() {
    let document = json!({"type": "object", "properties": {
        "o": {"type": "object", "properties": {"x": {"type": "string"}}},
        "keep": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {"y": {"type": "string"}}}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
        "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "string"}}}},
    }});
    let object = json!({"kind": "K", "metadata": {"name": "a", "zip": 1}, "gone": 1,
        "o": {"x": "1", "q": 2}, "keep": {"any": 1, "known": {"y": "y", "z": 1}},
        "l": [{"k": "k", "w": 1}], "m": {"one": {"v": "v", "u": 1}}});
    let (object, unknown) = conformed(object, document);
    assert_eq!(
        unknown,
        [
            "metadata.zip",
            "gone",
            "keep.known.z",
            "l[0].w",
            "m.one.u",
            "o.q"
        ]
    );
    assert_eq!(object["keep"], json!({"any": 1, "known": {"y": "y"}}));
    assert_eq!(object["metadata"], json!({"name": "a"}));
    assert_eq!(object["m"], json!({"one": {"v": "v"}}));
}

#[test]
fn metadata_that_does_not_fit_is_refused_or_dropped() {
    let schema = schema(json!({"type": "object"}));
    let object = json!({"metadata": {"name": "a", "labels": {"a": 1}}});
    let refused = conform(&mut object.clone(), &schema, ConformOptions::default());
    assert_eq!(
        refused.unwrap_err(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
    let mut read = object;
    refresh(&mut read, &schema).unwrap();
    assert_eq!(read["metadata"], json!({"name": "a"}));
}

#[test]
fn defaults_fill_what_is_missing_at_every_depth() {
    let schema = schema(
        json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "a": {"type": "string", "default": "A"},
            "n": {"type": "string", "nullable": true, "default": "N"},
            "l": {"type": "array", "items": {"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}}},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "integer", "default": 1}}}},
        }}}}),
    );
    let mut object = json!({});
    refresh(&mut object, &schema).unwrap();
    assert_eq!(object, json!({"spec": {"a": "A", "n": "N"}}));
    let mut object = json!({"spec": {"a": null, "n": null, "l": [{}], "m": {"k": {}}}});
    refresh(&mut object, &schema).unwrap();
    assert_eq!(
        object,
        json!({"spec": {"a": "A", "n": null, "l": [{"p": "TCP"}], "m": {"k": {"v": 1}}}})
    );
    let before = object.clone();
    refresh(&mut object, &schema).unwrap();
    assert_eq!(object, before);
}

#[test]
fn defaults_that_multiply_are_refused_before_they_fill_the_memory() {
    let text = "x".repeat(100_000);
    let item =
        json!({"type": "object", "properties": {"text": {"type": "string", "default": text}}});
    let list = schema(json!({"type": "array", "items": item}));
    let map = schema(json!({"type": "object", "additionalProperties": item}));
    let nulls = schema(json!({"type": "array", "items": {"type": "string", "default": text}}));
    let nested = schema(
        json!({"type": "array", "items": {"type": "object", "properties": {
            "inner": {"type": "array", "default": vec![json!({}); 1000], "items": {"type": "object", "properties": {
                "text": {"type": "string", "default": "x".repeat(1000)},
            }},
        }}}}),
    );
    let keys = (0..100_000).map(|i| (i.to_string(), json!({})));
    for (schema, mut object) in [
        (list, json!(vec![json!({}); 100_000])),
        (map, Value::Object(keys.collect())),
        (nulls, json!(vec![Value::Null; 100_000])),
        (nested, json!(vec![json!({}); 1000])),
    ] {
        assert_eq!(apply_defaults(&mut object, &schema), Err(DefaultsTooLarge));
        assert!(fits(&object, 8 << 20));
    }
}

#[test]
fn lists_that_are_sets_and_maps_tell_the_second_of_equals() {
    let schema = schema(json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
    }}));
    let object = json!({"set": ["a", "b", "a", "a"], "map": [{"k": "x"}, {"k": "x", "v": 1}, {}]});
    let errors = validate_list_types(&object, &schema, &Path::root());
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "map[1]: Duplicate value: {\"k\":\"x\"}",
            "set[2]: Duplicate value: \"a\""
        ]
    );
}

#[test]
fn embedded_objects_are_objects() {
    let schema = schema(
        json!({"type": "object", "properties": {"t": {"type": "object",
        "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}),
    );
    let fields = |t: Value| -> Vec<String> {
        let errors = validate_embedded(&json!({"t": t}), &schema, Extent::Value, &Path::root());
        errors.into_iter().map(|e| e.field).collect()
    };
    assert!(fields(json!({"apiVersion": "v1", "kind": "Pod"})).is_empty());
    assert_eq!(fields(json!({})), ["t.apiVersion", "t.kind"]);
    assert_eq!(
        fields(json!({"apiVersion": "a/b/c", "kind": "in valid"})),
        ["t.apiVersion", "t.kind"]
    );
}

#[test]
fn paths_lead_to_fields_of_a_schema() {
    let schema = schema(
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "integer"}}}}}}),
    );
    assert_eq!(
        find_field(".spec.a", &schema, PathSyntax::Dots).unwrap().0,
        "spec.a"
    );
    assert_eq!(
        find_field(".spec.m['q.r']", &schema, PathSyntax::Brackets)
            .unwrap()
            .0,
        "spec.m[q.r]"
    );
    for (path, text) in [
        (".spec.none", "does not refer to a valid field"),
        ("spec.a", "expected [ or . but got: spec"),
        (".spec['a']", "array notation is not allowed"),
        (".", "unexpected end of JSON path"),
    ] {
        assert_eq!(
            find_field(path, &schema, PathSyntax::Dots)
                .unwrap_err()
                .to_string(),
            text
        );
    }
}

#[test]
fn structural_rules_are_checked_everywhere() {
    let texts = |document: Value| -> Vec<String> {
        let errors = check_structural(&document, &Path::new("s"));
        errors.iter().map(ToString::to_string).collect()
    };
    assert!(
        texts(
            json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}]}}})
        )
        .is_empty()
    );
    assert_eq!(
        texts(json!({"properties": {"a": {"type": "array", "items": {}}}})),
        [
            "s.properties[a].items.type: Required value: must not be empty for specified array items",
            "s.type: Required value: must not be empty at the root",
        ]
    );
    assert_eq!(
        texts(json!({"type": "object", "allOf": [{"properties": {"b": {"minimum": 1}}}]})),
        ["s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]"]
    );
}
