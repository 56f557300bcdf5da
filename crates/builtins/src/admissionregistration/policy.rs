//! Validating and mutating admission policies.

use std::collections::BTreeSet;

use kubewright_cel::{AdmissionEnv, Type};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use super::{
    expression, policy_match,
    rule::{self, MatchConditions},
    webhook_configuration::default_rule,
};
use crate::{
    KindRules, checks, conditions, general,
    json::{Read, Write},
    meta,
};

pub(crate) static VALIDATING_RULES: KindRules = KindRules {
    default: |policy| {
        default_spec(policy.field("spec"));
    },
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create: |policy| validate_validating(policy, MatchConditions::Check),
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_validating(new, match_conditions(new, old)));
        errors
    },
    validate_status_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        let path = Path::new("status").child("conditions");
        conditions::validate(&new["status"]["conditions"], &path, &mut errors);
        errors
    },
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    validation_is_slow: true,
    ..KindRules::GENERAL
};

pub(crate) static MUTATING_RULES: KindRules = KindRules {
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    validate_create: |policy| validate_mutating(policy, MatchConditions::Check),
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_mutating(new, match_conditions(new, old)));
        errors
    },
    validate_status_update: general::validate_update,
    reset_fields: &[],
    reset_fields_status: &[],
    ..VALIDATING_RULES
};

const NOTHING_TO_DO: &str = "validations or auditAnnotations must contain at least one item";
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MAX_ANNOTATIONS: usize = 20;
const MAX_ANNOTATION_EXPRESSION: usize = 5 * 1024;

/// Sets the defaults of the resources that a policy or a binding matches.
pub(crate) fn default_match(resources: &mut Value) {
    resources.put_if_unset("matchPolicy", "Equivalent");
    resources.put_if_unset("namespaceSelector", json!({}));
    resources.put_if_unset("objectSelector", json!({}));
    resources.each("resourceRules", default_rule);
    resources.each("excludeResourceRules", default_rule);
}

fn default_spec(spec: &mut Value) {
    spec.put_if_unset("failurePolicy", "Fail");
    spec.with("matchConstraints", default_match);
}

fn match_conditions(new: &Value, old: &Value) -> MatchConditions {
    let conditions = |policy: &'_ Value| policy["spec"]["matchConditions"].clone();
    MatchConditions::of_update(&conditions(new), &conditions(old))
}

/// Returns the environment of a policy's expressions, without its variables.
fn environment(spec: &Value) -> AdmissionEnv {
    match spec["paramKind"].is_set() {
        true => AdmissionEnv::new().params(),
        false => AdmissionEnv::new(),
    }
}

fn validate_validating(policy: &Value, conditions: MatchConditions) -> ErrorList {
    let mut errors = meta::validate_general(policy, false, meta::subdomain);
    let (spec, path) = (&policy["spec"], Path::new("spec"));
    validate_matching(spec, &path, Policy::Validating, conditions, &mut errors);
    let mut env = environment(spec).authorizer();
    let at = path.child("variables");
    validate_variables(&spec["variables"], &mut env, &at, &mut errors);
    let (validations, annotations) = (&spec["validations"], &spec["auditAnnotations"]);
    if validations.items().is_empty() && annotations.items().is_empty() {
        for name in ["validations", "auditAnnotations"] {
            errors.push(field::required(&path.child(name), NOTHING_TO_DO));
        }
        return errors;
    }
    for (i, validation) in validations.items().iter().enumerate() {
        let path = path.child("validations").index(i);
        validate_validation(validation, &env, &path, &mut errors);
    }
    let name = policy["metadata"]["name"].text();
    validate_annotations(
        annotations,
        name,
        &env,
        &path.child("auditAnnotations"),
        &mut errors,
    );
    errors
}

fn validate_mutating(policy: &Value, conditions: MatchConditions) -> ErrorList {
    let mut errors = meta::validate_general(policy, false, meta::subdomain);
    let (spec, path) = (&policy["spec"], Path::new("spec"));
    validate_matching(spec, &path, Policy::Mutating, conditions, &mut errors);
    let mut env = environment(spec).authorizer().variables();
    let at = path.child("variables");
    validate_variables(&spec["variables"], &mut env, &at, &mut errors);
    let env = env.patch_types();
    let mutations = spec["mutations"].items();
    if mutations.is_empty() {
        let message = "mutations must contain at least one item";
        errors.push(field::required(&path.child("mutations"), message));
    }
    for (i, mutation) in mutations.iter().enumerate() {
        let path = path.child("mutations").index(i);
        validate_mutation(mutation, &env, &path, &mut errors);
    }
    let policy = "reinvocationPolicy";
    checks::one_of(
        &spec[policy],
        &["IfNeeded", "Never"],
        &path.child(policy),
        &mut errors,
    );
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Validating,
    Mutating,
}

