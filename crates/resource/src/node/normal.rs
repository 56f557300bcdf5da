//! Normalizes schemas of schemars to the form of Kubernetes.
//!
//! | schemars | Kubernetes |
//! |---|---|
//! | number formats that Kubernetes does not know | `int32`, `int64`, or bounds |
//! | `uniqueItems` of a set | `x-kubernetes-list-type: set` |
//! | `null` next to the type of an `Option` | dropped for fields, since an absent field is not `null`; `nullable` in lists and maps |
//! | int-or-string with a type | without one; `crd` adds the two types at the end, since kube would rewrite them |

use kube_core::schema::{OptionalEnum, StructuralSchemaRewriter};
use kubewright_machinery::limits::VALUE_DEPTH;
use schemars::{
    Schema,
    generate::SchemaSettings,
    transform::{AddNullable, Transform},
};
use serde_json::{Map, Value, json};

use super::MADE;

/// Applies the transformations of kube to the schema of a foreign type: enums become objects with one of several fields.
pub(crate) fn structural(schema: &mut Schema) {
    for transform in &mut SchemaSettings::openapi3().transforms {
        transform.transform(schema);
    }
    AddNullable::default().transform(schema);
    StructuralSchemaRewriter.transform(schema);
    OptionalEnum.transform(schema);
}

/// Normalizes a schema to the form of Kubernetes. The outermost `null` is dropped.
pub(crate) fn normalize(schema: &mut Value) {
    let made = schema.get(MADE).is_some();
    walk(schema, 0);
    if let Value::Object(fields) = schema
        && !made
    {
        fields.remove("nullable");
    }
}

fn walk(schema: &mut Value, depth: usize) {
    if depth > VALUE_DEPTH {
        return;
    }
    let Value::Object(fields) = schema else {
        // `true` allows anything.
        *schema = json!({});
        return;
    };
    if fields.contains_key(MADE) {
        return;
    }
    take_null(fields);
    number_format(fields);
    if fields.remove("uniqueItems") == Some(Value::Bool(true)) {
        fields.insert("x-kubernetes-list-type".into(), json!("set"));
    }
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        fields.remove("type");
        fields.remove("format");
        fields.remove("anyOf");
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut() {
            walk(property, depth + 1);
            if let Value::Object(fields) = property
                && fields.get("default") == Some(&Value::Null)
            {
                fields.remove("default");
            }
        }
    }
    if let Some(items) = fields.get_mut("items") {
        walk(items, depth + 1);
    }
    if let Some(additional) = fields.get_mut("additionalProperties")
        && additional.is_object()
    {
        walk(additional, depth + 1);
    }
}

/// Turns `null` next to other types into `nullable`.
fn take_null(fields: &mut Map<String, Value>) {
    let mut nullable = false;
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        let before = types.len();
        types.retain(|ty| ty != "null");
        nullable |= types.len() < before;
        if let [one] = types.as_slice() {
            let one = one.clone();
            fields.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        let before = values.len();
        values.retain(|value| !value.is_null());
        nullable |= values.len() < before;
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(schemas)) = fields.get_mut(key) else {
            continue;
        };
        let before = schemas.len();
        schemas.retain(|schema| !is_null(schema));
        nullable |= schemas.len() < before;
        if schemas.len() < before && schemas.len() == 1 {
            let only = schemas.remove(0);
            fields.remove(key);
            if let Value::Object(only) = only {
                for (name, value) in only {
                    fields.entry(name).or_insert(value);
                }
            }
        }
    }
    if nullable {
        fields.insert("nullable".into(), json!(true));
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
        || schema["enum"] == json!([null])
        || schema.get("const") == Some(&Value::Null)
}

/// Replaces number formats: Kubernetes knows only `int32` and `int64`, so other types get bounds.
fn number_format(fields: &mut Map<String, Value>) {
    let bounds: (Option<&str>, Option<i64>, Option<i64>) = match fields.get("format") {
        Some(Value::String(format)) => match format.as_str() {
            "float" | "double" => (None, None, None),
            "int8" => (None, Some(i8::MIN.into()), Some(i8::MAX.into())),
            "int16" => (None, Some(i16::MIN.into()), Some(i16::MAX.into())),
            "uint8" => (None, Some(0), Some(u8::MAX.into())),
            "uint16" => (None, Some(0), Some(u16::MAX.into())),
            "uint32" => (Some("int64"), Some(0), Some(u32::MAX.into())),
            "uint" | "uint64" | "uint128" => (Some("int64"), Some(0), None),
            "int" | "int128" => (Some("int64"), None, None),
            _ => return,
        },
        _ => return,
    };
    let (format, minimum, maximum) = bounds;
    match format {
        Some(format) => fields.insert("format".into(), json!(format)),
        None => fields.remove("format"),
    };
    for (key, bound) in [("minimum", minimum), ("maximum", maximum)] {
        if let Some(bound) = bound {
            fields.insert(key.into(), json!(bound));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
    use schemars::{JsonSchema, generate::SchemaSettings};

    use super::*;

    fn normal<T: JsonSchema>() -> Value {
        let mut settings = SchemaSettings::openapi3();
        settings.inline_subschemas = true;
        let mut schema = settings.into_generator().subschema_for::<T>().to_value();
        normalize(&mut schema);
        schema
    }

    #[test]
    fn numbers_have_formats_that_kubernetes_knows_or_bounds() {
        assert_eq!(
            normal::<i32>(),
            json!({"type": "integer", "format": "int32"})
        );
        assert_eq!(
            normal::<u8>(),
            json!({"type": "integer", "minimum": 0, "maximum": 255})
        );
        assert_eq!(
            normal::<u32>(),
            json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32})
        );
        assert_eq!(normal::<f64>(), json!({"type": "number"}));
    }

    #[test]
    fn an_option_is_nullable_only_in_a_list() {
        assert_eq!(normal::<Option<String>>(), json!({"type": "string"}));
        assert_eq!(
            normal::<Vec<Option<String>>>(),
            json!({"type": "array", "items": {"type": "string", "nullable": true}})
        );
    }

    #[test]
    fn a_set_is_a_list_of_type_set() {
        assert_eq!(
            normal::<BTreeSet<String>>(),
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
        );
    }

    #[test]
    fn int_or_string_has_no_type() {
        let map = normal::<BTreeMap<String, IntOrString>>();
        let value = &map["additionalProperties"];
        assert_eq!(value["x-kubernetes-int-or-string"], true);
        assert!(value.get("type").is_none() && value.get("anyOf").is_none());
    }
}
