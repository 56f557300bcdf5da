//! Generates JSON schemas for editors: draft 2020-12, one file for each version of each kind.
//!
//! Editors support JSON Schema rather than OpenAPI, so the keywords of OpenAPI are translated. Unknown fields are errors, since
//! the server would prune them. CEL rules cannot be expressed.

use kubewright_operator::Model;
use serde_json::{Map, Value, json};

use super::{
    File,
    model::{Kind, kinds},
    stamp::Language,
};

/// Keywords with the same meaning in both.
const SAME: [&str; 17] = [
    "title",
    "description",
    "default",
    "enum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "uniqueItems",
];

/// Returns the schema files.
pub(super) fn files(model: &Model) -> Vec<File> {
    kinds(model).map(|kind| file(&kind)).collect()
}

fn file(kind: &Kind<'_>) -> File {
    let mut schema = translated(kind.schema());
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(kind.kind());
    schema["properties"]["apiVersion"] = json!({"const": kind.api_version()});
    schema["properties"]["kind"] = json!({"const": kind.kind()});
    schema["properties"]["metadata"] = json!({"type": "object"});
    let mut required = vec![json!("apiVersion"), json!("kind"), json!("metadata")];
    let own = schema["required"].as_array().cloned().unwrap_or_default();
    required.extend(
        own.into_iter()
            .filter(|name| !required.contains(name))
            .collect::<Vec<_>>(),
    );
    schema["required"] = json!(required);
    let path = format!(
        "config/schema/{}_{}_{}.json",
        kind.group(),
        kind.version(),
        kind.kind().to_ascii_lowercase()
    );
    File::marked(path, Language::Json, &format!("{schema:#}\n"))
}

fn translated(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut out: Map<String, Value> = fields
        .iter()
        .filter(|(key, _)| SAME.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(ty) = types(schema) {
        out.insert("type".to_owned(), ty);
    }
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if schema[flag] == true
            && let Some(value) = out.remove(bound)
        {
            out.insert(flag.to_owned(), value);
        }
    }
    if let Some(example) = fields.get("example") {
        out.insert("examples".to_owned(), json!([example]));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let branches = fields.get(key).and_then(Value::as_array);
        // The branches of an int-or-string repeat its type.
        if let Some(branches) = branches.filter(|_| !int_or_string(schema)) {
            let all: Vec<Value> = branches.iter().map(branch).collect();
            out.insert(key.to_owned(), Value::Array(all));
        }
    }
    if let Some(not) = fields.get("not") {
        out.insert("not".to_owned(), branch(not));
    }
    if let Some(items) = fields.get("items") {
        out.insert("items".to_owned(), translated(items));
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        let all = properties
            .iter()
            .map(|(name, inner)| (name.clone(), translated(inner)));
        out.insert("properties".to_owned(), Value::Object(all.collect()));
    }
    match fields.get("additionalProperties") {
        Some(inner) => {
            out.insert("additionalProperties".to_owned(), translated(inner));
        }
        None if closed(schema) => {
            out.insert("additionalProperties".to_owned(), json!(false));
        }
        None => {}
    }
    if schema["nullable"] == true
        && let Some(Value::Array(values)) = out.get_mut("enum")
    {
        values.push(Value::Null);
    }
    Value::Object(out)
}

/// Converts a branch, which has only the differences; unknown fields are checked by the whole schema.
fn branch(schema: &Value) -> Value {
    let mut schema = translated(schema);
    if let Some(fields) = schema.as_object_mut()
        && fields.get("additionalProperties") == Some(&json!(false))
    {
        fields.remove("additionalProperties");
    }
    schema
}

fn int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true
}

fn types(schema: &Value) -> Option<Value> {
    let mut types: Vec<Value> = match int_or_string(schema) {
        true => vec![json!("integer"), json!("string")],
        false => schema.get("type").cloned().into_iter().collect(),
    };
    if schema["nullable"] == true && !types.is_empty() {
        types.push(json!("null"));
    }
    match types.len() {
        0 => None,
        1 => types.pop(),
        _ => Some(Value::Array(types)),
    }
}

/// Reports whether unknown fields are errors.
fn closed(schema: &Value) -> bool {
    schema["type"] == "object"
        && schema.get("properties").is_some()
        && schema["x-kubernetes-preserve-unknown-fields"] != true
        && schema["x-kubernetes-embedded-resource"] != true
}
