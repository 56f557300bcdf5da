//! Prints versions and schemas as messages do: every field of the server's structs, set or not, by its Go name.

use kubewright_machinery::go;
use serde_json::Value;

use super::hoisted::{Hoisted, Part};
use crate::json::Read;

/// The form in which a field is printed.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    /// As it is, or `null`.
    Plain,
    /// A schema, or `null`.
    Schema,
    /// A list of values.
    Schemas,
    /// The fields by name.
    ByName,
    Items,
    SchemaOrBool,
    Rules,
    Docs,
}

/// The fields of a schema in their order.
const SCHEMA: &[(&str, &str, Form)] = &[
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Plain),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Plain),
    ("Maximum", "maximum", Form::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Plain),
    ("MinLength", "minLength", Form::Plain),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Plain),
    ("MinItems", "minItems", Form::Plain),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Plain),
    ("Enum", "enum", Form::Plain),
    ("MaxProperties", "maxProperties", Form::Plain),
    ("MinProperties", "minProperties", Form::Plain),
    ("Required", "required", Form::Plain),
    ("Items", "items", Form::Items),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::ByName),
    (
        "AdditionalProperties",
        "additionalProperties",
        Form::SchemaOrBool,
    ),
    ("PatternProperties", "patternProperties", Form::ByName),
    ("Dependencies", "dependencies", Form::Plain),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::ByName),
    ("ExternalDocs", "externalDocs", Form::Docs),
    ("Example", "example", Form::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Form::Plain,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        Form::Flag,
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Plain),
    ("XListType", "x-kubernetes-list-type", Form::Plain),
    ("XMapType", "x-kubernetes-map-type", Form::Plain),
    ("XValidations", "x-kubernetes-validations", Form::Rules),
];

const RULE: &[(&str, &str, Form)] = &[
    ("Rule", "rule", Form::Text),
    ("Message", "message", Form::Text),
    ("MessageExpression", "messageExpression", Form::Text),
    ("Reason", "reason", Form::Plain),
    ("FieldPath", "fieldPath", Form::Text),
    ("OptionalOldSelf", "optionalOldSelf", Form::Plain),
];

const DOCS: &[(&str, &str, Form)] = &[
    ("Description", "description", Form::Text),
    ("URL", "url", Form::Text),
];

/// The names of the schema's fields in their order, with those they have in JSON.
pub(super) fn schema_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMA.iter().map(|(name, key, _)| (*name, *key))
}

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    let mut out = String::new();
    object(SCHEMA, schema, &mut out);
    out
}

/// One of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    let mut out = String::new();
    object(RULE, rule, &mut out);
    out
}

/// The versions of a spec.
pub(super) fn versions(spec: &Hoisted<'_>) -> String {
    let all = &spec.spec["versions"];
    if !all.is_array() {
        return "null".into();
    }
    let versions: Vec<String> = all
        .items()
        .iter()
        .map(|version| one_version(spec, version))
        .collect();
    format!("[{}]", versions.join(","))
}

fn one_version(spec: &Hoisted<'_>, version: &Value) -> String {
    let own_schema = spec.own(version, Part::Schema);
    let schema = match &own_schema["openAPIV3Schema"] {
        _ if !own_schema.is_set() => "null".to_owned(),
        Value::Null => "{\"OpenAPIV3Schema\":null}".to_owned(),
        document => format!("{{\"OpenAPIV3Schema\":{}}}", schema(document)),
    };
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
        go::json(&version["name"].text().into()),
        version["served"].flag(),
        version["storage"].flag(),
        version["deprecated"].flag(),
        go::json(&version["deprecationWarning"]),
        subresources(spec.own(version, Part::Subresources)),
        columns(spec.own(version, Part::Columns)),
        selectable(spec.own(version, Part::SelectableFields)),
    )
}

fn subresources(value: &Value) -> String {
    if !value.is_set() {
        return "null".into();
    }
    let status = if value["status"].is_set() {
        "{}"
    } else {
        "null"
    };
    let scale = &value["scale"];
    let scale = if scale.is_set() {
        let text = |key: &str| go::json(&scale[key].text().into());
        format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            text("specReplicasPath"),
            text("statusReplicasPath"),
            go::json(&scale["labelSelectorPath"])
        )
    } else {
        "null".into()
    };
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}

fn columns(value: &Value) -> String {
    list(value, |column| {
        let text = |key: &str| go::json(&column[key].text().into());
        format!(
            "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\"JSONPath\":{}}}",
            text("name"),
            text("type"),
            text("format"),
            text("description"),
            column["priority"].int(),
            text("jsonPath")
        )
    })
}

fn selectable(value: &Value) -> String {
    list(value, |field| {
        format!(
            "{{\"JSONPath\":{}}}",
            go::json(&field["jsonPath"].text().into())
        )
    })
}

fn list(value: &Value, print: impl Fn(&Value) -> String) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(print).collect();
            format!("[{}]", items.join(","))
        }
        _ => "null".into(),
    }
}

fn object(fields: &[(&str, &str, Form)], value: &Value, out: &mut String) {
    out.push('{');
    for (i, (name, key, form)) in fields.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        field(*form, &value[*key], out);
    }
    out.push('}');
}

fn field(form: Form, value: &Value, out: &mut String) {
    match form {
        Form::Text => out.push_str(&go::json(&value.text().into())),
        Form::Flag => out.push_str(if value.flag() { "true" } else { "false" }),
        Form::Plain => out.push_str(&go::json(value)),
        Form::Schema if value.is_object() => object(SCHEMA, value, out),
        Form::Docs if value.is_object() => object(DOCS, value, out),
        Form::Schemas => out.push_str(&list(value, schema)),
        Form::Rules => out.push_str(&list(value, rule)),
        Form::ByName if value.is_object() => {
            let entries = value.entries();
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", go::json(&(*key).into()), schema(value)));
            let entries: Vec<String> = entries.collect();
            out.push_str(&format!("{{{}}}", entries.join(",")));
        }
        Form::Items => match value {
            Value::Object(_) => {
                out.push_str(&format!(
                    "{{\"Schema\":{},\"JSONSchemas\":null}}",
                    schema(value)
                ));
            }
            Value::Array(_) => {
                out.push_str(&format!(
                    "{{\"Schema\":null,\"JSONSchemas\":{}}}",
                    list(value, schema)
                ));
            }
            _ => out.push_str("null"),
        },
        Form::SchemaOrBool => match value {
            Value::Object(_) => {
                out.push_str(&format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)));
            }
            Value::Bool(b) => out.push_str(&format!("{{\"Allows\":{b},\"Schema\":null}}")),
            _ => out.push_str("null"),
        },
        _ => out.push_str("null"),
    }
}
