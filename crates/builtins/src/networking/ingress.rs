//! Ingresses.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use crate::{KindRules, address, checks, general, json::Read, meta};

const BAD_SEQUENCES: [&str; 6] = ["//", "/./", "/../", "%2f", "%2F", "%5c"];
const BAD_SUFFIXES: [&str; 2] = ["/..", "/."];
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn warnings_on_create(ingress: &Value) -> Vec<String> {
    let annotated = ingress["metadata"]["annotations"][CLASS_ANNOTATION].is_set();
    if annotated && !ingress["spec"]["ingressClassName"].is_set() {
        return vec![format!(
            "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        )];
    }
    Vec::new()
}

fn validate_create(ingress: &Value) -> ErrorList {
    let mut errors = validate(ingress);
    let (class, old_way) = (
        &ingress["spec"]["ingressClassName"],
        &ingress["metadata"]["annotations"][CLASS_ANNOTATION],
    );
    if class.is_set() && old_way.is_set() && class != old_way {
        let path = Path::new("annotations").child(CLASS_ANNOTATION);
        let message = "must match `ingressClassName` when both are specified";
        errors.push(field::invalid(&path, old_way, message));
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(validate(new));
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    let before = old["status"]["loadBalancer"]["ingress"].items();
    let known: Vec<&str> = before.iter().map(|i| i["ip"].text()).collect();
    let path = Path::new("status").child("loadBalancer").child("ingress");
    for (i, item) in new["status"]["loadBalancer"]["ingress"]
        .items()
        .iter()
        .enumerate()
    {
        let path = path.index(i);
        if !item["ip"].is_blank() {
            checks::legacy_ip(item["ip"].text(), &known, &path.child("ip"), &mut errors);
        }
        let host = item["hostname"].text();
        if !host.is_empty() {
            checks::dns_subdomain(host, &path.child("hostname"), &mut errors);
            validate_not_address(host, &path.child("hostname"), &mut errors);
        }
    }
    errors
}

fn validate(ingress: &Value) -> ErrorList {
    let mut errors = meta::validate(ingress, true, meta::subdomain);
    let (spec, path) = (&ingress["spec"], Path::new("spec"));
    if spec["rules"].is_blank() && !spec["defaultBackend"].is_set() {
        let message = "either `defaultBackend` or `rules` must be specified";
        errors.push(field::invalid(&path, &spec["rules"], message));
    }
    if spec["defaultBackend"].is_set() {
        validate_backend(
            &spec["defaultBackend"],
            &path.child("defaultBackend"),
            &mut errors,
        );
    }
    for (i, rule) in spec["rules"].items().iter().enumerate() {
        validate_rule(rule, &path.child("rules").index(i), &mut errors);
    }
    for (i, tls) in spec["tls"].items().iter().enumerate() {
        let path = path.child("tls").index(i);
        for (j, host) in tls["hosts"].items().iter().enumerate() {
            validate_host(host.text(), &path.child("hosts").index(j), &mut errors);
        }
        let secret = tls["secretName"].text();
        if !secret.is_empty() {
            let found = names::name_is_dns_subdomain(secret, NameForm::Whole);
            checks::messages(secret, found, &path.child("secretName"), &mut errors);
        }
    }
    let class = &spec["ingressClassName"];
    if class.is_set() {
        let found = names::name_is_dns_subdomain(class.text(), NameForm::Whole);
        checks::messages(
            class.text(),
            found,
            &path.child("ingressClassName"),
            &mut errors,
        );
    }
    errors
}

fn validate_rule(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let host = rule["host"].text();
    if !host.is_empty() {
        validate_not_address(host, &path.child("host"), errors);
        validate_host(host, &path.child("host"), errors);
    }
    let http = &rule["http"];
    if !http.is_set() {
        return;
    }
    let path = path.child("http").child("paths");
    checks::required(&http["paths"], &path, errors);
    for (i, item) in http["paths"].items().iter().enumerate() {
        validate_path(item, &path.index(i), errors);
    }
}

fn validate_path(item: &Value, path: &Path, errors: &mut ErrorList) {
    let kind = &item["pathType"];
    if !kind.is_set() {
        errors.push(field::required(
            &path.child("pathType"),
            "pathType must be specified",
        ));
        return;
    }
    let text = item["path"].text();
    let text_path = path.child("path");
    let exact = matches!(kind.text(), "Exact" | "Prefix");
    if !exact && kind != "ImplementationSpecific" {
        let known = ["Exact", "ImplementationSpecific", "Prefix"];
        errors.push(field::not_supported(
            &path.child("pathType"),
            kind.text(),
            &known,
        ));
    } else if !text.starts_with('/') && (exact || !text.is_empty()) {
        errors.push(field::invalid_str(
            &text_path,
            text,
            "must be an absolute path",
        ));
    }
    if exact {
        for bad in BAD_SEQUENCES.iter().filter(|s| text.contains(**s)) {
            errors.push(field::invalid_str(
                &text_path,
                text,
                format!("must not contain '{bad}'"),
            ));
        }
        for bad in BAD_SUFFIXES.iter().filter(|s| text.ends_with(**s)) {
            errors.push(field::invalid_str(
                &text_path,
                text,
                format!("cannot end with '{bad}'"),
            ));
        }
    }
    validate_backend(&item["backend"], &path.child("backend"), errors);
}

fn validate_backend(backend: &Value, path: &Path, errors: &mut ErrorList) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_set(), resource.is_set()) {
        (true, true) => {
            let message = "cannot set both resource and service backends";
            errors.push(field::invalid_str(path, "", message));
        }
        (false, true) => validate_reference(resource, &path.child("resource"), errors),
        (true, false) => validate_service(service, path, errors),
        (false, false) => {
            errors.push(field::invalid_str(
                path,
                "",
                "resource or service backend is required",
            ));
        }
    }
}

fn validate_service(service: &Value, path: &Path, errors: &mut ErrorList) {
    let service_path = path.child("service");
    match service["name"].text() {
        "" => errors.push(field::required(&service_path.child("name"), "")),
        name => {
            let found = names::name_is_dns_label(name, NameForm::Whole);
            checks::messages(name, found, &service_path.child("name"), errors);
        }
    }
    let (name, number) = (
        service["port"]["name"].text(),
        service["port"]["number"].int(),
    );
    let port_path = service_path.child("port");
    match (name, number) {
        ("", 0) => errors.push(field::required(path, "port name or number is required")),
        ("", number) => checks::port(number, &port_path.child("number"), errors),
        (name, 0) => {
            checks::messages(
                name,
                names::is_port_name(name),
                &port_path.child("name"),
                errors,
            );
        }
        _ => errors.push(field::invalid_str(
            path,
            "",
            "cannot set both port name & port number",
        )),
    }
}

fn validate_reference(reference: &Value, path: &Path, errors: &mut ErrorList) {
    if reference["apiGroup"].is_set() {
        checks::dns_subdomain(
            reference["apiGroup"].text(),
            &path.child("apiGroup"),
            errors,
        );
    }
    for name in ["kind", "name"] {
        match reference[name].text() {
            "" => errors.push(field::required(&path.child(name), "")),
            text => {
                let found = names::is_path_segment_name(text);
                checks::messages(text, found, &path.child(name), errors);
            }
        }
    }
}

fn validate_host(host: &str, path: &Path, errors: &mut ErrorList) {
    let found = match host.contains('*') {
        true => names::is_wildcard_dns1123_subdomain(host),
        false => names::is_dns1123_subdomain(host),
    };
    checks::messages(host, found, path, errors);
}

fn validate_not_address(host: &str, path: &Path, errors: &mut ErrorList) {
    if address::parse(host).is_some() {
        errors.push(field::invalid_str(
            path,
            host,
            "must be a DNS name, not an IP address",
        ));
    }
}
