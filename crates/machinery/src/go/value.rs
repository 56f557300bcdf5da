//! Decoded values, as Go's `fmt` prints an `interface{}` that holds one.

use serde_json::{Map, Number, Value};

use super::{float::write_float, quote};

/// Returns the Go type of a decoded value, as `%T` prints it.
///
/// ```
/// use kubewright_machinery::go;
/// use serde_json::json;
///
/// assert_eq!(go::type_name(&json!([1])), "[]interface {}");
/// assert_eq!(go::type_name(&json!(1.5)), "float64");
/// ```
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Prints a value as `%v` does: `map[a:1 b:[x y]]`.
pub fn display(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => number(n),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(display), " ")),
        Value::Object(fields) => display_map(fields),
    }
}

/// Prints an object as `%v` does, by key.
///
/// ```
/// use kubewright_machinery::go;
/// use serde_json::json;
///
/// let labels = json!({"b": "2", "a": "1"});
/// assert_eq!(go::display_map(labels.as_object().unwrap()), "map[a:1 b:2]");
/// ```
pub fn display_map(fields: &Map<String, Value>) -> String {
    let entries = sorted(fields).map(|(name, value)| format!("{name}:{}", display(value)));
    format!("map[{}]", joined(entries, " "))
}

/// Prints a value as `%#v` does: in the syntax of Go.
pub fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!(
                "[]interface {{}}{{{}}}",
                joined(items.iter().map(syntax), ", ")
            )
        }
        Value::Object(fields) => {
            let entries =
                sorted(fields).map(|(name, value)| format!("{}:{}", quote(name), syntax(value)));
            format!("map[string]interface {{}}{{{}}}", joined(entries, ", "))
        }
        Value::Bool(_) | Value::Number(_) => display(value),
    }
}

/// Go decodes a number that does not fit `int64` as a `float64`.
fn number(n: &Number) -> String {
    match (n.as_i64(), n.as_f64()) {
        (Some(int), _) => int.to_string(),
        (None, Some(float)) => {
            let mut out = String::new();
            write_float(&mut out, float);
            out
        }
        (None, None) => n.to_string(),
    }
}

fn sorted(fields: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut entries: Vec<_> = fields.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    entries.into_iter()
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_go_prints_an_interface() {
        let value = json!({"b": [1, "x y", null], "a": {"f": 1e6}, "c": true});
        assert_eq!(
            display(&value),
            "map[a:map[f:1e+06] b:[1 x y <nil>] c:true]"
        );
        assert_eq!(
            syntax(&value),
            "map[string]interface {}{\"a\":map[string]interface {}{\"f\":1e+06}, \
             \"b\":[]interface {}{1, \"x y\", interface {}(nil)}, \"c\":true}"
        );
    }

    #[test]
    fn an_integer_that_does_not_fit_is_a_float() {
        let value = json!(u64::MAX);
        assert_eq!(type_name(&value), "float64");
        assert_eq!(display(&value), "1.8446744073709552e+19");
        assert_eq!(type_name(&json!(i64::MIN)), "int64");
    }
}
