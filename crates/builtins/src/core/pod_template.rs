//! Pod template objects.

use kubewright_machinery::field::{ErrorList, Path};
use serde_json::Value;

use super::pod;
use crate::{
    KindRules, general,
    json::{Write, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    prepare_update,
    validate_create,
    validate_update,
    warnings_on_create: |template| {
        pod::warnings::template(&template["template"], &Path::new("template"))
    },
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn default(template: &mut Value) {
    pod::default::template(template.field("template"));
}

fn prepare_update(new: &mut Value, old: &Value) {
    if !same(&new["template"], &old["template"]) {
        general::next_generation(new, old);
    }
}

fn validate_create(template: &Value) -> ErrorList {
    let mut errors = meta::validate(template, true, meta::subdomain);
    pod::validate::template(&template["template"], &Path::new("template"), &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    pod::validate::template(&new["template"], &Path::new("template"), &mut errors);
    errors
}
