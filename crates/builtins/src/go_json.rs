//! Writes JSON text whose fields keep their order. That order shows in annotations and in error messages,
//! where Go prints structs in the order of their declaration.

use serde_json::Value;

use crate::json::Read;

/// Writes one object.
pub(crate) struct Writer {
    text: String,
}

/// A list of texts.
pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// A label selector; `null` if there is none.
pub(crate) fn selector(selector: &Value) -> String {
    if !selector.is_set() {
        return "null".to_owned();
    }
    let mut out = Writer::new();
    out.put_if_filled("matchLabels", &selector["matchLabels"]);
    let expressions = selector["matchExpressions"].items();
    if !expressions.is_empty() {
        let texts = expressions.iter().map(|e| {
            let mut out = Writer::new();
            out.put("key", &e["key"]);
            out.put("operator", &e["operator"]);
            out.put_if_filled("values", &e["values"]);
            out.finish()
        });
        out.put_text("matchExpressions", list(texts));
    }
    out.finish()
}

/// Returns the message of Go's decoder for text that is not JSON, from the error of serde_json.
pub(crate) fn syntax_error(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let mut lines = text.split(|b| *b == b'\n');
    let line = lines
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let found = line
        .get(error.column().saturating_sub(1))
        .copied()
        .unwrap_or_default();
    let said = error.to_string();
    let contexts = [
        (
            "key must be a string",
            "looking for beginning of object key string",
        ),
        ("expected `,` or `}`", "after object key:value pair"),
        ("expected `,` or `]`", "after array element"),
        ("expected `:`", "after object key"),
        ("trailing characters", "after top-level value"),
    ];
    let context = contexts.iter().find(|(other, _)| said.starts_with(other));
    let context = context.map_or("looking for beginning of value", |(_, go)| go);
    format!("invalid character '{}' {context}", char::from(found))
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { text: "{".into() }
    }

    pub(crate) fn put(&mut self, name: &str, value: &Value) {
        self.put_text(name, value.to_string());
    }

    pub(crate) fn put_text(&mut self, name: &str, text: String) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(&format!("\"{name}\":{text}"));
    }

    pub(crate) fn put_if_set(&mut self, name: &str, value: &Value) {
        if value.is_set() {
            self.put(name, value);
        }
    }

    pub(crate) fn put_if_filled(&mut self, name: &str, value: &Value) {
        if !value.is_blank() {
            self.put(name, value);
        }
    }

    /// A label selector, if there is one.
    pub(crate) fn put_selector(&mut self, name: &str, value: &Value) {
        if value.is_set() {
            self.put_text(name, selector(value));
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn syntax_errors_are_those_of_go() {
        for (text, message) in [
            ("v", "invalid character 'v' looking for beginning of value"),
            ("[", "unexpected end of JSON input"),
            ("", "unexpected end of JSON input"),
            ("{}x", "invalid character 'x' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
        ] {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            assert_eq!(syntax_error(text.as_bytes(), &error), message, "{text}");
        }
    }
}
