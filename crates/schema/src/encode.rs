//! Writes objects as compact JSON, byte for byte as Go's encoder does.
//!
//! Strings escape `<`, `>` and `&`. Keys come in the order of the map, which is sorted. Floats without a fraction keep
//! their `.0`: decoding turned those that Go would print as integers into integers, so what is left is text that Go
//! passes through as it was (raw extensions).

use std::io::Write;

use serde_json::{Map, Number, Value};

use kubewright_machinery::go;

/// Encodes a value.
///
/// ```
/// use serde_json::json;
///
/// assert_eq!(kubewright_schema::encode(&json!({"a": "<b>"})), br#"{"a":"\u003cb\u003e"}"#);
/// ```
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    write_value(&mut out, value);
    out
}

/// Appends the text of a value.
///
/// ```
/// use kubewright_schema::write_value;
/// use serde_json::json;
///
/// let mut line = b"data: ".to_vec();
/// write_value(&mut line, &json!({"a": [1, null]}));
/// assert_eq!(line, br#"data: {"a":[1,null]}"#);
/// ```
pub fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(out, item);
            }
            out.push(b']');
        }
        Value::Object(map) => write_object(out, map),
    }
}

fn write_object(out: &mut Vec<u8>, map: &Map<String, Value>) {
    let mut first = true;
    out.push(b'{');
    for (key, value) in map {
        write_key(out, key, &mut first);
        write_value(out, value);
    }
    out.push(b'}');
}

fn write_key(out: &mut Vec<u8>, key: &str, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    write_string(out, key);
    out.push(b':');
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    // Writing to a vector cannot fail.
    let _ = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(int), _, _) => write!(out, "{int}"),
        (None, Some(uint), _) => write!(out, "{uint}"),
        (None, None, Some(float)) => {
            let mut text = String::new();
            go::write_json_float(&mut text, float);
            if float.fract() == 0.0 && float.abs() < 1e16 {
                text.push_str(".0");
            }
            out.write_all(text.as_bytes())
        }
        (None, None, None) => write!(out, "{number}"),
    };
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    go::JsonStyle::Standard.write_string(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn escapes_and_floats_are_those_of_go() {
        let value = json!([
            "<a>&\"\\",
            "\u{8}\u{c}\n\u{1}\u{7f}\u{2028}\u{2027}é",
            1.0,
            1e21,
            1.5,
            -3
        ]);
        assert_eq!(
            String::from_utf8(encode(&value)).unwrap(),
            "[\"\\u003ca\\u003e\\u0026\\\"\\\\\",\"\\b\\f\\n\\u0001\u{7f}\\u2028\u{2027}é\",1.0,1e+21,1.5,-3]"
        );
    }
}
