//! JSON as values, by its schema.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose;
use kubewright_machinery::time::parse_duration;
use serde_json::Value as Json;

use crate::schema::{Schema, SchemaKind};

use super::{EvalError, EvalResult, List, Map, Str, Timestamp, Value, time};

/// The value of a piece of JSON. Without a schema, it is what it looks like.
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
                go_type(other)
            )),
        },
        SchemaKind::Number => match json {
            Json::Number(number) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
            other => fail(format!(
                "invalid data, expected float, got {}",
                go_type(other)
            )),
        },
        SchemaKind::Integer => match json.as_i64() {
            Some(number) => Ok(Value::Int(number)),
            None => fail(format!("invalid data, expected int, got {}", go_type(json))),
        },
        SchemaKind::Boolean => match json {
            Json::Bool(b) => Ok(Value::Bool(*b)),
            other => fail(format!(
                "invalid data, expected bool, got {}",
                go_type(other)
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
        "date" => time::parse(text, time::DATE)
            .map(Value::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date formatted string {text}: {why}"))),
        "date-time" => date_time(text).map(Value::Timestamp).map_err(|why| {
            EvalError::new(format!("Invalid date-time formatted string {text}: {why}"))
        }),
        "byte" => match general_purpose::URL_SAFE.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(Arc::from(bytes))),
            Err(_) => Err(EvalError::new(format!(
                "Invalid byte formatted string {text}: {}",
                illegal_base64(text)
            ))),
        },
        _ => Ok(Value::String(Str::Borrowed(text))),
    }
}

fn date_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp::EPOCH);
    }
    time::parse(text, time::RFC3339).or_else(|_| time::parse(text, time::LOCAL))
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

/// Where base64 goes wrong, in Go's words.
fn illegal_base64(text: &str) -> String {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let at = text
        .bytes()
        .position(|b| !legal(b) && b != b'\r' && b != b'\n')
        .unwrap_or(text.len() / 4 * 4);
    format!("illegal base64 data at input byte {at}")
}

/// The Go type that a decoder makes of the JSON.
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}
