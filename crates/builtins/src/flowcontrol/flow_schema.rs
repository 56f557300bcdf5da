//! Flow schemas.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use super::validate_condition_types;
use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create: validate,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate(new));
        errors
    },
    validate_status_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        validate_condition_types(&new["status"], &mut errors);
        errors
    },
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

const MAX_PRECEDENCE: i64 = 10000;
/// The only schema that may have precedence 1.
const EXEMPT: &str = "exempt";
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
const NAMESPACE: &str = "each member of this list must be '*' or a DNS-1123 label; ";

fn default(schema: &mut Value) {
    schema
        .field("spec")
        .put_if_blank("matchingPrecedence", 1000);
}

fn validate(schema: &Value) -> ErrorList {
    let mut errors = meta::validate(schema, false, meta::subdomain);
    let (spec, path) = (&schema["spec"], Path::new("spec"));
    let name = schema["metadata"]["name"].text();
    validate_precedence(spec["matchingPrecedence"].int(), name, &path, &mut errors);
    let method = &spec["distinguisherMethod"];
    let known = ["ByNamespace", "ByUser"];
    if method.is_set() && !known.contains(&method["type"].text()) {
        let mut error = field::not_supported(
            &path.child("distinguisherMethod").child("type"),
            method["type"].text(),
            &known,
        );
        // The whole of it is shown, not the type alone.
        error.value = Some(format!("{{\"Type\":{}}}", method["type"]));
        errors.push(error);
    }
    let at = path.child("priorityLevelConfiguration").child("name");
    match spec["priorityLevelConfiguration"]["name"].text() {
        "" => errors.push(field::required(&at, "must reference a priority level")),
        level => checks::dns_subdomain(level, &at, &mut errors),
    }
    for (i, rule) in spec["rules"].items().iter().enumerate() {
        validate_rule(rule, &path.child("rules").index(i), &mut errors);
    }
    validate_condition_types(&schema["status"], &mut errors);
    errors
}

