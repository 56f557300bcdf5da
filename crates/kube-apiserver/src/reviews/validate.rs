//! Validation of access reviews.

use kubewright_machinery::{
    Status,
    field::{self, ErrorList, Path},
    gvk::GroupKind,
    json::Read,
    status,
};
use serde_json::Value;

/// Validates a review.
pub(super) fn check(review: &Value) -> Result<(), Status> {
    let mut errors = ErrorList::new();
    validate(review, &mut errors);
    if errors.is_empty() {
        return Ok(());
    }
    let group = GroupKind::new("authorization.k8s.io", "");
    Err(status::invalid(&group, "", &errors))
}

fn validate(review: &Value, errors: &mut ErrorList) {
    let (spec, path) = (&review["spec"], Path::new("spec"));
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let kind = review["kind"].as_str().unwrap_or_default();
    match (resource.is_null(), other.is_null()) {
        (false, false) => errors.push(field::invalid_raw(
            &path.child("nonResourceAttributes"),
            shown(other),
            "cannot be specified in combination with resourceAttributes",
        )),
        (true, true) => errors.push(field::invalid(
            &path.child("resourceAttributes"),
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    let nobody = spec["user"].text().is_empty() && is_empty(&spec["groups"]);
    if kind != "SelfSubjectAccessReview" && nobody {
        let message = "at least one of user or group must be specified";
        errors.push(field::invalid_str(&path.child("user"), "", message));
    }
    let local = kind == "LocalSubjectAccessReview";
    validate_metadata(&review["metadata"], local, errors);
    if local
        && !resource.is_null()
        && resource["namespace"].text() != review["metadata"]["namespace"].text()
    {
        errors.push(field::invalid_str(
            &path.child("resourceAttributes").child("namespace"),
            resource["namespace"].text(),
            "must match metadata.namespace",
        ));
    }
    if local && !other.is_null() {
        errors.push(field::invalid_raw(
            &path.child("nonResourceAttributes"),
            shown(other),
            "disallowed on this kind of request",
        ));
    }
}

/// A review has no name, since it is not stored.
fn validate_metadata(metadata: &Value, local: bool, errors: &mut ErrorList) {
    let given = |key: &str, value: &Value| {
        let kept = key == "managedFields" || (local && key == "namespace");
        !kept && !value.is_null() && value != ""
    };
    let fields = metadata.as_object();
    if !fields.is_some_and(|fields| fields.iter().any(|(key, value)| given(key, value))) {
        return;
    }
    let message = match local {
        true => "must be empty except for namespace",
        false => "must be empty",
    };
    errors.push(field::invalid(&Path::new("metadata"), metadata, message));
}

/// Returns the attributes under the names that Go has for them.
fn shown(attributes: &Value) -> String {
    let text = |key: &str| Value::from(attributes[key].text());
    format!("{{\"Path\":{},\"Verb\":{}}}", text("path"), text("verb"))
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_about_one_thing_and_about_somebody() {
        let asked = |kind: &str, spec: Value| json!({"kind": kind, "metadata": {}, "spec": spec});
        let resource = json!({"verb": "get", "resource": "pods"});
        let good = asked(
            "SelfSubjectAccessReview",
            json!({"resourceAttributes": resource}),
        );
        assert!(check(&good).is_ok());
        let refused = check(&asked(
            "SubjectAccessReview",
            json!({"resourceAttributes": resource}),
        ));
        assert!(refused.is_err_and(|status| status.message.ends_with("must be specified")));
        assert!(check(&asked("SelfSubjectAccessReview", json!({}))).is_err());
    }
}
