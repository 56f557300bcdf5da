//! Bindings of admission policies.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::{policy::default_match, policy_match};
use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static VALIDATING_RULES: KindRules = KindRules {
    default: |binding| binding.with("spec", |spec| spec.with("matchResources", default_match)),
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    validate_create: validate_validating,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_validating(new));
        errors
    },
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

pub(crate) static MUTATING_RULES: KindRules = KindRules {
    validate_create: validate_mutating,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_mutating(new));
        errors
    },
    ..VALIDATING_RULES
};

const TWICE: &str = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";

fn validate_validating(binding: &Value) -> ErrorList {
    let mut errors = validate(binding);
    let path = Path::new("spec").child("validationActions");
    validate_actions(&binding["spec"]["validationActions"], &path, &mut errors);
    errors
}

fn validate_mutating(binding: &Value) -> ErrorList {
    let mut errors = validate(binding);
    let path = Path::new("spec").child("matchResources");
    policy_match::validate_mutable(&binding["spec"]["matchResources"], &path, &mut errors);
    errors
}

fn validate(binding: &Value) -> ErrorList {
    let mut errors = meta::validate_general(binding, false, meta::subdomain);
    let (spec, path) = (&binding["spec"], Path::new("spec"));
    match spec["policyName"].text() {
        "" => errors.push(field::required(&path.child("policyName"), "")),
        name => checks::dns_subdomain(name, &path.child("policyName"), &mut errors),
    }
    policy_match::validate_params(&spec["paramRef"], &path.child("paramRef"), &mut errors);
    if spec["matchResources"].is_set() {
        let path = path.child("matchResources");
        policy_match::validate(&spec["matchResources"], &path, &mut errors);
    }
    errors
}

fn validate_actions(actions: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, action) in actions.items().iter().enumerate() {
        let known = ["Audit", "Deny", "Warn"];
        checks::one_of_if_set(action, &known, &path.index(i), errors);
        if !seen.insert(action.text()) {
            errors.push(field::duplicate(&path.index(i), action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        errors.push(field::invalid(path, actions, TWICE));
    }
    if seen.is_empty() {
        let message = "at least one validation action is required";
        errors.push(field::required(path, message));
    }
}
