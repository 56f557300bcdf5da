//! Leases.

use serde_json::Value;

use crate::{
    KindRules,
    json::{Read, Write},
};

/// The fields of coordinated leader election, which is not on.
const GATED: [&str; 2] = ["strategy", "preferredHolder"];

pub(crate) static RULES: KindRules = KindRules {
    prepare_create,
    prepare_update,
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
