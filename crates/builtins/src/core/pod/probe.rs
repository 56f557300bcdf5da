//! Probes, lifecycle hooks and the handlers inside them.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use crate::{checks, json::Read};

const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Checks the three probes of a container; `grace` is the pod's termination grace period.
pub(super) fn validate_probes(
    container: &Value,
    grace: &Value,
    path: &Path,
    errors: &mut ErrorList,
) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = &container[name];
        if probe.is_set() {
            validate_probe(
                probe,
                name == "readinessProbe",
                grace,
                &path.child(name),
                errors,
            );
        }
    }
}

/// Checks the hooks of a container.
pub(super) fn validate_lifecycle(
    lifecycle: &Value,
    grace: &Value,
    os: &Value,
    path: &Path,
    errors: &mut ErrorList,
) {
    for hook in ["postStart", "preStop"] {
        if lifecycle[hook].is_set() {
            validate_handler(&lifecycle[hook], grace, &path.child(hook), errors);
        }
    }
    if lifecycle["stopSignal"].is_set() && !os.is_set() {
        let path = path.child("stopSignal");
        errors.push(field::forbidden(
            &path,
            "may not be set for containers with empty `spec.os.name`",
        ));
    }
}

fn validate_probe(
    probe: &Value,
    readiness: bool,
    grace: &Value,
    path: &Path,
    errors: &mut ErrorList,
) {
    validate_handler(probe, grace, path, errors);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        checks::non_negative(&probe[field], &path.child(field), errors);
    }
    let period = &probe["terminationGracePeriodSeconds"];
    let period_path = path.child("terminationGracePeriodSeconds");
    if period.is_set() && period.int() <= 0 {
        errors.push(field::invalid(
            &period_path,
            period,
            "must be greater than 0",
        ));
    }
    if readiness {
        if period.is_set() {
            errors.push(field::invalid(
                &period_path,
                period,
                "must not be set for readinessProbes",
            ));
        }
    } else if probe["successThreshold"].int() != 1 {
        let path = path.child("successThreshold");
        errors.push(field::invalid(
            &path,
            &probe["successThreshold"],
            "must be 1",
        ));
    }
}

fn validate_handler(handler: &Value, grace: &Value, path: &Path, errors: &mut ErrorList) {
    let mut count = 0;
    for name in HANDLERS {
        let action = &handler[name];
        if !action.is_set() {
            continue;
        }
        let path = path.child(name);
        count += 1;
        if count > 1 {
            errors.push(field::forbidden(
                &path,
                "may not specify more than 1 handler type",
            ));
            continue;
        }
        match name {
            "exec" => checks::required(&action["command"], &path.child("command"), errors),
            "httpGet" => validate_http_get(action, &path, errors),
            "sleep" => validate_sleep(action, grace, &path, errors),
            _ => checks::port_or_name(&action["port"], &path.child("port"), errors),
        }
    }
    if count == 0 {
        errors.push(field::required(path, "must specify a handler type"));
    }
}

fn validate_http_get(action: &Value, path: &Path, errors: &mut ErrorList) {
    checks::required(&action["path"], &path.child("path"), errors);
    checks::port_or_name(&action["port"], &path.child("port"), errors);
    if !matches!(action["scheme"].text(), "HTTP" | "HTTPS") {
        let scheme = action["scheme"].text();
        errors.push(field::not_supported(
            &path.child("scheme"),
            scheme,
            &["HTTP", "HTTPS"],
        ));
    }
    for header in action["httpHeaders"].items() {
        let name = header["name"].text();
        checks::messages(
            name,
            names::is_http_header_name(name),
            &path.child("httpHeaders"),
            errors,
        );
    }
}

fn validate_sleep(action: &Value, grace: &Value, path: &Path, errors: &mut ErrorList) {
    let seconds = action["seconds"].int();
    if grace.is_set() && !(0..=grace.int()).contains(&seconds) {
        let message =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.push(field::invalid(path, &seconds.into(), message));
    }
}
