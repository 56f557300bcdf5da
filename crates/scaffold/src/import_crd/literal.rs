//! Writes JSON as Rust macros read it.

use serde_json::Value;

/// Returns JSON as Rust macros read it: with Rust string literals, and with a type suffix on large numbers.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key:?}: {}", literal(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && is_whole(float) => format!("{float:.0}"),
            Some(float) if number.is_f64() => format!("{float:?}"),
            _ if number.as_i64().is_some_and(|n| i32::try_from(n).is_err()) => {
                format!("{number}i64")
            }
            _ if number.as_u64().is_some_and(|n| n > i64::MAX as u64) => format!("{number}u64"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Reports whether a float is an integer in the range of `i32`.
fn is_whole(float: f64) -> bool {
    float.fract() == 0.0 && float.abs() <= f64::from(i32::MAX)
}