/// Validates what both kinds of policies have, up to their variables.
fn validate_matching(
    spec: &Value,
    path: &Path,
    policy: Policy,
    conditions: MatchConditions,
    errors: &mut ErrorList,
) {
    let mutating = policy == Policy::Mutating;
    let policy = "failurePolicy";
    checks::one_of(
        &spec[policy],
        &["Fail", "Ignore"],
        &path.child(policy),
        errors,
    );
    if spec["paramKind"].is_set() {
        validate_param_kind(&spec["paramKind"], &path.child("paramKind"), errors);
    }
    let (constraints, at) = (&spec["matchConstraints"], path.child("matchConstraints"));
    if constraints.is_set() {
        policy_match::validate(constraints, &at, errors);
        checks::required(
            &constraints["resourceRules"],
            &at.child("resourceRules"),
            errors,
        );
        if mutating {
            policy_match::validate_mutable(constraints, &at, errors);
        }
    } else {
        errors.push(field::required(&at, ""));
    }
    if conditions == MatchConditions::Check {
        rule::validate_match_conditions(
            &spec["matchConditions"],
            &environment(spec).authorizer(),
            &path.child("matchConditions"),
            errors,
        );
    }
}

fn validate_param_kind(param: &Value, path: &Path, errors: &mut ErrorList) {
    let (version, at) = (param["apiVersion"].text(), path.child("apiVersion"));
    match version.split('/').collect::<Vec<_>>().as_slice() {
        [""] => errors.push(field::required(&at, "")),
        [only] => validate_version(only, version, &at, errors),
        [group, only] => {
            let found = names::is_dns1123_subdomain(group);
            if !group.is_empty() && !found.is_empty() {
                errors.push(field::invalid_str(&at, group, found.join(",")));
            }
            validate_version(only, version, &at, errors);
        }
        _ => {
            let message = format!("unexpected GroupVersion string: {version}");
            errors.push(field::invalid_str(&at, version, message));
        }
    }
    let (kind, at) = (param["kind"].text(), path.child("kind"));
    let found = names::is_dns1035_label(&kind.to_lowercase());
    if kind.is_empty() {
        errors.push(field::required(&at, ""));
    } else if !found.is_empty() {
        let message = format!(
            "may have mixed case, but should otherwise match: {}",
            found.join(",")
        );
        errors.push(field::invalid_str(&at, kind, message));
    }
}

fn validate_version(version: &str, whole: &str, path: &Path, errors: &mut ErrorList) {
    let found = names::is_dns1035_label(version);
    if version.is_empty() {
        errors.push(field::invalid_str(path, whole, "version must be specified"));
    } else if !found.is_empty() {
        errors.push(field::invalid_str(path, version, found.join(",")));
    }
}

fn validate_variables(
    variables: &Value,
    env: &mut AdmissionEnv,
    path: &Path,
    errors: &mut ErrorList,
) {
    for (i, variable) in variables.items().iter().enumerate() {
        let path = path.index(i);
        let (name, at) = (variable["name"].text(), path.child("name"));
        if name.trim().is_empty() {
            errors.push(field::required(&at, "name is not specified"));
        } else if !is_identifier(name) {
            let message = "must be a valid CEL identifier";
            errors.push(field::invalid_str(&at, name, message));
        }
        let (text, at) = (variable["expression"].text(), path.child("expression"));
        if is_specified(text, &at, "expression is not specified", errors)
            && let Err(error) = env.add_variable(name, text)
        {
            errors.push(expression::rejected(error, text, &at));
        }
    }
}

/// Reports whether there is an expression; adds an error if not.
fn is_specified(text: &str, path: &Path, missing: &str, errors: &mut ErrorList) -> bool {
    let specified = !text.trim().is_empty();
    if !specified {
        errors.push(field::required(path, missing));
    }
    specified
}

