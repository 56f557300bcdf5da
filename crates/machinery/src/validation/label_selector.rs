//! Label selectors within specs: `{matchLabels, matchExpressions}`.

use serde_json::Value;

use super::{metadata_fields::validate_labels, names};
use crate::{
    field::{self, ErrorList, Path},
    go,
};

/// Exceptions for objects that were stored before a rule was introduced.
///
/// ```
/// use kubewright_machinery::field::Path;
/// use kubewright_machinery::validation::{LabelSelectorOptions, validate_label_selector};
/// use serde_json::json;
///
/// let selector = json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["not valid"]}]});
/// let path = Path::new("selector");
/// let errors = validate_label_selector(&selector, LabelSelectorOptions::default(), &path);
/// assert_eq!(errors[0].field, "selector.matchExpressions[0].values[0]");
///
/// let stored = LabelSelectorOptions { allow_invalid_values: true, ..LabelSelectorOptions::default() };
/// assert!(validate_label_selector(&selector, stored, &path).is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelSelectorOptions {
    /// Allows values in expressions that no label can have.
    pub allow_invalid_values: bool,
    /// Allows unknown operators.
    pub allow_unknown_operators: bool,
}

/// Checks a label selector. `null` is valid.
pub fn validate_label_selector(
    selector: &Value,
    options: LabelSelectorOptions,
    path: &Path,
) -> ErrorList {
    let mut errors = ErrorList::new();
    if let Some(labels) = selector.get("matchLabels") {
        errors.extend(validate_labels(labels, &path.child("matchLabels")));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, expression) in expressions.into_iter().flatten().enumerate() {
        let path = path.child("matchExpressions").index(i);
        errors.extend(validate_label_requirement(expression, options, &path));
    }
    errors
}

/// Reports whether a selector holds a value that no label can have, so that an update may keep it.
///
/// ```
/// use kubewright_machinery::validation::has_invalid_values;
/// use serde_json::json;
///
/// let expression = json!({"key": "app", "operator": "In", "values": ["web shop"]});
/// assert!(has_invalid_values(&json!({"matchExpressions": [expression]})));
/// ```
pub fn has_invalid_values(selector: &Value) -> bool {
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let mut values = expressions.into_iter().flatten().flat_map(values);
    values.any(|v| !names::is_label_value(v).is_empty())
}

/// Checks one expression of a label selector: `{key, operator, values}`.
///
/// ```
/// use kubewright_machinery::{
///     field::Path,
///     validation::{LabelSelectorOptions, validate_label_requirement},
/// };
/// use serde_json::json;
///
/// let expression = json!({"key": "app", "operator": "Exists", "values": ["web"]});
/// let options = LabelSelectorOptions::default();
/// let errors = validate_label_requirement(&expression, options, &Path::new("selector"));
/// assert_eq!(errors[0].field, "selector.values");
/// ```
pub fn validate_label_requirement(
    expression: &Value,
    options: LabelSelectorOptions,
    path: &Path,
) -> ErrorList {
    let mut errors = ErrorList::new();
    let text = |name| {
        expression
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let values: Vec<&str> = values(expression).collect();
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(field::required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(field::forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ if options.allow_unknown_operators => {}
        other => errors.push(field::invalid_raw(
            &path.child("operator"),
            go::json(&Value::from(other)),
            "not a valid selector operator",
        )),
    }
    let key = text("key");
    for reason in names::is_qualified_name(key) {
        errors.push(field::invalid_str(&path.child("key"), key, reason));
    }
    if !options.allow_invalid_values {
        for (i, value) in values.into_iter().enumerate() {
            for reason in names::is_label_value(value) {
                let path = path.child("values").index(i);
                errors.push(field::invalid_str(&path, value, reason));
            }
        }
    }
    errors
}

fn values(expression: &Value) -> impl Iterator<Item = &str> {
    let values = expression.get("values").and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}
