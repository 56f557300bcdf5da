//! The rules that select the requests of a webhook or a policy.

use std::collections::BTreeSet;

use kubewright_cel::{AdmissionEnv, Type};
use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::expression;
use crate::{
    checks,
    json::{Read, same},
};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MAX_CONDITIONS: usize = 64;

pub(super) fn validate(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let wildcard = |list: &Value| list.items().len() > 1 && list.items().iter().any(|v| v == "*");
    let operations = &rule["operations"];
    let at = path.child("operations");
    checks::required(operations, &at, errors);
    if wildcard(operations) {
        let message = "if '*' is present, must not specify other operations";
        errors.push(field::invalid(&at, operations, message));
    }
    for (i, operation) in operations.items().iter().enumerate() {
        checks::one_of_if_set(operation, &OPERATIONS, &at.index(i), errors);
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let at = path.child(name);
        checks::required(&rule[name], &at, errors);
        if wildcard(&rule[name]) {
            let message = format!("if '*' is present, must not specify other {what}");
            errors.push(field::invalid(&at, &rule[name], message));
        }
        if name == "apiVersions" {
            for (i, version) in rule[name].items().iter().enumerate() {
                checks::required(version, &at.index(i), errors);
            }
        }
    }
    validate_resources(&rule["resources"], &path.child("resources"), errors);
    let known = ["*", "Cluster", "Namespaced"];
    checks::one_of_if_set(&rule["scope"], &known, &path.child("scope"), errors);
}

/// The effect of a write on match conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchConditions {
    /// The conditions are new or may have changed.
    Check,
    /// The conditions are the stored ones, which are not validated again.
    Unchanged,
}

impl MatchConditions {
    /// Compares the conditions of a new object with those of the stored one.
    pub(super) fn of_update(new: &Value, old: &Value) -> Self {
        match same(new, old) {
            true => Self::Unchanged,
            false => Self::Check,
        }
    }
}

/// Validates match conditions: their names, and their expressions in an environment.
pub(super) fn validate_match_conditions(
    conditions: &Value,
    env: &AdmissionEnv,
    path: &Path,
    errors: &mut ErrorList,
) {
    let list = conditions.items();
    if list.len() > MAX_CONDITIONS {
        errors.push(field::too_many(path, list.len(), MAX_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for (i, condition) in list.iter().enumerate() {
        let path = path.index(i);
        let (text, at) = (
            condition["expression"].text().trim(),
            path.child("expression"),
        );
        match text {
            "" => errors.push(field::required(&at, "")),
            text => expression::report(env.compile(text, &[Type::Bool]), text, &at, errors),
        }
        let name = condition["name"].text();
        if name.is_empty() {
            errors.push(field::required(&path.child("name"), ""));
        } else {
            checks::qualified_name(name, &path.child("name"), errors);
            if !seen.insert(name) {
                errors.push(field::duplicate(&path.child("name"), &condition["name"]));
            }
        }
    }
}

fn validate_resources(resources: &Value, path: &Path, errors: &mut ErrorList) {
    let list = resources.items();
    checks::required(resources, path, errors);
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    let mut plain = false;
    for (i, item) in list.iter().enumerate() {
        let text = item.text();
        if text.is_empty() {
            errors.push(field::required(&path.index(i), ""));
            continue;
        }
        let Some((resource, part)) = text.split_once('/') else {
            plain = text != "*";
            continue;
        };
        if whole.contains(resource) {
            let message = format!("if '{resource}/*' is present, must not specify {text}");
            errors.push(field::invalid_str(&path.index(i), text, message));
        }
        if parts.contains(part) {
            let message = format!("if '*/{part}' is present, must not specify {text}");
            errors.push(field::invalid_str(&path.index(i), text, message));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            parts.insert(part);
        }
    }
    if list.len() > 1 && list.iter().any(|r| r == "*/*") {
        let message = "if '*/*' is present, must not specify other resources";
        errors.push(field::invalid(path, resources, message));
    }
    if plain && list.iter().any(|r| r == "*") {
        let message = "if '*' is present, must not specify other resources without subresources";
        errors.push(field::invalid(path, resources, message));
    }
}