fn validate_precedence(precedence: i64, name: &str, path: &Path, errors: &mut ErrorList) {
    let path = path.child("matchingPrecedence");
    let mut refuse = |message: &str| {
        errors.push(field::invalid(&path, &precedence.into(), message));
    };
    if precedence <= 0 {
        refuse("must be a positive value");
    }
    if precedence > MAX_PRECEDENCE {
        refuse(&format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && name != EXEMPT {
        refuse("only the schema named 'exempt' may have matchingPrecedence 1");
    }
}

fn validate_rule(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let subjects = path.child("subjects");
    if rule["subjects"].items().is_empty() {
        let message = "subjects must contain at least one value";
        errors.push(field::required(&subjects, message));
    }
    for (i, subject) in rule["subjects"].items().iter().enumerate() {
        validate_subject(subject, &subjects.index(i), errors);
    }
    let (resources, others) = (&rule["resourceRules"], &rule["nonResourceRules"]);
    if resources.items().is_empty() && others.items().is_empty() {
        let message = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(field::required(path, message));
    }
    for (i, rule) in resources.items().iter().enumerate() {
        validate_resources(rule, &path.child("resourceRules").index(i), errors);
    }
    for (i, rule) in others.items().iter().enumerate() {
        validate_urls(rule, &path.child("nonResourceRules").index(i), errors);
    }
}

/// A subject is described by the field of its kind and by no other.
fn validate_subject(subject: &Value, path: &Path, errors: &mut ErrorList) {
    let known = ["Group", "ServiceAccount", "User"];
    let kind = subject["kind"].text();
    if !known.contains(&kind) {
        errors.push(field::not_supported(&path.child("kind"), kind, &known));
        return;
    }
    let fields = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    for (of, name) in fields {
        let at = path.child(name);
        if of == kind && !subject[name].is_set() {
            let message = format!("{name} is required when subject kind is '{of}'");
            errors.push(field::required(&at, message));
        } else if of == kind {
            validate_named(&subject[name], kind, &at, errors);
        }
    }
    for (of, name) in fields {
        if of != kind && subject[name].is_set() {
            let message = format!("{name} is forbidden when subject kind is not '{of}'");
            errors.push(field::forbidden(&path.child(name), message));
        }
    }
}

fn validate_named(subject: &Value, kind: &str, path: &Path, errors: &mut ErrorList) {
    let name = subject["name"].text();
    let at = path.child("name");
    checks::required(&subject["name"], &at, errors);
    if kind != "ServiceAccount" {
        return;
    }
    if !name.is_empty() && name != "*" {
        checks::dns_subdomain(name, &at, errors);
    }
    let at = path.child("namespace");
    match subject["namespace"].text() {
        "" => errors.push(field::required(
            &at,
            "must specify namespace for service account",
        )),
        namespace => checks::dns_label(namespace, &at, errors),
    }
}

fn has_wildcard(list: &Value) -> bool {
    list.items().iter().any(|v| v == "*")
}

/// Checks a list with at least one value, in which a wildcard must be the only one. Returns whether its items should be
/// checked.
fn validate_wildcards(
    list: &Value,
    path: &Path,
    (missing, others): (&str, &str),
    errors: &mut ErrorList,
) -> bool {
    if list.items().is_empty() {
        errors.push(field::required(path, missing));
        return false;
    }
    if has_wildcard(list) {
        if list.items().len() > 1 {
            let message = format!("if '*' is present, must not specify other {others}");
            errors.push(field::invalid(path, list, message));
        }
        return false;
    }
    true
}

fn validate_verbs(verbs: &Value, path: &Path, errors: &mut ErrorList) {
    let words = ("verbs must contain at least one value", "verbs");
    if validate_wildcards(verbs, path, words, errors)
        && !verbs.items().iter().all(|v| VERBS.contains(&v.text()))
    {
        let mut error = field::not_supported(path, "", &VERBS);
        error.value = Some(verbs.to_string());
        errors.push(error);
    }
}

fn validate_resources(rule: &Value, path: &Path, errors: &mut ErrorList) {
    validate_verbs(&rule["verbs"], &path.child("verbs"), errors);
    for (name, words) in [
        (
            "apiGroups",
            (
                "resource rules must supply at least one api group",
                "api groups",
            ),
        ),
        (
            "resources",
            (
                "resource rules must supply at least one resource",
                "resources",
            ),
        ),
    ] {
        validate_wildcards(&rule[name], &path.child(name), words, errors);
    }
    let (namespaces, at) = (&rule["namespaces"], path.child("namespaces"));
    if namespaces.items().is_empty() && rule["clusterScope"].flag() {
        return;
    }
    let missing = "resource rules that are not cluster scoped must supply at least one namespace";
    if validate_wildcards(namespaces, &at, (missing, "namespaces"), errors) {
        for (i, namespace) in namespaces.items().iter().enumerate() {
            let text = namespace.text();
            for message in names::is_dns1123_label(text) {
                let message = format!("{NAMESPACE}{message}");
                errors.push(field::invalid_str(&at.index(i), text, message));
            }
        }
    }
}

fn validate_urls(rule: &Value, path: &Path, errors: &mut ErrorList) {
    validate_verbs(&rule["verbs"], &path.child("verbs"), errors);
    let (urls, at) = (&rule["nonResourceURLs"], path.child("nonResourceURLs"));
    let words = (
        "nonResourceURLs must contain at least one value",
        "non-resource URLs",
    );
    if !validate_wildcards(urls, &at, words, errors) {
        return;
    }
    for (i, url) in urls.items().iter().enumerate() {
        if let Some(message) = url_problem(url.text()) {
            errors.push(field::invalid_str(&at.index(i), url.text(), message));
        }
    }
}

fn url_problem(url: &str) -> Option<&'static str> {
    let wildcards = url.matches('*').count();
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        url if !url.starts_with('/') => Some("must start with slash"),
        url if url.contains(' ') => Some("must not contain white-space"),
        url if url.contains("//") => Some("must not contain double slash"),
        url if wildcards > 1 || (wildcards == 1 && !url.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}
