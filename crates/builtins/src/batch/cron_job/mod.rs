//! Cron jobs.

use kubewright_machinery::{
    cron::Schedule,
    field::{self, ErrorList, Path},
};
use serde_json::Value;

use super::job;
use crate::{
    KindRules, checks,
    core::pod,
    general,
    generated::time_zones::TIME_ZONES,
    go_json,
    json::{Read, Write},
    meta,
};

const MAX_NAME: usize = 52;

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create,
    validate_update,
    validate_status_update: |new, old| meta::common(new, old, true),
    warnings_on_create,
    warnings_on_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(cron: &mut Value) {
    let spec = cron.field("spec");
    spec.put_if_blank("concurrencyPolicy", "Allow");
    spec.put_if_unset("suspend", false);
    spec.put_if_unset("successfulJobsHistoryLimit", 3);
    spec.put_if_unset("failedJobsHistoryLimit", 1);
    job::default_template_spec(spec.field("jobTemplate").field("spec"));
}

fn validate_create(cron: &Value) -> ErrorList {
    let mut errors = meta::validate(cron, true, meta::subdomain);
    validate_spec(&cron["spec"], &Value::Null, &mut errors);
    let name = cron["metadata"]["name"].text();
    if name.len() > MAX_NAME {
        let path = Path::new("metadata").child("name");
        errors.push(field::invalid_str(
            &path,
            name,
            "must be no more than 52 characters",
        ));
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    validate_spec(&new["spec"], &old["spec"], &mut errors);
    errors
}

fn warnings_on_create(cron: &Value) -> Vec<String> {
    let mut warnings = pod::warnings::workload_name(cron);
    warnings.extend(template_warnings(cron));
    warnings
}

fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if new["metadata"]["generation"] != old["metadata"]["generation"] {
        warnings = template_warnings(new);
    }
    if new["spec"]["schedule"].text().contains("TZ") {
        warnings.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
    }
    warnings
}

fn template_warnings(cron: &Value) -> Vec<String> {
    let path = Path::new("spec")
        .child("jobTemplate")
        .child("spec")
        .child("template");
    pod::warnings::template(&cron["spec"]["jobTemplate"]["spec"]["template"], &path)
}

fn validate_spec(spec: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let schedule_path = path.child("schedule");
    match spec["schedule"].text() {
        "" => errors.push(field::required(&schedule_path, "")),
        text => validate_schedule(text, spec, old, &schedule_path, errors),
    }
    let deadline = "startingDeadlineSeconds";
    checks::non_negative(&spec[deadline], &path.child(deadline), errors);
    if !old.is_set() || old["timeZone"] != spec["timeZone"] {
        validate_time_zone(&spec["timeZone"], &path.child("timeZone"), errors);
    }
    let known = ["Allow", "Forbid", "Replace"];
    checks::one_of(
        &spec["concurrencyPolicy"],
        &known,
        &path.child("concurrencyPolicy"),
        errors,
    );
    validate_template(&spec["jobTemplate"], &path.child("jobTemplate"), errors);
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        checks::non_negative(&spec[name], &path.child(name), errors);
    }
}

fn validate_schedule(text: &str, spec: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    if let Err(problem) = Schedule::parse(text) {
        errors.push(field::invalid_str(path, text, problem));
    }
    if !text.contains("TZ") {
        return;
    }
    if !old["schedule"].text().contains("TZ") {
        let message = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(field::invalid_str(path, text, message));
    } else if spec["timeZone"].is_set() {
        let message = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        errors.push(field::invalid_str(path, text, message));
    }
}

/// A time zone must look like a name of the time zone database.
fn validate_time_zone(zone: &Value, path: &Path, errors: &mut ErrorList) {
    if !zone.is_set() {
        return;
    }
    let name = zone.text();
    if name.is_empty() {
        errors.push(field::invalid(
            path,
            zone,
            "timeZone must be nil or non-empty string",
        ));
        return;
    }
    let part = |p: &str| {
        (1..=14).contains(&p.len())
            && p != "."
            && p != ".."
            && !p.starts_with('-')
            && p.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+'))
    };
    if !name.split('/').all(part) {
        errors.push(field::invalid(
            path,
            zone,
            format!("unknown time zone {name}"),
        ));
        return;
    }
    if name.eq_ignore_ascii_case("Local") {
        let message =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(field::invalid(path, zone, message));
    }
    if name != "Local" && TIME_ZONES.binary_search(&name).is_err() {
        errors.push(field::invalid(
            path,
            zone,
            format!("unknown time zone {name}"),
        ));
    }
}

fn validate_template(template: &Value, path: &Path, errors: &mut ErrorList) {
    let path = path.child("spec");
    let spec = &template["spec"];
    job::validate_spec(spec, &path, errors);
    if spec["selector"].is_set() {
        let text = go_json::selector(&spec["selector"]);
        let message = "`selector` will be auto-generated";
        errors.push(field::invalid_raw(&path.child("selector"), text, message));
    }
    if spec["manualSelector"].flag() {
        let mut error = field::not_supported(&path.child("manualSelector"), "", &["nil", "false"]);
        error.value = Some("true".to_owned());
        errors.push(error);
    }
}
