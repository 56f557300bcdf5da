//! Validates what admission policies and their bindings match, and the parameters they refer to.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use super::rule;
use crate::{checks, json::Read};

/// Checks `matchConstraints` or `matchResources`.
pub(super) fn validate(resources: &Value, path: &Path, errors: &mut ErrorList) {
    let policy = "matchPolicy";
    checks::one_of(
        &resources[policy],
        &["Equivalent", "Exact"],
        &path.child(policy),
        errors,
    );
    for name in ["namespaceSelector", "objectSelector"] {
        match resources[name].is_set() {
            true => checks::selector(&resources[name], &path.child(name), errors),
            false => errors.push(field::required(&path.child(name), "")),
        }
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (i, item) in resources[name].items().iter().enumerate() {
            let path = path.child(name).index(i);
            validate_names(&item["resourceNames"], &path.child("resourceNames"), errors);
            rule::validate(item, &path, errors);
        }
    }
}

/// Validates that only creates and updates are mutated.
pub(super) fn validate_mutable(resources: &Value, path: &Path, errors: &mut ErrorList) {
    let path = path.child("resourceRules").child("operations");
    let rules = resources["resourceRules"].items().iter();
    for operation in rules.flat_map(|rule| rule["operations"].items()) {
        checks::one_of_if_set(operation, &["*", "CREATE", "UPDATE"], &path, errors);
    }
}

/// Checks `paramRef`.
pub(super) fn validate_params(params: &Value, path: &Path, errors: &mut ErrorList) {
    if !params.is_set() {
        return;
    }
    let exclusive = "name and selector are mutually exclusive";
    let (name, selector) = (params["name"].text(), &params["selector"]);
    if !name.is_empty() {
        let at = path.child("name");
        checks::messages(name, names::is_path_segment_name(name), &at, errors);
        if selector.is_set() {
            errors.push(field::forbidden(&at, exclusive));
        }
    }
    if selector.is_set() {
        let at = path.child("selector");
        checks::selector(selector, &at, errors);
        if !name.is_empty() {
            errors.push(field::forbidden(&at, exclusive));
        }
    }
    if name.is_empty() && !selector.is_set() {
        let message = "one of name or selector must be specified";
        errors.push(field::required(path, message));
    }
    let action = "parameterNotFoundAction";
    checks::one_of(
        &params[action],
        &["Deny", "Allow"],
        &path.child(action),
        errors,
    );
}

fn validate_names(list: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, name) in list.items().iter().enumerate() {
        let (text, path) = (name.text(), path.index(i));
        checks::messages(text, names::is_path_segment_name(text), &path, errors);
        if !seen.insert(text) {
            errors.push(field::duplicate(&path, name));
        }
    }
}
