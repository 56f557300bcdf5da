//! Brings values into canonical form in place, which is possible for nearly all values that are normalised after a
//! change in memory.
//!
//! It is not a second decoder: it removes fields that the encoder omits, adds those that it always writes, and checks the rest.
//! Where it is not sure (text in another form, schemas, which Go decodes apart) it gives up, and the decoder does the work.

use kubewright_catalog::types::{StructType, Type};
use kubewright_machinery::{go::base64, limits::DOCUMENT_DEPTH, quantity::Quantity, time::Layout};
use serde_json::{Map, Number, Value};

use super::{find, zero};
use crate::{document::integral, recode};

/// Brings an object into canonical form. Returns `false` if that takes decoding; the object may then be changed in parts,
/// but decodes to the same. `keep_empty` as in the decoder.
pub(super) fn settle(value: &mut Value, ty: &'static StructType, keep_empty: bool) -> bool {
    let settler = Settler { keep_empty };
    match value {
        Value::Object(map) => settler.structure(map, ty, 0),
        _ => false,
    }
}

struct Settler {
    keep_empty: bool,
}

impl Settler {
    fn structure(
        &self,
        map: &mut Map<String, Value>,
        ty: &'static StructType,
        depth: usize,
    ) -> bool {
        let (mut hint, mut omitted) = (0, false);
        let always = ty.fields.iter().filter(|f| zero::written_when_absent(f));
        let mut missing = always.clone().count();
        for (key, value) in map.iter_mut() {
            let Some((index, field)) = find(ty, key, hint) else {
                return false;
            };
            hint = index + 1;
            if !self.value(value, &field.ty, depth + 1) {
                return false;
            }
            missing -= usize::from(zero::written_when_absent(field));
            omitted |= zero::omitted(field, value);
        }
        if omitted {
            map.retain(|key, value| {
                find(ty, key, 0).is_some_and(|(_, field)| !zero::omitted(field, value))
            });
        }
        if missing > 0 {
            for field in always {
                map.entry(field.json).or_insert_with(|| zero::of(&field.ty));
            }
        }
        true
    }

    fn value(&self, value: &mut Value, ty: &'static Type, depth: usize) -> bool {
        if depth > DOCUMENT_DEPTH {
            return false;
        }
        match (ty, &mut *value) {
            (Type::Optional(_), Value::Null) => true,
            (Type::Optional(inner), _) => self.value(value, inner, depth),
            (Type::Struct(ty), Value::Object(map)) => self.structure(map, ty, depth),
            (Type::List(_) | Type::Map(_) | Type::Bytes | Type::StringsMessage(_), Value::Null) => {
                true
            }
            (Type::List(_) | Type::StringsMessage(_), Value::Array(items))
                if items.is_empty() && !self.keep_empty =>
            {
                *value = Value::Null;
                true
            }
            (Type::Map(_), Value::Object(map)) if map.is_empty() && !self.keep_empty => {
                *value = Value::Null;
                true
            }
            (Type::List(item), Value::Array(items)) => {
                items.iter_mut().all(|v| self.value(v, item, depth + 1))
            }
            (Type::StringsMessage(_), Value::Array(items)) => items.iter().all(Value::is_string),
            (Type::Map(item), Value::Object(map)) => {
                map.values_mut().all(|v| self.value(v, item, depth + 1))
            }
            (ty, value) => is_canonical_leaf(value, ty, depth),
        }
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
