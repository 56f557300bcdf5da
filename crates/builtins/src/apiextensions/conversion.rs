//! Validates `spec.conversion`.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use super::spec::{enumerated, is_established};
use crate::json::Read;

/// Validates `spec.conversion`.
pub(super) fn validate(
    conversion: &Value,
    preserves: bool,
    old: Option<&Value>,
    path: &Path,
    errors: &mut ErrorList,
) {
    if !conversion.is_set() {
        return;
    }
    let strategy = conversion["strategy"].text();
    let at = path.child("strategy");
    if strategy != "None" && preserves {
        let message = "must be None if spec.preserveUnknownFields is true";
        errors.push(field::invalid_str(&at, strategy, message));
    }
    enumerated(strategy, &["None", "Webhook"], &at, errors);
    let webhook = &conversion["webhook"];
    let (client, versions) = (
        &webhook["clientConfig"],
        &webhook["conversionReviewVersions"],
    );
    let client_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let message = "should not be set when strategy is not set to Webhook";
        if client.is_set() {
            errors.push(field::forbidden(&client_path, message));
        }
        if !versions.items().is_empty() {
            errors.push(field::forbidden(&versions_path, message));
        }
        return;
    }
    if client.is_set() {
        validate_client(client, old, &client_path, errors);
    } else {
        errors.push(field::required(
            &client_path,
            "required when strategy is set to Webhook",
        ));
    }
    let before = old.map(|old| &old["spec"]["conversion"]["webhook"]["conversionReviewVersions"]);
    let lax = before.is_some_and(|v| !v.items().is_empty() && !v.items().iter().any(is_understood));
    validate_versions(versions, !lax, &versions_path, errors);
}

fn is_understood(version: &Value) -> bool {
    matches!(version.text(), "v1" | "v1beta1")
}

fn validate_client(client: &Value, old: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    match (client["url"].as_str(), &client["service"]) {
        (Some(url), Value::Null) => validate_url(url, &path.child("url"), errors),
        (None, service) if service.is_set() => {
            validate_service(service, &path.child("service"), errors);
        }
        _ => {
            let message = "exactly one of url or service is required";
            errors.push(field::required(path, message));
        }
    }
    let bundle = client["caBundle"].text();
    let established = old.is_some_and(is_established);
    let was_wrong = old.is_some_and(|old| {
        let before = old["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].text();
        !before.is_empty() && !is_bundle(before)
    });
    if !bundle.is_empty() && established && !was_wrong && !is_bundle(bundle) {
        let message = "unable to load root certificates: unable to parse bytes as PEM block";
        let value = json!(bundle);
        errors.push(field::invalid(&path.child("caBundle"), &value, message));
    }
}

fn is_bundle(text: &str) -> bool {
    let decoded = STANDARD.decode(text).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    text.trim().is_empty()
        || (text.contains("-----BEGIN CERTIFICATE-----")
            && text.contains("-----END CERTIFICATE-----"))
}

fn validate_url(url: &str, path: &Path, errors: &mut ErrorList) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if !scheme.contains('/') => (scheme, rest),
        _ => ("", rest),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest
        .strip_prefix("//")
        .map_or("", |r| r.split('/').next().unwrap_or_default());
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !scheme.eq_ignore_ascii_case("https") {
        let message = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(field::invalid_str(path, scheme, message));
    }
    if host.is_empty() {
        errors.push(field::invalid_str(
            path,
            "",
            format!("host must be specified{FORM}"),
        ));
    }
    let parts = [
        (user, "user information is"),
        (fragment, "fragments are"),
        (query, "query parameters are"),
    ];
    for (part, what) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
        let message = format!("{what} not permitted in the URL");
        errors.push(field::invalid_str(path, part, message));
    }
}

fn validate_service(service: &Value, path: &Path, errors: &mut ErrorList) {
    // The two fields are swapped in the real server.
    for (missing, given) in [("name", "namespace"), ("namespace", "name")] {
        if service[given].text().is_empty() {
            errors.push(field::required(&path.child(missing), ""));
        }
    }
    let found = names::is_port_number(service["port"].int());
    if !found.is_empty() {
        let message = format!("port is not valid: {}", found.join(", "));
        errors.push(field::invalid(
            &path.child("port"),
            &service["port"],
            message,
        ));
    }
    let (text, path) = (service["path"].text(), path.child("path"));
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        errors.push(field::invalid_str(
            &path,
            text,
            "segment[0] may not be empty",
        ));
        return;
    }
    if !text.starts_with('/') {
        errors.push(field::invalid_str(&path, text, "must start with a '/'"));
    }
    let mut chars = text.chars();
    chars.next();
    let checked = chars.as_str();
    let checked = checked.strip_suffix('/').unwrap_or(checked);
    for (i, step) in checked.split('/').enumerate() {
        if step.is_empty() {
            let message = format!("segment[{i}] may not be empty");
            errors.push(field::invalid_str(&path, text, message));
            continue;
        }
        for message in names::is_dns1123_subdomain(step) {
            let message = format!("segment[{i}]: {message}");
            errors.push(field::invalid_str(&path, text, message));
        }
    }
}

fn validate_versions(versions: &Value, strict: bool, path: &Path, errors: &mut ErrorList) {
    let all = versions.items();
    if all.is_empty() {
        errors.push(field::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    for (i, version) in all.iter().enumerate() {
        let path = path.index(i);
        if !seen.insert(version.text()) {
            errors.push(field::invalid(&path, version, "duplicate version"));
            continue;
        }
        for message in names::is_dns1035_label(version.text()) {
            errors.push(field::invalid(&path, version, message));
        }
    }
    if strict && !all.iter().any(is_understood) {
        let message = "must include at least one of v1, v1beta1";
        errors.push(field::invalid(path, versions, message));
    }
}
