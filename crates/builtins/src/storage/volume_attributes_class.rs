//! Volume attributes classes.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::storage_class::{validate_parameters, validate_provisioner};
use crate::{KindRules, json::same, meta};

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn validate_create(class: &Value) -> ErrorList {
    let mut errors = meta::validate(class, false, meta::subdomain);
    validate_provisioner(&class["driverName"], &Path::new("driverName"), &mut errors);
    validate_parameters(&class["parameters"], false, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    for name in ["driverName", "parameters"] {
        if !same(&new[name], &old[name]) {
            let message = format!("updates to {name} are forbidden.");
            errors.push(field::forbidden(&Path::new(name), message));
        }
    }
    errors.extend(validate_create(new));
    errors
}
