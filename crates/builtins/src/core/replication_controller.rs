//! Replication controllers, which take missing selectors and labels from the template.

use kubewright_machinery::{
    PropagationPolicy,
    field::{self, ErrorList, Path},
};
use serde_json::Value;

use super::pod;
use crate::{
    KindRules,
    apps::{replica_set, workload},
    checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: pod::warnings::workload,
    warnings_on_update: pod::warnings::spec_template_on_update,
    default_propagation: Some(PropagationPolicy::Orphan),
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(rc: &mut Value) {
    let labels = rc["spec"]["template"]["metadata"]["labels"].clone();
    if labels.is_set() {
        rc.field("spec").put_if_blank("selector", labels.clone());
        rc.field("metadata").put_if_blank("labels", labels);
    }
    let spec = rc.field("spec");
    spec.put_if_unset("replicas", 1);
    spec.with("template", pod::default::template);
}

fn validate_create(rc: &Value) -> ErrorList {
    let mut errors = meta::validate(rc, true, meta::subdomain);
    validate_spec(&rc["spec"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    validate_spec(&new["spec"], &mut errors);
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    replica_set::validate_status(&new["status"], &mut errors);
    errors
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    checks::non_negative(
        &spec["minReadySeconds"],
        &path.child("minReadySeconds"),
        errors,
    );
    checks::required(&spec["selector"], &path.child("selector"), errors);
    checks::non_negative(&spec["replicas"], &path.child("replicas"), errors);
    let template = &spec["template"];
    if !template.is_set() {
        errors.push(field::required(&path.child("template"), ""));
        return;
    }
    let labels = &template["metadata"]["labels"];
    if spec["selector"]
        .entries()
        .iter()
        .any(|(key, value)| labels.get(*key) != Some(value))
    {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(field::invalid(
            &path,
            labels,
            "`selector` does not match template `labels`",
        ));
    }
    workload::validate_running_template(spec, "ReplicationController", &path, errors);
}
