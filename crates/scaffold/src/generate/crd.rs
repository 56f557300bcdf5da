//! Definitions as controller-gen writes them.
//!
//! The operator describes a definition as the server takes it; controller-gen says a little more: what `apiVersion` and `kind`
//! are for. The order of keys is that of the printer.

use serde_json::{Value, json};

use super::model::{Model, text};

/// What controller-gen says of the fields that every object has.
const EVERY_OBJECT: [(&str, &str); 2] = [
    (
        "apiVersion",
        "APIVersion defines the versioned schema of this representation of an object.\n\
         Servers should convert recognized schemas to the latest internal value, and\n\
         may reject unrecognized values.\n\
         More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "Kind is a string value representing the REST resource this object represents.\n\
         Servers may infer this from the endpoint the client submits requests to.\n\
         Cannot be updated.\n\
         In CamelCase.\n\
         More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

/// The definitions, by the names of their files.
pub(super) fn definitions(model: &Model) -> Vec<(String, Value)> {
    model
        .definitions
        .iter()
        .map(|definition| (file_name(definition), written(definition)))
        .collect()
}

/// `crew.example.com_captains.yaml`
fn file_name(definition: &Value) -> String {
    let spec = &definition["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    format!("{group}_{plural}.yaml")
}

fn written(definition: &Value) -> Value {
    let mut definition = definition.clone();
    definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
    definition["kind"] = json!("CustomResourceDefinition");
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
    let versions = definition["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        let schema = version.pointer_mut("/schema/openAPIV3Schema/properties");
        let Some(properties) = schema.filter(|found| found.is_object()) else {
            continue;
        };
        for (field, description) in EVERY_OBJECT {
            if properties[field].is_null() {
                properties[field] = json!({"type": "string"});
            }
            if properties[field]["description"].is_null() {
                properties[field]["description"] = json!(description);
            }
        }
        if properties["metadata"].is_null() {
            properties["metadata"] = json!({"type": "object"});
        }
    }
    drop_empty(&mut definition);
    definition
}

/// Lists of names and columns without anything in them are not written, nor are `null`s.
fn drop_empty(definition: &mut Value) {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let clean = |value: Option<&mut Value>, keys: &[&str]| {
        if let Some(fields) = value.and_then(Value::as_object_mut) {
            fields.retain(|key, value| !(keys.contains(&key.as_str()) && empty(value)));
        }
    };
    clean(
        definition.get_mut("metadata"),
        &["annotations", "labels", "creationTimestamp"],
    );
    clean(
        definition.pointer_mut("/spec/names"),
        &["shortNames", "categories", "singular"],
    );
    clean(definition.get_mut("spec"), &["conversion"]);
    let versions = definition["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        // An empty `status` of the subresources says that there is one.
        clean(
            Some(version),
            &[
                "additionalPrinterColumns",
                "selectableFields",
                "subresources",
            ],
        );
    }
}
