//! Storage classes.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules, checks,
    json::{Read, Write},
    meta,
};

const MAX_PARAMETERS: usize = 512;
const MAX_PARAMETERS_SIZE: usize = 256 * 1024;

pub(crate) static RULES: KindRules = KindRules {
    default,
    validate_create,
    validate_update,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.put_if_unset("reclaimPolicy", "Delete");
    class.put_if_unset("volumeBindingMode", "Immediate");
}

fn validate_create(class: &Value) -> ErrorList {
    let mut errors = meta::validate(class, false, meta::subdomain);
    validate_provisioner(
        &class["provisioner"],
        &Path::new("provisioner"),
        &mut errors,
    );
    validate_parameters(&class["parameters"], true, &mut errors);
    if !class["reclaimPolicy"].is_blank() {
        let path = Path::new("reclaimPolicy");
        checks::one_of_if_set(
            &class["reclaimPolicy"],
            &["Delete", "Retain"],
            &path,
            &mut errors,
        );
    }
    let known = ["Immediate", "WaitForFirstConsumer"];
    let mode = &class["volumeBindingMode"];
    checks::one_of(mode, &known, &Path::new("volumeBindingMode"), &mut errors);
    validate_topologies(&class["allowedTopologies"], &mut errors);
    errors
}

/// Validates allowed topologies: each term names keys once, with distinct values, and no two terms are equal.
fn validate_topologies(topologies: &Value, errors: &mut ErrorList) {
    let mut terms = BTreeSet::new();
    for (i, term) in topologies.items().iter().enumerate() {
        let path = Path::new("allowedTopologies").index(i);
        let path = path.child("matchLabelExpressions");
        let mut keys = BTreeMap::new();
        for (j, expression) in term["matchLabelExpressions"].items().iter().enumerate() {
            let path = path.index(j);
            checks::required(&expression["values"], &path.child("values"), errors);
            let mut values = BTreeSet::new();
            for (k, value) in expression["values"].items().iter().enumerate() {
                if !values.insert(value.text()) {
                    errors.push(field::duplicate(&path.child("values").index(k), value));
                }
            }
            let key = expression["key"].text();
            checks::qualified_name(key, &path.child("key"), errors);
            if keys.insert(key, values).is_some() {
                errors.push(field::duplicate(&path.child("key"), &expression["key"]));
            }
        }
        if !terms.insert(keys) {
            errors.push(field::duplicate(&path, &"".into()));
        }
    }
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    errors.extend(meta::validate_update(new, old));
    for name in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        let blank = new[name].is_blank() && old[name].is_blank();
        if !blank {
            checks::immutable(&new[name], &old[name], &Path::new(name), &mut errors);
        }
    }
    errors
}

/// Checks the name of a provisioner or driver.
pub(crate) fn validate_provisioner(name: &Value, path: &Path, errors: &mut ErrorList) {
    match name.text() {
        "" => errors.push(field::required(path, "")),
        text => checks::qualified_name(&text.to_lowercase(), path, errors),
    }
}

/// Checks the parameters of a class.
pub(crate) fn validate_parameters(parameters: &Value, may_be_empty: bool, errors: &mut ErrorList) {
    let path = Path::new("parameters");
    let entries = parameters.entries();
    if entries.len() > MAX_PARAMETERS {
        errors.push(field::too_long(&path, MAX_PARAMETERS));
        return;
    }
    if entries.iter().any(|(key, _)| key.is_empty()) {
        errors.push(field::invalid_str(&path, "", "field can not be empty."));
    }
    let size: usize = entries.iter().map(|(k, v)| k.len() + v.text().len()).sum();
    if size > MAX_PARAMETERS_SIZE {
        errors.push(field::too_long(&path, MAX_PARAMETERS_SIZE));
    }
    if !may_be_empty && entries.is_empty() {
        errors.push(field::required(
            &path,
            "must contain at least one key/value pair",
        ));
    }
}
