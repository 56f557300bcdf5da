//! JSON text whose fields keep the order they were written in. That order shows in annotations and in error messages,
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
