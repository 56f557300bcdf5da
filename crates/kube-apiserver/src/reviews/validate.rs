//! Validation of access reviews.

use kubewright_machinery::{
    Status,
    field::{self, ErrorList, Path},
    gvk::GroupKind,
    json::Read,
    status,
    validation::{LabelSelectorOptions, validate_label_requirement},
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
    let attributes = path.child("resourceAttributes");
    for (name, check) in [
        ("fieldSelector", field_requirement as CheckRequirement),
        ("labelSelector", label_requirement),
    ] {
        validate_selector(&resource[name], &attributes.child(name), check, errors);
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

type CheckRequirement = fn(&Value, &Path) -> ErrorList;

/// A selector is a text or a list of requirements. Texts are parsed later, and operators may be newer than this server.
fn validate_selector(
    selector: &Value,
    path: &Path,
    check: CheckRequirement,
    errors: &mut ErrorList,
) {
    if selector.is_null() {
        return;
    }
    let text = selector["rawSelector"].text();
    let requirements = selector["requirements"].items();
    match (text, requirements) {
        ("", []) => {
            let this = path.as_str();
            let message =
                format!("when {this} is specified, requirements or rawSelector is required");
            errors.push(field::required(&path.child("requirements"), message));
        }
        ("", _) | (_, []) => {}
        _ => errors.push(field::invalid_str(
            &path.child("rawSelector"),
            text,
            "may not specified at the same time as requirements",
        )),
    }
    for (i, requirement) in requirements.iter().enumerate() {
        errors.extend(check(requirement, &path.child("requirements").index(i)));
    }
}

fn label_requirement(requirement: &Value, path: &Path) -> ErrorList {
    let options = LabelSelectorOptions {
        allow_unknown_operators: true,
        ..LabelSelectorOptions::default()
    };
    validate_label_requirement(requirement, options, path)
}

fn field_requirement(requirement: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if requirement["key"].text().is_empty() {
        errors.push(field::required(&path.child("key"), "must be specified"));
    }
    let values = path.child("values");
    match (
        requirement["operator"].text(),
        is_empty(&requirement["values"]),
    ) {
        ("In" | "NotIn", true) => {
            let message = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(field::required(&values, message));
        }
        ("Exists" | "DoesNotExist", false) => {
            let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(field::forbidden(&values, message));
        }
        _ => {}
    }
    errors
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
    fn a_review_has_one_kind_of_attributes_and_a_user() {
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
