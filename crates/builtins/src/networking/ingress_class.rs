//! Ingress classes.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names, validate_domain_prefixed_path},
};
use serde_json::Value;

use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

const MAX_CONTROLLER: usize = 250;

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    validate_create,
    validate_update,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.with("spec", |spec| {
        spec.with("parameters", |p| p.put_if_unset("scope", "Cluster"));
    });
}

fn validate_create(class: &Value) -> ErrorList {
    let mut errors = meta::validate(class, false, meta::subdomain);
    let (spec, path) = (&class["spec"], Path::new("spec"));
    let controller = spec["controller"].text();
    let controller_path = path.child("controller");
    if controller.len() > MAX_CONTROLLER {
        errors.push(field::too_long(&controller_path, MAX_CONTROLLER));
    }
    errors.extend(validate_domain_prefixed_path(controller, &controller_path));
    if spec["parameters"].is_set() {
        validate_parameters(&spec["parameters"], &path.child("parameters"), &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    let path = Path::new("spec").child("controller");
    let (after, before) = (&new["spec"]["controller"], &old["spec"]["controller"]);
    checks::immutable(after, before, &path, &mut errors);
    errors.extend(validate_create(new));
    errors
}

fn validate_parameters(parameters: &Value, path: &Path, errors: &mut ErrorList) {
    if parameters["apiGroup"].is_set() {
        checks::dns_subdomain(
            parameters["apiGroup"].text(),
            &path.child("apiGroup"),
            errors,
        );
    }
    for name in ["kind", "name"] {
        match parameters[name].text() {
            "" => errors.push(field::required(&path.child(name), "")),
            text => {
                let found = names::is_path_segment_name(text);
                checks::messages(text, found, &path.child(name), errors);
            }
        }
    }
    let (scope, namespace) = (&parameters["scope"], &parameters["namespace"]);
    let namespace_path = path.child("namespace");
    match scope.text() {
        "Namespace" if !namespace.is_set() => {
            errors.push(field::required(
                &namespace_path,
                "`parameters.scope` is set to 'Namespace'",
            ));
        }
        "Namespace" => {
            let found = names::name_is_dns_label(namespace.text(), NameForm::Whole);
            checks::messages(namespace.text(), found, &namespace_path, errors);
        }
        "Cluster" if namespace.is_set() => {
            errors.push(field::forbidden(
                &namespace_path,
                "`parameters.scope` is set to 'Cluster'",
            ));
        }
        _ => checks::one_of(
            scope,
            &["Cluster", "Namespace"],
            &path.child("scope"),
            errors,
        ),
    }
}
