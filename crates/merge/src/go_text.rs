//! Text as Go prints it: JSON with escaped HTML characters, floats, quoted strings.
//!
//! What Kubernetes writes into field paths, annotations and messages was printed by Go; byte equality needs the
//! same rules. This is not a general encoder: it knows JSON values and strings, and nothing of types.
//!
//! Invariant: [`write_json`] goes as deep as the value does, so callers hand in values within
//! [`MAX_DEPTH`].

use serde_json::{Map, Number, Value};
use std::{fmt::Write, ops::Range};

/// Appends `value` as compact JSON: map keys in the map's order, `<`, `>`, `&` and the two line separators escaped.
pub(crate) fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => write_number(out, n),
        Value::String(s) => write_html_safe_string(out, s),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_html_safe_string(out, name);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

/// Appends a JSON string whose HTML characters are escaped.
pub(crate) fn write_html_safe_string(out: &mut String, s: &str) {
    write_escaped(out, s, true);
}

/// Appends a JSON string that escapes only what JSON demands.
pub(crate) fn write_plain_string(out: &mut String, s: &str) {
    write_escaped(out, s, false);
}

/// Appends a number: integers as they are, floats in the shortest form, with an exponent from 1e21 and below 1e-6.
pub(crate) fn write_number(out: &mut String, n: &Number) {
    match (n.as_i64(), n.as_u64(), n.as_f64()) {
        (Some(i), _, _) => _ = write!(out, "{i}"),
        (_, Some(u), _) => _ = write!(out, "{u}"),
        (_, _, Some(f)) => write_float(out, f, 1e-6..1e21),
        _ => _ = write!(out, "{n}"),
    }
}

/// The floats that `%v` prints without an exponent.
pub(crate) const PLAIN: Range<f64> = 1e-4..1e6;

/// Appends a float in the shortest form; unless its size is in a range, it has an exponent of two digits at least.
pub(crate) fn write_float(out: &mut String, f: f64, plain: Range<f64>) {
    let abs = f.abs();
    if abs != 0.0 && !plain.contains(&abs) {
        let text = format!("{f:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        _ = write!(out, "{mantissa}e{sign}{digits:0>2}");
    } else {
        _ = write!(out, "{f}");
    }
}

/// A string in double quotes as Go's `%q` prints it.
pub(crate) fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => _ = write!(out, "\\x{:02x}", c as u32),
            c if c.is_control() || (c.is_whitespace() && c != ' ') || c == '\u{feff}' => {
                _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The Go type that holds such a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as `%v` prints it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => plain_number(n),
        Value::String(s) => s.clone(),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(plain).collect::<Vec<_>>().join(" ")
            )
        }
        Value::Object(fields) => plain_map(fields),
    }
}

/// An object as `%v` prints it.
pub(crate) fn plain_map(fields: &Map<String, Value>) -> String {
    let mut entries: Vec<_> = fields.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    let entries: Vec<_> = entries
        .iter()
        .map(|(name, v)| format!("{name}:{}", plain(v)))
        .collect();
    format!("map[{}]", entries.join(" "))
}

/// A value as `%#v` prints it.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => plain_number(n),
        Value::String(s) => quote(s),
        Value::Array(items) => format!(
            "[]interface {{}}{{{}}}",
            items.iter().map(go_syntax).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            let entries: Vec<_> = entries
                .iter()
                .map(|(name, v)| format!("{}:{}", quote(name), go_syntax(v)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

fn plain_number(n: &Number) -> String {
    let mut out = String::new();
    match n.as_f64().filter(|_| n.is_f64()) {
        Some(f) => write_float(&mut out, f, PLAIN),
        None => out = n.to_string(),
    }
    out
}

fn write_escaped(out: &mut String, s: &str, html: bool) {
    out.push('"');
    write_inside(out, s, html);
    out.push('"');
}

/// Appends what is between the quotes of a JSON string whose HTML characters are escaped.
pub(crate) fn write_html_safe(out: &mut String, s: &str) {
    write_inside(out, s, true);
}

fn write_inside(out: &mut String, s: &str, html: bool) {
    let mut start = 0;
    for (i, c) in s.char_indices() {
        let safe = match c {
            '"' | '\\' => false,
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => !html,
            c => c >= ' ',
        };
        if safe {
            continue;
        }
        out.push_str(&s[start..i]);
        start = i + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' if html => out.push_str("\\b"),
            '\u{c}' if html => out.push_str("\\f"),
            c => _ = write!(out, "\\u{:04x}", c as u32),
        }
    }
    out.push_str(&s[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(value: Value) -> String {
        let mut out = String::new();
        write_json(&mut out, &value);
        out
    }

    #[test]
    fn html_characters_are_escaped() {
        assert_eq!(
            text(json!({"a": "<b>&\u{2028}"})),
            r#"{"a":"\u003cb\u003e\u0026\u2028"}"#
        );
    }

    #[test]
    fn floats_are_short_and_large_ones_have_an_exponent() {
        assert_eq!(
            text(json!([1.0, 0.5, 1e21, 1e-7, 1e20])),
            "[1,0.5,1e+21,1e-07,100000000000000000000]"
        );
    }

    #[test]
    fn control_characters_are_escaped_in_quotes() {
        assert_eq!(quote("a\u{1}\"\n"), "\"a\\x01\\\"\\n\"");
    }
}
