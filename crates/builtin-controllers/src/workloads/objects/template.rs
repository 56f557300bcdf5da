//! Pod templates, kept as JSON so that no field is lost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A pod template.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Template(pub(crate) Value);

impl Template {
    /// Returns the labels of its pods.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let labels = self
            .0
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    /// Returns the template with a label.
    pub(crate) fn with_label(&self, key: &str, value: &str) -> Self {
        let mut template = self.0.clone();
        template["metadata"]["labels"][key] = value.into();
        Self(template)
    }

    /// Returns the template without a label.
    pub(crate) fn without_label(&self, key: &str) -> Self {
        let mut template = self.0.clone();
        let labels = template.pointer_mut("/metadata/labels");
        if let Some(labels) = labels.and_then(Value::as_object_mut) {
            labels.remove(key);
        }
        Self(template)
    }

    /// Reports whether two templates mean the same.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        means(&self.0, &other.0)
    }

    /// Reports whether two templates are equal except for one label. Empty values equal absent ones.
    pub(crate) fn equals_but_for_label(&self, other: &Self, label: &str) -> bool {
        means(&self.without_label(label).0, &other.without_label(label).0)
    }
}

/// Compares two values; `null`, empty lists and empty maps of a field equal its absence.
fn means(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let within = |a: &Map<String, Value>, b: &Map<String, Value>| {
                a.iter().all(|(key, value)| match b.get(key) {
                    Some(other) => means(value, other),
                    None => is_nothing(value),
                })
            };
            within(a, b) && b.iter().all(|(k, v)| a.contains_key(k) || is_nothing(v))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| means(a, b))
        }
        (a, b) => a == b || is_nothing(a) && is_nothing(b),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_equal_whatever_their_hash_and_if_what_differs_is_empty() {
        let template = |labels: Value, spec: Value| {
            Template(json!({"metadata": {"labels": labels}, "spec": spec}))
        };
        let one = template(
            json!({"app": "web"}),
            json!({"containers": [{"name": "c"}]}),
        );
        let same = template(
            json!({"app": "web", "hash": "x"}),
            json!({"containers": [{"name": "c", "args": []}], "volumes": null}),
        );
        let other = template(
            json!({"app": "web"}),
            json!({"containers": [{"name": "d"}]}),
        );
        assert!(one.equals_but_for_label(&same, "hash"));
        assert!(same.equals_but_for_label(&one, "hash"));
        assert!(!one.equals_but_for_label(&other, "hash"));
        assert!(!one.equals_but_for_label(&same, "app"));
    }
}
