//! Reads values at dotted paths, with Go's errors.

use kubewright_machinery::go;
use serde_json::Value;

/// The value at a dotted path. The error is Go's, for a path that leads through a value that is not an object.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let parts: Vec<&str> = path.strip_prefix('.').unwrap_or(path).split('.').collect();
    let mut value = object;
    for (i, part) in parts.iter().enumerate() {
        match value {
            Value::Object(fields) => match fields.get(*part) {
                Some(field) => value = field,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => {
                let walked = parts[..=i].join(".");
                let (printed, ty) = (go::display(other), go::type_name(other));
                return Err(format!(
                    ".{walked} accessor error: {printed} is of the type {ty}, expected map[string]interface{{}}"
                ));
            }
        }
    }
    Ok(Some(value))
}

/// An integer at a dotted path. The error is Go's.
///
/// ```
/// use kubewright_schema::structural::nested_i64;
/// use serde_json::json;
///
/// let object = json!({"spec": {"replicas": "two"}});
/// let error = nested_i64(&object, ".spec.replicas").unwrap_err();
/// assert_eq!(error, ".spec.replicas accessor error: two is of the type string, expected int64");
/// ```
///
/// # Errors
///
/// Returns Go's message if the value, or one on the way to it, is of another type.
pub fn nested_i64(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match nested(object, path)? {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(n) => Ok(Some(n)),
            None => Err(accessor_error(path, value, "int64")),
        },
    }
}

/// A text at a dotted path. The error is Go's.
///
/// ```
/// use kubewright_schema::structural::nested_str;
/// use serde_json::json;
///
/// assert_eq!(nested_str(&json!({"status": {"selector": "app=web"}}), ".status.selector"), Ok(Some("app=web")));
/// ```
///
/// # Errors
///
/// Returns Go's message if the value, or one on the way to it, is of another type.
pub fn nested_str<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, String> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(accessor_error(path, value, "string")),
    }
}

fn accessor_error(path: &str, value: &Value, expected: &str) -> String {
    let (printed, ty) = (go::display(value), go::type_name(value));
    let path = path.strip_prefix('.').unwrap_or(path);
    format!(".{path} accessor error: {printed} is of the type {ty}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_through_a_text_names_the_field_that_was_looked_for() {
        let error = nested_i64(&json!({"spec": "x y"}), ".spec.replicas").expect_err("no object");
        assert_eq!(
            error,
            ".spec.replicas accessor error: x y is of the type string, expected map[string]interface{}"
        );
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        let error = |value: serde_json::Value| {
            let object = json!({"replicas": value});
            nested_i64(&object, ".replicas").expect_err("no number")
        };
        assert_eq!(
            error(json!({"b": [1, "x"], "a": null})),
            ".replicas accessor error: map[a:<nil> b:[1 x]] is of the type map[string]interface {}, expected int64"
        );
        assert_eq!(
            error(json!([1, 1])),
            ".replicas accessor error: [1 1] is of the type []interface {}, expected int64"
        );
    }
}
