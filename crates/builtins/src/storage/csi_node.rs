//! CSI nodes.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{KindRules, checks, json::Read, meta};

const MAX_NODE_ID: usize = 256;

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_create(new));
        errors
    },
    allow_unconditional_update: false,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn validate_create(node: &Value) -> ErrorList {
    let mut errors = meta::validate(node, false, meta::subdomain);
    let mut seen = BTreeSet::new();
    for (i, driver) in node["spec"]["drivers"].items().iter().enumerate() {
        let path = Path::new("spec").child("drivers").index(i);
        validate_driver_name(driver["name"].text(), &path.child("name"), &mut errors);
        let id = driver["nodeID"].text();
        checks::required(&driver["nodeID"], &path.child("nodeID"), &mut errors);
        if id.len() > MAX_NODE_ID {
            let message = format!("must be {MAX_NODE_ID} characters or less");
            errors.push(field::invalid_str(&path.child("nodeID"), id, message));
        }
        let count = path.child("allocatable").child("count");
        checks::non_negative(&driver["allocatable"]["count"], &count, &mut errors);
        if !seen.insert(driver["name"].text()) {
            errors.push(field::duplicate(&path.child("name"), &driver["name"]));
        }
        let mut keys = BTreeSet::new();
        for key in driver["topologyKeys"].items() {
            checks::required(key, &path, &mut errors);
            if !keys.insert(key.text()) {
                errors.push(field::duplicate(&path, key));
            }
            checks::qualified_name(key.text(), &path, &mut errors);
        }
    }
    errors
}

/// Checks the name of a driver: a short DNS subdomain.
pub(crate) fn validate_driver_name(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(field::required(path, ""));
    }
    if name.len() > 63 {
        errors.push(field::too_long(path, 63));
    }
    if !name.is_empty() {
        let lower = name.to_lowercase();
        let found = kubewright_machinery::validation::names::is_dns1123_subdomain(&lower);
        checks::messages(name, found, path, errors);
    }
}
