//! Converts JSON to values, by its schema.

use std::sync::Arc;

use kubewright_machinery::go::{self, base64};
use kubewright_machinery::time::{Layout, TimeError, parse_duration};
use serde_json::Value as Json;

use crate::schema::{Schema, SchemaKind};

use super::{EvalError, EvalResult, List, Map, Str, Timestamp, Value};

/// The value of a piece of JSON. Without a schema, its type follows from the JSON.
pub(crate) fn from_json<'a>(json: &'a Json, schema: Option<&'a Schema>) -> EvalResult<'a> {
    let Some(schema) = schema else {
        return Ok(dynamic(json));
    };
    let fail = |message: String| Err(EvalError::new(message));
    if json.is_null() {
        if schema.nullable {
            return Ok(Value::Null);
        }
        return Err(EvalError::new(
            "invalid data, got null for schema with nullable=false",
        ));
    }
    if schema.int_or_string {
        return match json {
            Json::String(text) => Ok(Value::String(Str::Borrowed(text))),
            Json::Number(number) if number.is_i64() => Ok(Value::Int(number.as_i64().unwrap_or(0))),
            _ => Err(EvalError::new(
                "invalid data, expected XIntOrString value to be either a string or integer",
            )),
        };
    }
    match schema.kind {
        SchemaKind::Object => match json {
            Json::Object(object) => Ok(Value::Map(Map::Json(object, Some(schema)))),
            _ => Err(EvalError::new(
                "invalid data, expected a map for the provided schema with type=object",
            )),
        },
        SchemaKind::Array => match json {
            Json::Array(items) => Ok(Value::List(List::Json(items, Some(schema)))),
            _ => Err(EvalError::new(
                "invalid data, expected an array for the provided schema with type=array",
            )),
        },
        SchemaKind::String => match json {
            Json::String(text) if schema.format.is_empty() => {
                Ok(Value::String(Str::Borrowed(text)))
            }
            Json::String(text) => formatted(text, &schema.format),
            other => fail(format!(
                "invalid data, expected string, got {}",
                go::type_name(other)
            )),
        },
        SchemaKind::Number => match json {
            Json::Number(number) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
            other => fail(format!(
                "invalid data, expected float, got {}",
                go::type_name(other)
            )),
        },
        SchemaKind::Integer => match json.as_i64() {
            Some(number) => Ok(Value::Int(number)),
            None => fail(format!(
                "invalid data, expected int, got {}",
                go::type_name(json)
            )),
        },
        SchemaKind::Boolean => match json {
            Json::Bool(b) => Ok(Value::Bool(*b)),
            other => fail(format!(
                "invalid data, expected bool, got {}",
                go::type_name(other)
            )),
        },
        SchemaKind::Any if schema.preserve_unknown_fields => Ok(Value::Preserved(json)),
        SchemaKind::Any => Err(EvalError::new(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        )),
    }
}

fn dynamic(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Str::Borrowed(text)),
        Json::Array(items) => Value::List(List::Json(items, None)),
        Json::Object(object) => Value::Map(Map::Json(object, None)),
    }
}

fn formatted<'a>(text: &'a str, format: &str) -> EvalResult<'a> {
    match format {
        "duration" => match lenient_duration(text) {
            Some(nanos) => Ok(Value::Duration(nanos)),
            None => Err(EvalError::new(format!(
                "Invalid duration {text}: unable to parse {text} as duration"
            ))),
        },
        "date" => Timestamp::parse(text, Layout::Date)
            .map(Value::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date formatted string {text}: {why}"))),
        "date-time" => date_time(text).map(Value::Timestamp).map_err(|why| {
            EvalError::new(format!("Invalid date-time formatted string {text}: {why}"))
        }),
        "byte" => match base64::decode(text, base64::Encoding::Url) {
            Ok(bytes) => Ok(Value::Bytes(Arc::from(bytes))),
            Err(why) => Err(EvalError::new(format!(
                "Invalid byte formatted string {text}: {why}"
            ))),
        },
        _ => Ok(Value::String(Str::Borrowed(text))),
    }
}

fn date_time(text: &str) -> Result<Timestamp, TimeError> {
    if text.is_empty() {
        return Ok(Timestamp::EPOCH);
    }
    Timestamp::parse(text, Layout::Rfc3339).or_else(|_| Timestamp::parse(text, Layout::Local))
}

/// A duration of Go, or words: `3 days 2 hours`.
pub(crate) fn lenient_duration(text: &str) -> Option<i64> {
    if let Ok(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let mut total = 0i64;
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[start..start + digits].parse().ok()?;
        let after = rest[start + digits..].trim_start();
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        if let Some(unit) = unit_nanos(&after[..letters].to_ascii_lowercase()) {
            found = true;
            total = total.wrapping_add(number.wrapping_mul(unit));
        }
        rest = &after[letters..];
    }
    found.then_some(total)
}

fn unit_nanos(unit: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000_000;
    // The last word of each row counts with any ending.
    let units: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], SECOND),
        (&["m", "min"], 60 * SECOND),
        (&["h", "hr", "hour"], 3_600 * SECOND),
        (&["d", "day"], 86_400 * SECOND),
        (&["w", "wk", "week"], 604_800 * SECOND),
    ];
    units.iter().find_map(|(words, nanos)| {
        let (stem, exact) = words.split_last()?;
        (exact.contains(&unit) || unit.starts_with(stem)).then_some(*nanos)
    })
}
