//! Recognises values in canonical form, which nearly all values are that are normalised after a change in memory.
//!
//! It is not a second decoder: it says yes only where normalising would give the same value back, and where it is not
//! sure (schemas, which Go decodes apart) it says no, and the decoder does the work.

use kubewright_catalog::types::{Field, StructType, Type};
use kubewright_machinery::{go::base64, limits::DOCUMENT_DEPTH, quantity::Quantity, time::Layout};
use serde_json::{Map, Number, Value};

use super::{find, zero};
use crate::{document::integral, recode};

/// Reports whether normalising the object would change nothing. `keep_empty` as in the decoder.
pub(super) fn is_canonical(value: &Value, ty: &'static StructType, keep_empty: bool) -> bool {
    let check = Check { keep_empty };
    match value {
        Value::Object(map) => check.structure(map, ty, 0),
        _ => false,
    }
}

/// Adds the fields that are always written and are missing: strategies clear a whole `status` by removing it.
pub(super) fn complete(value: &mut Value, ty: &'static StructType) {
    let Value::Object(map) = value else { return };
    for field in ty.fields.iter().filter(|f| zero::written_when_absent(f)) {
        if !map.contains_key(field.json) {
            map.insert(field.json.to_owned(), zero::of(&field.ty));
        }
    }
}

struct Check {
    keep_empty: bool,
}

impl Check {
    fn structure(&self, map: &Map<String, Value>, ty: &'static StructType, depth: usize) -> bool {
        let mut hint = 0;
        let mut always_written = 0;
        for (key, value) in map {
            let Some((index, field)) = find(ty, key, hint) else {
                return false;
            };
            hint = index + 1;
            always_written += usize::from(zero::written_when_absent(field));
            if zero::omitted(field, value) || !self.value(value, &field.ty, depth + 1) {
                return false;
            }
        }
        let written = |field: &&Field| zero::written_when_absent(field);
        always_written == ty.fields.iter().filter(written).count()
    }

    fn value(&self, value: &Value, ty: &'static Type, depth: usize) -> bool {
        if depth > DOCUMENT_DEPTH {
            return false;
        }
        match (ty, value) {
            (Type::Optional(_), Value::Null) => true,
            (Type::Optional(inner), value) => self.value(value, inner, depth),
            (Type::Struct(ty), Value::Object(map)) => self.structure(map, ty, depth),
            (Type::List(_) | Type::Map(_) | Type::Bytes | Type::StringsMessage(_), Value::Null) => {
                true
            }
            (Type::List(item), Value::Array(items)) => {
                let each = |v| self.value(v, item, depth + 1);
                self.filled(items.is_empty()) && items.iter().all(each)
            }
            (Type::StringsMessage(_), Value::Array(items)) => {
                self.filled(items.is_empty()) && items.iter().all(Value::is_string)
            }
            (Type::Map(item), Value::Object(map)) => {
                let each = |v| self.value(v, item, depth + 1);
                self.filled(map.is_empty()) && map.values().all(each)
            }
            (ty, value) => is_canonical_leaf(value, ty, depth),
        }
    }

    fn filled(&self, empty: bool) -> bool {
        self.keep_empty || !empty
    }
}

fn is_canonical_leaf(value: &Value, ty: &Type, depth: usize) -> bool {
    match (ty, value) {
        (Type::String(_) | Type::IntOrString, Value::String(_))
        | (Type::Bool, Value::Bool(_))
        | (Type::Time | Type::MicroTime, Value::Null) => true,
        (Type::Int32 | Type::IntOrString, Value::Number(n)) => fits::<i32>(n),
        (Type::Int64, Value::Number(n)) => n.is_i64(),
        (Type::Uint32, Value::Number(n)) => fits::<u32>(n),
        (Type::Float64, Value::Number(n)) => is_shortest(n),
        (Type::Bytes, Value::String(text)) => base64::recode(text).is_ok_and(|t| t == *text),
        (Type::Quantity, Value::String(text)) => {
            Quantity::parse(text).is_ok_and(|quantity| quantity.to_string() == *text)
        }
        (Type::Time, Value::String(text)) => is_moment(text, Layout::Rfc3339),
        (Type::MicroTime, Value::String(text)) => is_moment(text, Layout::Micro),
        (Type::Duration, Value::String(text)) => recode::duration(text).is_ok_and(|t| t == *text),
        (Type::RawExtension | Type::Json | Type::FieldsV1, value) => is_plain(value, depth),
        _ => false,
    }
}

fn fits<T: TryFrom<i64>>(number: &Number) -> bool {
    number.as_i64().is_some_and(|n| T::try_from(n).is_ok())
}

/// The number is not a float that prints as an integer.
fn is_shortest(number: &Number) -> bool {
    match number.as_f64() {
        Some(float) if number.is_f64() => integral(float).is_none(),
        _ => true,
    }
}

fn is_moment(text: &str, layout: Layout) -> bool {
    matches!(recode::time(text, layout), Ok(Some(t)) if t == *text)
}

/// Reports whether a value without a known type is in canonical form.
fn is_plain(value: &Value, depth: usize) -> bool {
    if depth > DOCUMENT_DEPTH {
        return false;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(|v| is_plain(v, depth + 1)),
        Value::Object(map) => map.values().all(|v| is_plain(v, depth + 1)),
    }
}
