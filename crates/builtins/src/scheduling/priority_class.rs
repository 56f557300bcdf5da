//! Priority classes.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

const HIGHEST: i64 = 1_000_000_000;
const SYSTEM: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    validate_create,
    validate_update,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.put_if_unset("preemptionPolicy", "PreemptLowerPriority");
}

fn validate_create(class: &Value) -> ErrorList {
    let mut errors = meta::validate(class, false, meta::subdomain);
    let name = class["metadata"]["name"].text();
    if name.starts_with("system-") {
        if let Err(problem) = check_system(class) {
            let message = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            errors.push(field::forbidden(
                &Path::new("metadata").child("name"),
                message,
            ));
        }
    } else if class["value"].int() > HIGHEST {
        let message = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(field::forbidden(&Path::new("value"), message));
    }
    if class["preemptionPolicy"].is_set() {
        let known = ["PreemptLowerPriority", "Never"];
        let path = Path::new("preemptionPolicy");
        checks::one_of(&class["preemptionPolicy"], &known, &path, &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    if new["value"].int() != old["value"].int() {
        errors.push(field::forbidden(
            &Path::new("value"),
            "may not be changed in an update.",
        ));
    }
    let path = Path::new("preemptionPolicy");
    checks::immutable(
        &new["preemptionPolicy"],
        &old["preemptionPolicy"],
        &path,
        &mut errors,
    );
    errors
}

/// Validates that names with the system's prefix are those of the system, with its values.
fn check_system(class: &Value) -> Result<(), String> {
    let name = class["metadata"]["name"].text();
    let Some((_, value)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Err(format!("{name} is not a known system priority class"));
    };
    if class["value"].int() != *value {
        return Err(format!("value of {name} PriorityClass must be {value}"));
    }
    if class["globalDefault"].flag() {
        return Err(format!(
            "globalDefault of {name} PriorityClass must be false"
        ));
    }
    Ok(())
}
