//! CRDs of version `v1beta1`, which kube-apiserver stores although it does not serve them any more.

use serde_json::{Map, Value, json};

/// The version that kube-apiserver stores CRDs in.
pub(super) const STORED: &str = "apiextensions.k8s.io/v1beta1";

/// The fields that all versions may share: the name in the spec, and the name in a version.
const SHARED: [(&str, &str); 4] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Converts a CRD to version `v1`.
pub(super) fn to_v1(mut crd: Value) -> Value {
    crd["apiVersion"] = "apiextensions.k8s.io/v1".into();
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return crd;
    };
    let version = spec.remove("version");
    let shared = SHARED.map(|(name, own)| (own, spec.remove(name)));
    if let (false, Some(name)) = (spec.contains_key("versions"), version) {
        let only = json!([{"name": name, "served": true, "storage": true}]);
        spec.insert("versions".to_owned(), only);
    }
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let Some(version) = version.as_object_mut() else {
            continue;
        };
        for (name, value) in &shared {
            if let (Some(value), false) = (value, version.contains_key(*name)) {
                version.insert((*name).to_owned(), value.clone());
            }
        }
        let columns = version.get_mut("additionalPrinterColumns");
        rename_paths(columns.and_then(Value::as_array_mut));
    }
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut) {
        nest_webhook(conversion);
    }
    // Absent means true in v1beta1, and false in v1, which leaves false out.
    match spec.remove("preserveUnknownFields") {
        Some(Value::Bool(false)) => {}
        _ => drop(spec.insert("preserveUnknownFields".to_owned(), true.into())),
    }
    crd
}

/// `JSONPath` became `jsonPath`.
fn rename_paths(columns: Option<&mut Vec<Value>>) {
    for column in columns.into_iter().flatten() {
        let Some(column) = column.as_object_mut() else {
            continue;
        };
        if let Some(path) = column.remove("JSONPath") {
            column.insert("jsonPath".to_owned(), path);
        }
    }
}

/// The fields of the webhook became an object.
fn nest_webhook(conversion: &mut Map<String, Value>) {
    let client = conversion.remove("webhookClientConfig");
    let reviews = conversion.remove("conversionReviewVersions");
    if conversion.get("strategy").and_then(Value::as_str) != Some("Webhook") {
        return;
    }
    let mut webhook = Map::new();
    if let Some(client) = client {
        webhook.insert("clientConfig".to_owned(), client);
    }
    let reviews = reviews.unwrap_or_else(|| json!(["v1beta1"]));
    webhook.insert("conversionReviewVersions".to_owned(), reviews);
    conversion.insert("webhook".to_owned(), webhook.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_fields_are_part_of_each_version() {
        let stored = json!({
            "kind": "CustomResourceDefinition", "apiVersion": STORED,
            "spec": {
                "group": "sky.example.com", "version": "v1", "preserveUnknownFields": false,
                "validation": {"openAPIV3Schema": {"type": "object"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "JSONPath": ".spec.size"}],
                "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true, "storage": false}],
                "conversion": {
                    "strategy": "Webhook", "webhookClientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"],
                },
            },
        });
        let column = json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let version = |name: &str, storage: bool| {
            json!({
                "name": name, "served": true, "storage": storage,
                "schema": schema, "additionalPrinterColumns": column,
            })
        };
        assert_eq!(
            to_v1(stored),
            json!({
                "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
                "spec": {
                    "group": "sky.example.com",
                    "versions": [version("v1", true), version("v2", false)],
                    "conversion": {
                        "strategy": "Webhook",
                        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
                    },
                },
            })
        );
    }

    #[test]
    fn an_old_definition_has_one_version_and_keeps_unknown_fields() {
        let stored = json!({"apiVersion": STORED, "spec": {"version": "v1", "conversion": {"strategy": "None"}}});
        let read = to_v1(stored);
        assert_eq!(
            read["spec"]["versions"],
            json!([{"name": "v1", "served": true, "storage": true}])
        );
        assert_eq!(read["spec"]["preserveUnknownFields"], true);
        assert_eq!(read["spec"]["conversion"], json!({"strategy": "None"}));
    }
}
