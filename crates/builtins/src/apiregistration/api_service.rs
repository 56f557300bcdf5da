//! API services, which register the servers of groups and versions.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create,
    validate_update,
    allow_unconditional_update: false,
    status_has_table: false,
    reset_fields: &["status"],
    reset_fields_status: &["spec", "metadata"],
    ..KindRules::GENERAL
};

fn default(service: &mut Value) {
    service.with("spec", |spec| {
        spec.with("service", |s| s.put_if_unset("port", 443))
    });
}

/// A local API service is always available.
fn prepare_create(service: &mut Value) {
    general::drop_status(service);
    if service["spec"]["service"].is_set() {
        return;
    }
    let made = service["metadata"]["creationTimestamp"].clone();
    service.put(
        "status",
        json!({"conditions": [{
            "type": "Available",
            "status": "True",
            "lastTransitionTime": made,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }]}),
    );
}

fn validate_create(service: &Value) -> ErrorList {
    let mut errors = meta::validate(service, false, meta::path_name);
    let (spec, path) = (&service["spec"], Path::new("spec"));
    let (group, version) = (spec["group"].text(), spec["version"].text());
    let name = service["metadata"]["name"].text();
    let expected = format!("{version}.{group}");
    if !name.is_empty() && names::is_path_segment_name(name).is_empty() && name != expected {
        let path = Path::new("metadata").child("name");
        let message = format!("must be `spec.version+\".\"+spec.group`: \"{expected}\"");
        errors.insert(0, field::invalid_str(&path, name, message));
    }
    if group.is_empty() && version != "v1" {
        let message = "only v1 may have an empty group and it better be legacy kube";
        errors.push(field::required(&path.child("group"), message));
    }
    if !group.is_empty() {
        checks::dns_subdomain(group, &path.child("group"), &mut errors);
    }
    checks::messages(
        version,
        names::is_dns1035_label(version),
        &path.child("version"),
        &mut errors,
    );
    for (name, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let value = spec[name].int();
        if value <= 0 || value > most {
            let message = format!("must be positive and less than {most}");
            errors.push(field::invalid(&path.child(name), &value.into(), message));
        }
    }
    validate_target(spec, &path, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    errors.extend(validate_create(new));
    errors
}

fn validate_target(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let (service, insecure) = (&spec["service"], &spec["insecureSkipTLSVerify"]);
    let bundle = spec["caBundle"].text();
    if !service.is_set() {
        if !bundle.is_empty() {
            let size = bundle.trim_end_matches('=').len() * 3 / 4;
            let size = format!("{size} bytes");
            let message = "local APIServices may not have a caBundle";
            errors.push(field::invalid_str(&path.child("caBundle"), &size, message));
        }
        if insecure.flag() {
            let message = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(field::invalid(
                &path.child("insecureSkipTLSVerify"),
                insecure,
                message,
            ));
        }
        return;
    }
    let service_path = path.child("service");
    for name in ["namespace", "name"] {
        checks::required(&service[name], &service_path.child(name), errors);
    }
    let found = names::is_port_number(service["port"].int());
    if !found.is_empty() {
        let message = format!("port is not valid: {}", found.join(", "));
        errors.push(field::invalid(
            &service_path.child("port"),
            &service["port"],
            message,
        ));
    }
    if insecure.flag() && !bundle.is_empty() {
        let message = "may not be true if caBundle is present";
        errors.push(field::invalid(
            &path.child("insecureSkipTLSVerify"),
            insecure,
            message,
        ));
    }
}
