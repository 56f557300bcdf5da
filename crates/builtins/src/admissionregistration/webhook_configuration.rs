//! Mutating and validating webhook configurations.

use std::collections::BTreeSet;

use kubewright_cel::AdmissionEnv;
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use super::rule::{self, MatchConditions};
use crate::{
    KindRules, checks, general,
    json::{Read, Write, same},
    meta,
};

pub(crate) static VALIDATING_RULES: KindRules = KindRules {
    default: |config| config.each("webhooks", default_webhook),
    prepare_create: general::start_generation,
    prepare_update,
    validate_create: |config| validate(config, MatchConditions::Check),
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate(new, match_conditions(new, old)));
        errors
    },
    allow_unconditional_update: false,
    validation_is_slow: true,
    ..KindRules::GENERAL
};

pub(crate) static MUTATING_RULES: KindRules = KindRules {
    default: |config| {
        config.each("webhooks", |webhook| {
            default_webhook(webhook);
            webhook.put_if_unset("reinvocationPolicy", "Never");
        });
    },
    ..VALIDATING_RULES
};

/// Sets the defaults of a rule that selects requests.
pub(crate) fn default_rule(rule: &mut Value) {
    rule.put_if_unset("scope", "*");
}

fn default_webhook(webhook: &mut Value) {
    webhook.put_if_unset("failurePolicy", "Fail");
    webhook.put_if_unset("matchPolicy", "Equivalent");
    webhook.put_if_unset("namespaceSelector", json!({}));
    webhook.put_if_unset("objectSelector", json!({}));
    webhook.put_if_unset("timeoutSeconds", 10);
    webhook.with("clientConfig", |c| {
        c.with("service", |s| s.put_if_unset("port", 443))
    });
    webhook.each("rules", default_rule);
}

fn prepare_update(new: &mut Value, old: &Value) {
    if !same(&new["webhooks"], &old["webhooks"]) {
        general::next_generation(new, old);
    }
}

/// Compares match conditions, which are validated again unless every webhook has the ones it had.
fn match_conditions(new: &Value, old: &Value) -> MatchConditions {
    let conditions = |config: &Value| -> Value {
        let webhooks = config["webhooks"].items().iter();
        webhooks
            .map(|webhook| webhook["matchConditions"].clone())
            .collect()
    };
    MatchConditions::of_update(&conditions(new), &conditions(old))
}

fn validate(config: &Value, conditions: MatchConditions) -> ErrorList {
    let mut errors = meta::validate_general(config, false, meta::subdomain);
    let mut seen = BTreeSet::new();
    for (i, webhook) in config["webhooks"].items().iter().enumerate() {
        let path = Path::new("webhooks").index(i);
        validate_webhook(webhook, conditions, &path, &mut errors);
        let versions = &webhook["admissionReviewVersions"];
        validate_versions(
            versions,
            &path.child("admissionReviewVersions"),
            &mut errors,
        );
        let name = webhook["name"].text();
        if !name.is_empty() && !seen.insert(name) {
            errors.push(field::duplicate(&path.child("name"), &webhook["name"]));
        }
    }
    errors
}

fn validate_webhook(
    webhook: &Value,
    conditions: MatchConditions,
    path: &Path,
    errors: &mut ErrorList,
) {
    validate_name(webhook["name"].text(), &path.child("name"), errors);
    for (i, item) in webhook["rules"].items().iter().enumerate() {
        rule::validate(item, &path.child("rules").index(i), errors);
    }
    let policy = "failurePolicy";
    checks::one_of_if_set(
        &webhook[policy],
        &["Fail", "Ignore"],
        &path.child(policy),
        errors,
    );
    let policy = "matchPolicy";
    checks::one_of_if_set(
        &webhook[policy],
        &["Equivalent", "Exact"],
        &path.child(policy),
        errors,
    );
    let effects_path = path.child("sideEffects");
    match webhook["sideEffects"].is_set() {
        true => {
            let known = ["None", "NoneOnDryRun"];
            checks::one_of_if_set(&webhook["sideEffects"], &known, &effects_path, errors);
        }
        false => errors.push(field::required(
            &effects_path,
            "must specify one of None, NoneOnDryRun",
        )),
    }
    let timeout = &webhook["timeoutSeconds"];
    if timeout.is_set() && !(1..=30).contains(&timeout.int()) {
        let message = "the timeout value must be between 1 and 30 seconds";
        errors.push(field::invalid(
            &path.child("timeoutSeconds"),
            timeout,
            message,
        ));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        checks::selector(&webhook[selector], &path.child(selector), errors);
    }
    let policy = "reinvocationPolicy";
    checks::one_of_if_set(
        &webhook[policy],
        &["IfNeeded", "Never"],
        &path.child(policy),
        errors,
    );
    validate_client(
        &webhook["clientConfig"],
        &path.child("clientConfig"),
        errors,
    );
    if conditions == MatchConditions::Check {
        rule::validate_match_conditions(
            &webhook["matchConditions"],
            &AdmissionEnv::new().authorizer(),
            &path.child("matchConditions"),
            errors,
        );
    }
}

