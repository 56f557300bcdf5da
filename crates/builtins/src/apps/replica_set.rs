//! Replica sets.

use kubewright_machinery::field::{ErrorList, Path};
use serde_json::Value;

use super::workload;
use crate::{KindRules, checks, core::pod, general, json::Write, meta};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: pod::warnings::workload,
    warnings_on_update: pod::warnings::spec_template_on_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(set: &mut Value) {
    let spec = set.field("spec");
    spec.put_if_unset("replicas", 1);
    pod::default::template(spec.field("template"));
}

fn validate_create(set: &Value) -> ErrorList {
    let mut errors = meta::validate(set, true, meta::subdomain);
    validate_spec(&set["spec"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    validate_spec(&new["spec"], &mut errors);
    let path = Path::new("spec").child("selector");
    checks::immutable_selector(
        &new["spec"]["selector"],
        &old["spec"]["selector"],
        &path,
        &mut errors,
    );
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    validate_status(&new["status"], &mut errors);
    errors
}

/// Checks the counts in the status, which replication controllers have too.
pub(crate) fn validate_status(status: &Value, errors: &mut ErrorList) {
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    workload::validate_counts(status, &counts, errors);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    workload::validate_parts(status, &parts, errors);
    workload::validate_available(status, "cannot be greater than readyReplicas", errors);
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    for name in ["replicas", "minReadySeconds"] {
        checks::non_negative(&spec[name], &path.child(name), errors);
    }
    workload::validate_selector(spec, "deployment", &path, errors);
    if workload::is_readable(spec, "invalid label selector", &path, errors) {
        workload::validate_match(spec, &path, errors);
        workload::validate_running_template(spec, "ReplicaSet", &path, errors);
    }
}
