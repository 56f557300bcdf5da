//! Leases.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules,
    json::{Read, Write},
    meta,
};

/// The fields of coordinated leader election, which is not on.
const GATED: [&str; 2] = ["strategy", "preferredHolder"];

pub(crate) static RULES: KindRules = KindRules {
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    allow_create_on_update: true,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

pub(crate) static CANDIDATE_RULES: KindRules = KindRules {
    allow_create_on_update: true,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

fn prepare_create(lease: &mut Value) {
    lease.with("spec", |spec| GATED.iter().for_each(|f| spec.forget(f)));
}

fn prepare_update(new: &mut Value, old: &Value) {
    new.with("spec", |spec| {
        for field in GATED {
            if !old["spec"][field].is_set() {
                spec.forget(field);
            }
        }
    });
}

fn validate_create(lease: &Value) -> ErrorList {
    let mut errors = meta::validate_general(lease, true, meta::subdomain);
    validate_spec(&lease["spec"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_general_update(new, old));
    validate_spec(&new["spec"], &mut errors);
    errors
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let (seconds, transitions) = (&spec["leaseDurationSeconds"], &spec["leaseTransitions"]);
    if seconds.is_set() && seconds.int() <= 0 {
        let path = path.child("leaseDurationSeconds");
        errors.push(field::invalid(&path, seconds, "must be greater than 0"));
    }
    if transitions.int() < 0 {
        let path = path.child("leaseTransitions");
        errors.push(field::invalid(
            &path,
            transitions,
            "must be greater than or equal to 0",
        ));
    }
}
