//! Controller revisions.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules, checks,
    json::{Read, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update,
    ..KindRules::GENERAL
};

fn validate_create(revision: &Value) -> ErrorList {
    let mut errors = validate(revision);
    let path = Path::new("data");
    match &revision["data"] {
        Value::Object(_) => {}
        Value::Null => errors.push(field::required(&path, "data is mandatory")),
        _ => errors.push(field::required(&path, "data must be a valid JSON object")),
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(validate(new));
    if !same(&new["data"], &old["data"]) {
        errors.push(field::invalid(
            &Path::new("data"),
            &new["data"],
            "field is immutable",
        ));
    }
    errors
}

fn validate(revision: &Value) -> ErrorList {
    let mut errors = meta::validate(revision, true, meta::subdomain);
    if revision["revision"].is_set() {
        checks::non_negative(&revision["revision"], &Path::new("revision"), &mut errors);
    }
    errors
}
