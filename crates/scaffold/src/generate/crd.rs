//! Writes CustomResourceDefinitions as controller-gen does.
//!
//! The operator describes a CRD as the server accepts it; controller-gen also adds the descriptions of `apiVersion` and
//! `kind`. The YAML printer determines the order of keys.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::model::text;

/// The descriptions that controller-gen gives to the fields of every object.
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

/// Returns the CRDs with the names of their files.
pub(super) fn crds(model: &Model) -> Vec<(String, Value)> {
    model
        .crds
        .iter()
        .map(|crd| (file_name(crd), written(crd)))
        .collect()
}

/// `crew.example.com_captains.yaml`
fn file_name(crd: &Value) -> String {
    let spec = &crd["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    format!("{group}_{plural}.yaml")
}

fn written(crd: &Value) -> Value {
    let mut crd = crd.clone();
    crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
    crd["kind"] = json!("CustomResourceDefinition");
    if let Some(fields) = crd.as_object_mut() {
        fields.remove("status");
    }
    let versions = crd["spec"]["versions"].as_array_mut();
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
    drop_empty(&mut crd);
    crd
}

/// Removes empty lists of names and columns, and `null`s.
fn drop_empty(crd: &mut Value) {
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
        crd.get_mut("metadata"),
        &["annotations", "labels", "creationTimestamp"],
    );
    clean(
        crd.pointer_mut("/spec/names"),
        &["shortNames", "categories", "singular"],
    );
    clean(crd.get_mut("spec"), &["conversion"]);
    let versions = crd["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        // An empty `status` inside `subresources` is meaningful and kept.
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
