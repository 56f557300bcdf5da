//! CustomResourceDefinitions: defaults and errors.

use kubewright_builtins::rules;
use serde_json::{Value, json};

fn definition(schema: Value) -> Value {
    let mut crd = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let rules = rules("apiextensions.k8s.io", "CustomResourceDefinition");
    (rules.default)(&mut crd);
    (rules.prepare_create)(&mut crd);
    crd
}

fn property(schema: Value) -> Value {
    definition(json!({"type": "object", "properties": {"a": schema}}))
}

fn errors(crd: &Value) -> Vec<String> {
    let rules = rules("apiextensions.k8s.io", "CustomResourceDefinition");
    (rules.validate_create)(crd)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_definition_gets_the_names_that_follow_from_its_kind() {
    let crd = definition(json!({"type": "object"}));
    assert_eq!(crd["spec"]["names"]["singular"], "widget");
    assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert!(errors(&crd).is_empty());
}

#[test]
fn the_name_is_made_of_plural_and_group() {
    let mut crd = definition(json!({"type": "object"}));
    crd["metadata"]["name"] = json!("other.example.com");
    assert_eq!(
        errors(&crd),
        [
            "metadata.name: Invalid value: \"other.example.com\": must be spec.names.plural+\".\"+spec.group"
        ]
    );
}

#[test]
fn the_schema_of_one_version_is_called_validation() {
    assert_eq!(
        errors(&property(json!({}))),
        [
            "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"
        ]
    );
    let mut crd = property(json!({}));
    let second = json!({"name": "v2", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    assert_eq!(
        errors(&crd),
        [
            "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"
        ]
    );
}

#[test]
fn versions_are_printed_as_the_server_holds_them() {
    let mut crd = definition(json!({"type": "object"}));
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["status"] = json!({"storedVersions": ["v1"]});
    assert_eq!(
        errors(&crd),
        [
            "spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]: must have exactly one version marked as storage version"
        ]
    );
}

#[test]
fn schemas_that_only_openapi_allows_are_rejected() {
    let at = "spec.validation.openAPIV3Schema.properties[a]";
    for (schema, text) in [
        (
            json!({"type": "null"}),
            "type: Unsupported value: \"null\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ),
        (
            json!({"$ref": "#/x"}),
            "$ref: Forbidden: $ref is not supported",
        ),
        (
            json!({"type": "array"}),
            "items: Required value: must be specified",
        ),
        (
            json!({"type": "string", "pattern": "("}),
            "pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
        ),
        (
            json!({"type": "string", "anyOf": [{"type": "string"}]}),
            "anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            json!({"type": "string", "default": 1}),
            "default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
            "x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
    ] {
        let found = errors(&property(schema));
        assert_eq!(found.first(), Some(&format!("{at}.{text}")));
    }
}

#[test]
fn rules_are_limited_in_cost() {
    let list = json!({"type": "array", "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]});
    let found = errors(&property(list));
    assert!(found[0].contains("x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x"), "{found:?}");
    let bounded = json!({"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]});
    assert!(errors(&property(bounded)).is_empty());
}

#[test]
fn stored_versions_must_stay() {
    let old = definition(json!({"type": "object"}));
    let mut new = old.clone();
    new["spec"]["versions"][0]["name"] = json!("v2");
    let rules = rules("apiextensions.k8s.io", "CustomResourceDefinition");
    (rules.prepare_update)(&mut new, &old);
    let found = (rules.validate_update)(&new, &old);
    assert!(found.iter().any(|e| e.to_string().starts_with("status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version")), "{found:?}");
}

#[test]
fn selectable_fields_are_validated_even_in_a_schema_that_is_not_structural() {
    let mut crd = property(json!({"type": "string", "anyOf": [{"type": "string"}]}));
    crd["spec"]["versions"][0]["selectableFields"] =
        json!([{"jsonPath": "a"}, {"jsonPath": ".b"}, {"jsonPath": ".a[0]"}]);
    let found = errors(&crd);
    for text in [
        "spec.selectableFields[0].jsonPath: Invalid value: \"a\": is an invalid path: expected [ or . but got: a",
        "spec.selectableFields[1].jsonPath: Invalid value: \".b\": is an invalid path: does not refer to a valid field",
        "spec.selectableFields[2].jsonPath: Invalid value: \".a[0]\": is an invalid path: array notation is not allowed",
    ] {
        assert!(found.iter().any(|error| error == text), "{text}: {found:?}");
    }
}

#[test]
fn defaults_need_pruning() {
    let mut crd = property(json!({"type": "string", "default": "x"}));
    crd["spec"]["preserveUnknownFields"] = json!(true);
    let text = "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema";
    let found = errors(&crd);
    assert!(found.iter().any(|error| error == text), "{found:?}");
}

#[test]
fn a_schema_that_cannot_be_compiled_is_not_validated_further() {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false, "anyOf": [{"default": 1}]});
    let found = errors(&property(schema));
    assert!(
        !found.iter().any(|error| error.contains("structural")),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|error| error.contains("must be true or undefined")),
        "{found:?}"
    );
}
