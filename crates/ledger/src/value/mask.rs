//! Masking of Secret values.

use serde_json::Value;

use super::diff::FieldChange;

/// Whether the values of an object are visible.
///
/// ```
/// use kubewright_ledger::{MASK, Values};
/// use serde_json::json;
///
/// let mut secret = json!({"data": {"password": "aHVudGVyMg=="}});
/// Values::of("", "secrets").apply(&mut secret);
/// assert_eq!(secret["data"]["password"], MASK);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Values are visible.
    Shown,
    /// Values of Secrets are masked.
    Masked,
}

/// The text in place of a masked value.
pub const MASK: &str = "(masked)";

/// The annotation in which kubectl stores the applied object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Replaces the values of a Secret by [`MASK`], and keeps their keys.
///
/// ```
/// use kubewright_ledger::{MASK, mask_secret};
/// use serde_json::json;
///
/// let mut secret = json!({"kind": "Secret", "data": {"password": "aHVudGVyMg=="}});
/// mask_secret(&mut secret);
/// assert_eq!(secret["data"]["password"], MASK);
/// ```
pub fn mask_secret(object: &mut Value) {
    for field in ["data", "stringData"] {
        match object.get_mut(field) {
            Some(Value::Object(data)) => data.values_mut().for_each(|value| *value = MASK.into()),
            Some(other) if !other.is_null() => *other = MASK.into(),
            _ => {}
        }
    }
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(last) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
        *last = MASK.into();
    }
}

impl Values {
    /// Returns whether the values of a resource are visible, which those of Secrets are not.
    pub fn of(group: &str, resource: &str) -> Self {
        match (group, resource) {
            ("", "secrets") => Self::Masked,
            _ => Self::Shown,
        }
    }

    /// Masks the values of an object, unless they are visible.
    pub fn apply(self, object: &mut Value) {
        if self == Self::Masked {
            mask_secret(object);
        }
    }

    /// Masks the values of a difference, unless they are visible.
    pub(crate) fn apply_to(self, change: &mut FieldChange) {
        if self == Self::Shown {
            return;
        }
        let path = change.path.as_str();
        let is_value = ["data", "stringData"].iter().any(|field| {
            let below = path.strip_prefix(field);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        for value in [&mut change.before, &mut change.after]
            .into_iter()
            .flatten()
        {
            match value {
                _ if path.is_empty() => mask_secret(value),
                Value::Object(map) if is_value => map.values_mut().for_each(|it| *it = MASK.into()),
                _ if is_value || path.contains(LAST_APPLIED) => *value = MASK.into(),
                Value::Object(map) if path.starts_with("metadata") => {
                    let annotations = match path {
                        "metadata" => map.get_mut("annotations").and_then(Value::as_object_mut),
                        _ => Some(map),
                    };
                    if let Some(last) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
                        *last = MASK.into();
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::value::diff;

    #[test]
    fn a_difference_of_secrets_has_no_values() {
        let secret = |value: &str, annotated: bool| {
            let mut secret = json!({"metadata": {"name": "a"}, "data": {"password": value}});
            if annotated {
                secret["metadata"]["annotations"] = json!({LAST_APPLIED: value});
                secret["stringData"] = json!({"token": value});
            }
            secret
        };
        let pairs = [
            (Value::Null, secret("hunter2", true)),
            (secret("hunter1", false), secret("hunter2", true)),
            (secret("hunter1", true), secret("hunter2", true)),
            (secret("hunter1", true), secret("hunter1", false)),
            (json!({}), secret("hunter1", true)),
            (json!({"data": "hunter3"}), secret("hunter1", true)),
        ];
        for (before, after) in pairs {
            let (mut changes, _) = diff(&before, &after);
            assert!(!changes.is_empty());
            changes
                .iter_mut()
                .for_each(|change| Values::Masked.apply_to(change));
            let text = serde_json::to_string(&changes).unwrap();
            assert!(!text.contains("hunter"), "{text}");
            assert!(text.contains(MASK), "{text}");
        }
    }
}
