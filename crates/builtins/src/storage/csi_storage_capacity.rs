//! CSI storage capacities.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use crate::{
    KindRules, checks,
    core::resources,
    json::{Read, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

fn validate_create(capacity: &Value) -> ErrorList {
    let mut errors = meta::validate(capacity, true, meta::subdomain);
    checks::selector(
        &capacity["nodeTopology"],
        &Path::new("nodeTopology"),
        &mut errors,
    );
    let class = capacity["storageClassName"].text();
    let found = names::name_is_dns_subdomain(class, NameForm::Whole);
    checks::messages(class, found, &Path::new("storageClassName"), &mut errors);
    if let Some(q) = resources::quantity(&capacity["capacity"]) {
        checks::non_negative_quantity(&q, &Path::new("capacity"), &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(validate_create(new));
    for name in ["nodeTopology", "storageClassName"] {
        if !same(&new[name], &old[name]) {
            errors.push(field::invalid(
                &Path::new(name),
                &new[name],
                "field is immutable",
            ));
        }
    }
    errors
}
