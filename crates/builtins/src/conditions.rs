//! Conditions of the general form (`metav1.Condition`), as some statuses have them.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{checks, json::Read};

const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32768;
const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Checks every condition of a list.
pub(crate) fn validate(conditions: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, condition) in conditions.items().iter().enumerate() {
        let path = path.index(i);
        let kind = condition["type"].text();
        if !seen.insert(kind) {
            errors.push(field::duplicate(&path.child("type"), &condition["type"]));
        }
        validate_one(condition, kind, &path, errors);
    }
}

fn validate_one(condition: &Value, kind: &str, path: &Path, errors: &mut ErrorList) {
    match kind {
        "" => errors.push(field::required(&path.child("type"), "must be set")),
        kind => checks::qualified_name(kind, &path.child("type"), errors),
    }
    let (status, known) = (condition["status"].text(), ["False", "True", "Unknown"]);
    if !known.contains(&status) {
        errors.push(field::not_supported(&path.child("status"), status, &known));
    }
    checks::non_negative(
        &condition["observedGeneration"],
        &path.child("observedGeneration"),
        errors,
    );
    checks::required(
        &condition["lastTransitionTime"],
        &path.child("lastTransitionTime"),
        errors,
    );
    let (reason, path_of_reason) = (condition["reason"].text(), path.child("reason"));
    if reason.is_empty() {
        errors.push(field::required(&path_of_reason, ""));
    } else {
        if !is_reason(reason) {
            errors.push(field::invalid_str(&path_of_reason, reason, REASON));
        }
        if reason.len() > MAX_REASON {
            errors.push(field::too_long(&path_of_reason, MAX_REASON));
        }
    }
    if condition["message"].text().len() > MAX_MESSAGE {
        errors.push(field::too_long(&path.child("message"), MAX_MESSAGE));
    }
}

fn is_reason(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(word)
        && text.chars().all(|c| word(c) || matches!(c, ',' | ':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_names_its_type_its_time_and_its_reason() {
        let mut errors = ErrorList::new();
        let good = json!({"type": "Ready", "status": "True", "reason": "Good", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        validate(&json!([good]), &Path::new("c"), &mut errors);
        assert!(errors.is_empty());
        let bad = json!({"type": "bad type", "status": "Odd", "reason": "1"});
        validate(&json!([bad, bad]), &Path::new("c"), &mut errors);
        assert_eq!(errors.len(), 9);
    }
}
