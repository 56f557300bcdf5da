//! The comparison of a type's definition with the one that the type came from.
//!
//! Everything is compared, apart from [`EXCEPTIONS`].

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The differences that are allowed, and the reasons.
pub(super) const EXCEPTIONS: [&str; 7] = [
    "apiVersion and kind stand in the schema, without a description: the server has its own words for them",
    "metadata stands in the schema: every object has it",
    "an integer or a string is spelled out, where only the extension says so",
    "the order of required fields, and whether a whole number is written with a point",
    "singular and listKind stand in the names: the server would fill them in",
    "conversion is said of all versions together, not by a type of one; `preserveUnknownFields: false` is how it is anyway",
    "which tool wrote the definition: `controller-gen.kubebuilder.io/version`; and empty lists",
];

/// The places where the definition of a type, with one version, differs from the definition it came from.
pub(super) fn differences(original: &Value, manifest: &Value) -> Vec<String> {
    let version = &manifest["spec"]["versions"][0]["name"];
    let (mut wanted, mut got) = (original.clone(), manifest.clone());
    let versions = wanted["spec"]["versions"].as_array_mut();
    if let Some(versions) = versions {
        versions.retain(|one| one["name"] == *version);
    }
    let named = |definition: &Value| {
        let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        root["properties"].get("metadata").is_some()
    };
    if !named(&wanted) {
        let root = &mut got["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        root["properties"]
            .as_object_mut()
            .map(|p| p.remove("metadata"));
    }
    normalise(&mut wanted);
    normalise(&mut got);
    let mut out = Vec::new();
    differ("", &wanted, &got, &mut out);
    out
}

/// Takes the exceptions out of a definition.
fn normalise(definition: &mut Value) {
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
    let metadata = &mut definition["metadata"];
    let kept: BTreeSet<&str> = BTreeSet::from(["name", "annotations", "labels"]);
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|name, _| kept.contains(name.as_str()));
    }
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.remove("controller-gen.kubebuilder.io/version");
    }
    let spec = &mut definition["spec"];
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("conversion");
        if fields.get("preserveUnknownFields") == Some(&json!(false)) {
            fields.remove("preserveUnknownFields");
        }
    }
    let names = &mut spec["names"];
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    if names["singular"].is_null() {
        names["singular"] = json!(kind.to_lowercase());
    }
    if names["listKind"].is_null() {
        names["listKind"] = json!(format!("{kind}List"));
    }
    let root = &mut spec["versions"][0]["schema"]["openAPIV3Schema"];
    if root["properties"].is_null() {
        root["properties"] = json!({});
    }
    for name in ["apiVersion", "kind"] {
        root["properties"][name] = json!({"type": "string"});
    }
    schema(root);
    whole_numbers(definition);
    without_nothing(definition);
}

fn schema(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let usual = json!([{"type": "integer"}, {"type": "string"}]);
    if fields.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        fields.entry("anyOf").or_insert(usual);
    }
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.sort_by_key(Value::to_string);
    }
    for below in ["items", "additionalProperties"] {
        fields.get_mut(below).map(self::schema);
    }
    let properties = fields.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|p| p.values_mut()) {
        self::schema(property);
    }
}

fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) => {
            if let Some(whole) = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() < 1e15)
            {
                *value = json!(whole as i64);
            }
        }
        _ => {}
    }
}

/// Names and versions have lists that may be empty or absent.
fn without_nothing(definition: &mut Value) {
    for pointer in [
        "/metadata",
        "/spec/names",
        "/spec/versions/0",
        "/spec/versions/0/subresources",
    ] {
        if let Some(Value::Object(fields)) = definition.pointer_mut(pointer) {
            let status = pointer.ends_with("subresources");
            fields.retain(|_, value| {
                !value.is_null() && *value != json!([]) && (status || *value != json!({}))
            });
        }
    }
}

fn differ(path: &str, wanted: &Value, got: &Value, out: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differ(&path, a, b, out),
                    (a, _) if a.is_some() => out.push(format!("{path} is lost")),
                    (_, b) => out.push(format!("{path} came in: {}", b.unwrap_or(&Value::Null))),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{n}]"), a, b, out);
            }
        }
        _ if wanted == got => {}
        _ => out.push(format!("{path}: wanted {wanted}, got {got}")),
    }
}

#[test]
fn a_lost_keyword_is_found() {
    let definition = |schema: Value| json!({"spec": {"names": {"kind": "A"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}});
    let has =
        json!({"properties": {"spec": {"required": ["b", "a"], "minimum": 1.0, "maxLength": 3}}});
    let lacks = json!({"properties": {"spec": {"required": ["a", "b"], "minimum": 1}}});
    let found = differences(&definition(has), &definition(lacks));
    let place = ".spec.versions[0].schema.openAPIV3Schema.properties.spec";
    assert_eq!(found, [format!("{place}.maxLength is lost")]);
    assert_eq!(EXCEPTIONS.len(), 7);
}
