//! Jobs, which select their pods by their own uid unless they have a manual selector.

mod status;
mod validate;

use kubewright_machinery::PropagationPolicy;
use serde_json::Value;

use crate::{
    KindRules,
    core::pod,
    general,
    json::{Read, Write},
};

pub(crate) use validate::validate_spec;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create: validate::create,
    validate_update: validate::update,
    validate_status_update: status::update,
    warnings_on_create: pod::warnings::workload,
    warnings_on_update: pod::warnings::spec_template_on_update,
    default_propagation: Some(PropagationPolicy::Orphan),
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(job: &mut Value) {
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    if labels.is_set() {
        job.field("metadata").put_if_blank("labels", labels);
    }
    let spec = job.field("spec");
    if !spec["completions"].is_set() && !spec["parallelism"].is_set() {
        spec.put("completions", 1);
    }
    spec.put_if_unset("parallelism", 1);
    let limit = match spec["backoffLimitPerIndex"].is_set() {
        true => i32::MAX,
        false => 6,
    };
    spec.put_if_unset("backoffLimit", limit);
    spec.put_if_unset("completionMode", "NonIndexed");
    spec.put_if_unset("suspend", false);
    let replacement = match spec["podFailurePolicy"].is_set() {
        true => "Failed",
        false => "TerminatingOrFailed",
    };
    spec.put_if_unset("podReplacementPolicy", replacement);
    spec.put_if_unset("manualSelector", false);
    default_failure_policy(spec);
    pod::default::template(spec.field("template"));
}

/// The defaults of a job spec that a cron job's template gets too.
pub(crate) fn default_template_spec(spec: &mut Value) {
    default_failure_policy(spec);
    pod::default::template(spec.field("template"));
}

fn default_failure_policy(spec: &mut Value) {
    spec.with("podFailurePolicy", |policy| {
        policy.each("rules", |rule| {
            rule.each("onPodConditions", |c| c.put_if_blank("status", "True"));
        });
    });
}

/// Prepares a create. Labels that are generated in the template are copied to the job, if the job took its labels
/// from it.
fn prepare_create(job: &mut Value) {
    let (own, template) = (
        &job["metadata"]["labels"],
        &job["spec"]["template"]["metadata"]["labels"],
    );
    let shared = own.is_blank() || own == template;
    if !job["spec"]["manualSelector"].flag() {
        generate_selector(job);
        if shared {
            let labels = job["spec"]["template"]["metadata"]["labels"].clone();
            job.field("metadata").put("labels", labels);
        }
    }
    general::drop_status_and_start_generation(job);
}

fn generate_selector(job: &mut Value) {
    let name = job["metadata"]["name"].clone();
    let uid = job["metadata"]["uid"].clone();
    let spec = job.field("spec");
    let labels = spec.field("template").field("metadata").field("labels");
    for label in NAME_LABELS {
        labels.put_if_unset(label, name.clone());
    }
    for label in UID_LABELS {
        labels.put_if_unset(label, uid.clone());
    }
    let selected = spec.field("selector").field("matchLabels");
    selected.put_if_unset(UID_LABELS[1], uid);
}