fn is_identifier(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(word)
        && !kubewright_cel::is_reserved(name)
}

fn validate_validation(
    validation: &Value,
    env: &AdmissionEnv,
    path: &Path,
    errors: &mut ErrorList,
) {
    let (text, at) = (validation["expression"].text(), path.child("expression"));
    if is_specified(text, &at, "expression is not specified", errors) {
        expression::report(env.compile(text, &[Type::Bool]), text, &at, errors);
    }
    for name in ["messageExpression", "message"] {
        let text = validation[name].text();
        if !text.is_empty() && text.trim().is_empty() {
            let message = "must be non-empty if specified";
            errors.push(field::invalid_str(&path.child(name), text, message));
        } else if name == "messageExpression" && !text.is_empty() {
            let compiled = env.without_authorizer().compile(text, &[Type::String]);
            expression::report(compiled, text, &path.child(name), errors);
        } else if name == "message" && text.trim().contains(['\n', '\r']) {
            let message = "must not contain line breaks";
            errors.push(field::invalid_str(&path.child(name), text, message));
        }
    }
    checks::one_of_if_set(
        &validation["reason"],
        &REASONS,
        &path.child("reason"),
        errors,
    );
}

fn validate_annotations(
    annotations: &Value,
    name: &str,
    env: &AdmissionEnv,
    path: &Path,
    errors: &mut ErrorList,
) {
    let list = annotations.items();
    if list.len() > MAX_ANNOTATIONS {
        let message = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
        errors.push(field::invalid(path, annotations, message));
    }
    let mut seen = BTreeSet::new();
    for (i, annotation) in list.iter().enumerate() {
        let path = path.index(i);
        let (key, at) = (annotation["key"].text(), path.child("key"));
        match name {
            "" => {
                let message = "requires metadata.name be non-empty";
                errors.push(field::invalid_str(&at, key, message));
            }
            name => checks::qualified_name(&format!("{name}/{key}"), &at, errors),
        }
        let (text, value_path) = (
            annotation["valueExpression"].text(),
            path.child("valueExpression"),
        );
        if text.trim().len() > MAX_ANNOTATION_EXPRESSION {
            let message = format!("must not exceed {MAX_ANNOTATION_EXPRESSION} bytes in length");
            errors.push(field::required(&value_path, message));
        } else if is_specified(
            text,
            &value_path,
            "valueExpression is not specified",
            errors,
        ) {
            let compiled = env.compile(text.trim(), &[Type::String, Type::Null]);
            expression::report(compiled, text, &value_path, errors);
        }
        if !seen.insert(key) {
            errors.push(field::duplicate(&at, &annotation["key"]));
        }
    }
}

/// Validates a mutation, which is described by the field of its type and by no other.
fn validate_mutation(mutation: &Value, env: &AdmissionEnv, path: &Path, errors: &mut ErrorList) {
    let kinds = [
        ("JSONPatch", "jsonPatch"),
        ("ApplyConfiguration", "applyConfiguration"),
    ];
    let kind = mutation["patchType"].text();
    if !kinds.iter().any(|(of, _)| *of == kind) {
        let known = ["ApplyConfiguration", "JSONPatch"];
        checks::one_of(
            &mutation["patchType"],
            &known,
            &path.child("patchType"),
            errors,
        );
        return;
    }
    for (_, name) in kinds.iter().filter(|(of, _)| *of == kind) {
        let (patch, at) = (&mutation[*name], path.child(name));
        if !patch.is_set() {
            let message = format!("must be specified when patchType is {kind}");
            errors.push(field::required(&at, message));
            continue;
        }
        let (text, at) = (patch["expression"].text().trim(), at.child("expression"));
        if is_specified(text, &at, "", errors) {
            let wanted = match kind {
                "JSONPatch" => Type::list(Type::object("JSONPatch")),
                _ => Type::object("Object"),
            };
            expression::report(env.compile(text, &[wanted]), text, &at, errors);
        }
    }
    for (_, name) in kinds.iter().filter(|(of, _)| *of != kind) {
        if mutation[*name].is_set() {
            let message = format!("must not be specified when patchType is {kind}");
            let shown = format!("{{{name}}}");
            errors.push(field::invalid_str(&path.child(name), &shown, message));
        }
    }
}
