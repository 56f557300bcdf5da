//! Deployments.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::workload;
use crate::{
    KindRules, checks,
    core::pod,
    general,
    json::{Read, Write, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update,
    prepare_status_update,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: pod::warnings::workload,
    warnings_on_update: pod::warnings::spec_template_on_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec", "metadata.labels"],
    ..KindRules::GENERAL
};

fn default(deployment: &mut Value) {
    let spec = deployment.field("spec");
    spec.put_if_unset("replicas", 1);
    let strategy = spec.field("strategy");
    strategy.put_if_blank("type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = strategy.field("rollingUpdate");
        rolling.put_if_unset("maxUnavailable", "25%");
        rolling.put_if_unset("maxSurge", "25%");
    }
    spec.put_if_unset("revisionHistoryLimit", 10);
    spec.put_if_unset("progressDeadlineSeconds", 600);
    pod::default::template(spec.field("template"));
}

/// Increments the generation for changed annotations too, because rollbacks used to be requested there.
fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    let annotations = |d: &Value| d["metadata"]["annotations"].clone();
    if !same(&new["spec"], &old["spec"]) || !same(&annotations(new), &annotations(old)) {
        general::next_generation(new, old);
    }
}

fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    general::copy(new.field("metadata"), &old["metadata"], "labels");
}

fn validate_create(deployment: &Value) -> ErrorList {
    let mut errors = meta::validate(deployment, true, meta::subdomain);
    validate_spec(&deployment["spec"], &mut errors);
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
    let status = &new["status"];
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    workload::validate_counts(status, &counts, &mut errors);
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    workload::validate_parts(status, &parts, &mut errors);
    workload::validate_available(status, "cannot be greater than readyReplicas", &mut errors);
    workload::validate_collisions(new, old, &mut errors);
    errors
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    checks::non_negative(&spec["replicas"], &path.child("replicas"), errors);
    workload::validate_selector(spec, "deployment", &path, errors);
    if workload::is_readable(spec, "invalid label selector", &path, errors) {
        workload::validate_match(spec, &path, errors);
        workload::validate_running_template(spec, "ReplicaSet", &path, errors);
    }
    validate_strategy(&spec["strategy"], &path.child("strategy"), errors);
    for name in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        checks::non_negative(&spec[name], &path.child(name), errors);
    }
    let deadline = &spec["progressDeadlineSeconds"];
    if deadline.is_set() && deadline.int() <= spec["minReadySeconds"].int() {
        let path = path.child("progressDeadlineSeconds");
        errors.push(field::invalid(
            &path,
            deadline,
            "must be greater than minReadySeconds",
        ));
    }
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut ErrorList) {
    let rolling = &strategy["rollingUpdate"];
    let rolling_path = path.child("rollingUpdate");
    match strategy["type"].text() {
        "Recreate" if rolling.is_set() => {
            let message = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(field::forbidden(&rolling_path, message));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            let unavailable_path = rolling_path.child("maxUnavailable");
            checks::int_or_percent(unavailable, &unavailable_path, errors);
            checks::int_or_percent(surge, &rolling_path.child("maxSurge"), errors);
            if workload::int_or_percent(unavailable) == 0 && workload::int_or_percent(surge) == 0 {
                let message = "may not be 0 when `maxSurge` is 0";
                errors.push(field::invalid(&unavailable_path, unavailable, message));
            }
            workload::at_most_all(unavailable, &unavailable_path, errors);
        }
        other => {
            let mut error = field::not_supported(path, other, &["Recreate", "RollingUpdate"]);
            error.value = Some(format!("{{\"Type\":\"{other}\",\"RollingUpdate\":null}}"));
            errors.push(error);
        }
    }
}
