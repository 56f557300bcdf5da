//! Zero values, and the rules by which the encoder omits a field.

use kubewright_catalog::types::{Field, Omit, StructType, Type};
use serde_json::{Map, Value};

/// Returns a value that was never set, as Go prints it.
pub(super) fn of(ty: &Type) -> Value {
    match ty {
        Type::Bool | Type::SchemaOrBool(_) => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::Uint32 | Type::Float64 | Type::IntOrString => {
            Value::from(0)
        }
        Type::String(_) => Value::String(String::new()),
        Type::Struct(ty) => of_struct(ty),
        Type::Quantity => Value::from("0"),
        Type::Duration => Value::from("0s"),
        Type::Bytes
        | Type::Optional(_)
        | Type::List(_)
        | Type::StringsMessage(_)
        | Type::Map(_)
        | Type::Time
        | Type::MicroTime
        | Type::RawExtension
        | Type::Json
        | Type::SchemaOrArray(_)
        | Type::SchemaOrStrings(_)
        | Type::FieldsV1 => Value::Null,
    }
}

/// Returns a struct of which nothing was set, as Go prints it. Structs do not contain themselves by value, so this
/// ends.
pub(super) fn of_struct(ty: &'static StructType) -> Value {
    let mut map = Map::new();
    for field in ty.fields {
        if written_when_absent(field) {
            map.insert(field.json.to_owned(), of(&field.ty));
        }
    }
    Value::Object(map)
}

/// The field is in the encoding even if it was never set: `status: {}`.
pub(super) fn written_when_absent(field: &Field) -> bool {
    match field.omit {
        Omit::Never => true,
        Omit::Empty => !can_be_empty(&field.ty),
        Omit::Zero => false,
    }
}

/// The encoder leaves a field of this value out.
pub(super) fn omitted(field: &Field, value: &Value) -> bool {
    match field.omit {
        Omit::Never => false,
        Omit::Empty => is_empty(&field.ty, value),
        Omit::Zero => is_empty(&field.ty, value) || is_zero(&field.ty, value),
    }
}

/// Reports whether values of the type can be empty for Go's `omitempty`. Structs, which times and quantities are too,
/// cannot.
fn can_be_empty(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Bool
            | Type::Int32
            | Type::Int64
            | Type::Uint32
            | Type::Float64
            | Type::String(_)
            | Type::Bytes
            | Type::Optional(_)
            | Type::List(_)
            | Type::StringsMessage(_)
            | Type::Map(_)
    )
}

fn is_empty(ty: &Type, value: &Value) -> bool {
    if !can_be_empty(ty) {
        return false;
    }
    if let Type::Optional(_) = ty {
        return value.is_null();
    }
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

fn is_zero(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Struct(ty), Value::Object(map)) => ty
            .fields
            .iter()
            .all(|field| map.get(field.json).is_none_or(|v| is_zero(&field.ty, v))),
        (ty, value) => *value == of(ty),
    }
}
