//! JSON is compared by value: the order of fields and the spaces between them do not count.

use serde_json::{Deserializer, Value};

use super::pattern::{Found, one};

/// Returns whether the text starts a JSON document.
pub(crate) fn values(text: &str) -> Option<Vec<Value>> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let values = is_json.then(|| {
        Deserializer::from_str(text)
            .into_iter()
            .collect::<Result<_, _>>()
    });
    values?.ok()
}

/// Returns whether a value matches. Strings may have placeholders.
pub(crate) fn matches<'a>(expected: &Value, actual: &'a Value, found: &mut Found<'a>) -> bool {
    match (expected, actual) {
        (Value::String(expected), Value::String(actual)) => one(expected, actual, found),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(expected, actual)| matches(expected, actual, found))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.len() == actual.len()
                && expected.iter().all(|(key, expected)| {
                    actual
                        .get(key)
                        .is_some_and(|actual| matches(expected, actual, found))
                })
        }
        _ => expected == actual,
    }
}