/// Validates a domain with at least three segments.
fn validate_name(name: &str, path: &Path, errors: &mut ErrorList) {
    let found = names::is_dns1123_subdomain(name);
    if name.is_empty() {
        errors.push(field::required(path, ""));
    } else if !found.is_empty() {
        errors.push(field::invalid_str(path, name, found.join(",")));
    } else if name.split('.').count() < 3 {
        let message = "should be a domain with at least three segments separated by dots";
        errors.push(field::invalid_str(path, name, message));
    }
}

/// The two fields are swapped, as in the real server.
fn validate_client(client: &Value, path: &Path, errors: &mut ErrorList) {
    let (url, service) = (&client["url"], &client["service"]);
    if url.is_set() == service.is_set() {
        errors.push(field::required(
            path,
            "exactly one of url or service is required",
        ));
        return;
    }
    if url.is_set() {
        validate_url(url.text(), &path.child("url"), errors);
        return;
    }
    let path = path.child("service");
    checks::required(&service["namespace"], &path.child("name"), errors);
    checks::required(&service["name"], &path.child("namespace"), errors);
    let found = names::is_port_number(service["port"].int());
    if !found.is_empty() {
        let message = format!("port is not valid: {}", found.join(", "));
        errors.push(field::invalid(
            &path.child("port"),
            &service["port"],
            message,
        ));
    }
    let text = service["path"].text();
    if text.is_empty() || text == "/" {
        return;
    }
    let path = path.child("path");
    if !text.starts_with('/') {
        errors.push(field::invalid_str(&path, text, "must start with a '/'"));
    }
    let steps = text.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (i, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            errors.push(field::invalid_str(
                &path,
                text,
                format!("segment[{i}] may not be empty"),
            ));
            continue;
        }
        for message in names::is_dns1123_subdomain(step) {
            errors.push(field::invalid_str(
                &path,
                text,
                format!("segment[{i}]: {message}"),
            ));
        }
    }
}

fn validate_url(url: &str, path: &Path, errors: &mut ErrorList) {
    let Some(rest) = url.strip_prefix("https://") else {
        let message = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        errors.push(field::invalid_str(
            path,
            url.split(':').next().unwrap_or_default(),
            message,
        ));
        return;
    };
    if rest.split('/').next().unwrap_or_default().is_empty() {
        let message = "host must be specified; desired format: https://host[/path]";
        errors.push(field::invalid_str(path, "", message));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = rest.split('/').next().unwrap_or_default();
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    for (part, what) in [
        (user, "user information is"),
        (fragment, "fragments are"),
        (query, "query parameters are"),
    ] {
        if !part.is_empty() {
            let message = format!("{what} not permitted in the URL");
            errors.push(field::invalid_str(path, part, message));
        }
    }
}

fn validate_versions(versions: &Value, path: &Path, errors: &mut ErrorList) {
    let list = versions.items();
    if list.is_empty() {
        errors.push(field::required(path, "must specify one of v1, v1beta1"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, version) in list.iter().enumerate() {
        let (text, path) = (version.text(), path.index(i));
        if !seen.insert(text) {
            errors.push(field::invalid_str(&path, text, "duplicate version"));
            continue;
        }
        checks::messages(text, names::is_dns1035_label(text), &path, errors);
    }
    if !list.iter().any(|v| v == "v1" || v == "v1beta1") {
        errors.push(field::invalid(
            path,
            versions,
            "must include at least one of v1, v1beta1",
        ));
    }
}
