//! Validates jobs.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    labels::LabelSelector,
    validation::names,
};
use serde_json::Value;

use super::{NAME_LABELS, UID_LABELS};
use crate::{
    apps::workload,
    checks,
    core::pod,
    general, go_json, internal_form,
    json::{Read, Write, same},
    meta,
};

const MAX_INDEXED_PARALLELISM: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const MANY_COMPLETIONS_LIMIT: i64 = 10_000;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

pub(super) fn create(job: &Value) -> ErrorList {
    let mut errors = meta::validate(job, true, meta::subdomain);
    validate_generated_selector(job, &mut errors);
    validate_own_spec(&job["spec"], &mut errors);
    let completions = job["spec"]["completions"].int();
    if job["spec"]["completionMode"] == "Indexed" && completions > 0 {
        let name = job["metadata"]["name"].text();
        let last = format!("{name}-{}", completions - 1);
        if !names::is_dns1123_label(&last).is_empty() {
            let path = Path::new("metadata").child("name");
            let message = format!("will not able to create pod with invalid DNS label: {last}");
            errors.push(field::invalid_str(&path, name, message));
        }
    }
    errors
}

pub(super) fn update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(create(new));
    errors.extend(meta::validate_update(new, old));
    let path = Path::new("spec");
    let (after, before) = (&new["spec"], &old["spec"]);
    validate_own_spec(after, &mut errors);
    validate_completions(after, before, &path.child("completions"), &mut errors);
    let selector = path.child("selector");
    checks::immutable_selector(
        &after["selector"],
        &before["selector"],
        &selector,
        &mut errors,
    );
    validate_template_update(new, old, &path.child("template"), &mut errors);
    for name in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        checks::immutable(&after[name], &before[name], &path.child(name), &mut errors);
    }
    errors
}

/// Validates a job spec, also inside a cron job, except for its selector.
pub(crate) fn validate_spec(spec: &Value, path: &Path, errors: &mut ErrorList) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        checks::non_negative(&spec[name], &path.child(name), errors);
    }
    if spec["maxFailedIndexes"].is_set() && !spec["backoffLimitPerIndex"].is_set() {
        let path = path.child("backoffLimitPerIndex");
        errors.push(field::required(&path, "when maxFailedIndexes is specified"));
    }
    validate_completion_mode(spec, path, errors);
    if spec["podFailurePolicy"].is_set() {
        validate_failure_policy(spec, &path.child("podFailurePolicy").child("rules"), errors);
    }
    validate_replacement_policy(spec, &path.child("podReplacementPolicy"), errors);
    let template = path.child("template");
    pod::validate::template(&spec["template"], &template, errors);
    let policy = spec["template"]["spec"]["restartPolicy"].text();
    let path = template.child("spec").child("restartPolicy");
    match policy {
        "Always" | "" => errors.push(field::required(
            &path,
            "valid values: \"OnFailure\", \"Never\"",
        )),
        "OnFailure" if spec["podFailurePolicy"].is_set() => {
            let message = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(field::invalid_str(&path, policy, message));
        }
        "OnFailure" | "Never" => {}
        _ => errors.push(field::not_supported(&path, policy, &["OnFailure", "Never"])),
    }
}

fn validate_own_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    validate_spec(spec, &path, errors);
    if spec["selector"].is_set() {
        checks::selector(&spec["selector"], &path.child("selector"), errors);
    } else {
        errors.push(field::required(&path.child("selector"), ""));
    }
    workload::validate_match(spec, &path, errors);
}

/// Validates that a generated selector is the expected one.
fn validate_generated_selector(job: &Value, errors: &mut ErrorList) {
    let spec = &job["spec"];
    if spec["manualSelector"].flag() || !spec["selector"].is_set() {
        return;
    }
    let uid = job["metadata"]["uid"].text();
    if uid.is_empty() {
        errors.push(field::required(&Path::new("metadata").child("uid"), ""));
    }
    let name = job["metadata"]["name"].text();
    let expected = [
        (UID_LABELS[0], uid),
        (NAME_LABELS[0], name),
        (UID_LABELS[1], uid),
        (NAME_LABELS[1], name),
    ];
    let labels = &spec["template"]["metadata"]["labels"];
    let path = Path::new("spec")
        .child("template")
        .child("metadata")
        .child("labels");
    for (key, value) in expected {
        let path = path.key(key);
        match labels.get(key).map(Read::text) {
            None => errors.push(field::required(&path, format!("must be '{value}'"))),
            Some(found) if found != value => {
                errors.push(field::invalid(&path, labels, format!("must be '{value}'")));
            }
            Some(_) => {}
        }
    }
    let Ok(selector) = LabelSelector::from_label_selector(&spec["selector"]) else {
        return;
    };
    if !selector.matches(|key| expected.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)) {
        let path = Path::new("spec").child("selector");
        let text = go_json::selector(&spec["selector"]);
        errors.push(field::invalid_raw(
            &path,
            text,
            "`selector` not auto-generated",
        ));
    }
}

fn validate_completion_mode(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let mode = &spec["completionMode"];
    checks::one_of_if_set(
        mode,
        &["NonIndexed", "Indexed"],
        &path.child("completionMode"),
        errors,
    );
    let (completions, parallelism) = (spec["completions"].int(), spec["parallelism"].int());
    let failed = &spec["maxFailedIndexes"];
    if mode == "Indexed" {
        if !spec["completions"].is_set() {
            let path = path.child("completions");
            errors.push(field::required(&path, "when completion mode is Indexed"));
        }
        if parallelism > MAX_INDEXED_PARALLELISM {
            let message = format!(
                "must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is Indexed"
            );
            errors.push(field::invalid(
                &path.child("parallelism"),
                &spec["parallelism"],
                message,
            ));
        }
        if failed.is_set() && spec["completions"].is_set() && failed.int() > completions {
            let message = "must be less than or equal to completions";
            errors.push(field::invalid(
                &path.child("maxFailedIndexes"),
                failed,
                message,
            ));
        }
        if failed.int() > MAX_INDEXED_PARALLELISM {
            let message = format!("must be less than or equal to {MAX_INDEXED_PARALLELISM}");
            errors.push(field::invalid(
                &path.child("maxFailedIndexes"),
                failed,
                message,
            ));
        }
        if completions > MANY_COMPLETIONS && spec["backoffLimitPerIndex"].is_set() {
            if !failed.is_set() {
                let message =
                    format!("must be specified when completions is above {MANY_COMPLETIONS}");
                errors.push(field::required(&path.child("maxFailedIndexes"), message));
            }
            let message = format!(
                "must be less than or equal to {MANY_COMPLETIONS_LIMIT} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
            );
            for name in ["parallelism", "maxFailedIndexes"] {
                if spec[name].int() > MANY_COMPLETIONS_LIMIT {
                    errors.push(field::invalid(
                        &path.child(name),
                        &spec[name],
                        message.clone(),
                    ));
                }
            }
        }
    } else if mode == "NonIndexed" || !mode.is_set() {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if spec[name].is_set() {
                errors.push(field::invalid(
                    &path.child(name),
                    &spec[name],
                    "requires indexed completion mode",
                ));
            }
        }
    }
}

fn validate_replacement_policy(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let known: &[&str] = match spec["podFailurePolicy"].is_set() {
        true => &["Failed"],
        false => &["Failed", "TerminatingOrFailed"],
    };
    checks::one_of_if_set(&spec["podReplacementPolicy"], known, path, errors);
}

fn validate_failure_policy(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let rules = spec["podFailurePolicy"]["rules"].items();
    if rules.len() > 20 {
        errors.push(field::too_many(path, rules.len(), 20));
    }
    let pod = &spec["template"]["spec"];
    let containers = pod["containers"]
        .items()
        .iter()
        .chain(pod["initContainers"].items());
    let names: BTreeSet<&str> = containers.map(|c| c["name"].text()).collect();
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        let action = rule["action"].text();
        let action_path = path.child("action");
        match action {
            "" => {
                let message = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
                errors.push(field::required(&action_path, message));
            }
            "FailIndex" if !spec["backoffLimitPerIndex"].is_set() => {
                let message = "requires the backoffLimitPerIndex to be set";
                errors.push(field::invalid_str(&action_path, action, message));
            }
            _ if ACTIONS.contains(&action) => {}
            _ => errors.push(field::not_supported(&action_path, action, &ACTIONS)),
        }
        let (codes, conditions) = (&rule["onExitCodes"], rule["onPodConditions"].items());
        if codes.is_set() {
            validate_exit_codes(codes, &names, &path.child("onExitCodes"), errors);
        }
        validate_conditions(conditions, &path.child("onPodConditions"), errors);
        let message = match (codes.is_set(), !conditions.is_empty()) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        let mut error = field::invalid_str(&path, "", message);
        error.value = None;
        errors.push(error);
    }
}

fn validate_conditions(conditions: &[Value], path: &Path, errors: &mut ErrorList) {
    if conditions.len() > 20 {
        errors.push(field::too_many(path, conditions.len(), 20));
    }
    for (i, pattern) in conditions.iter().enumerate() {
        let path = path.index(i);
        checks::qualified_name(pattern["type"].text(), &path.child("type"), errors);
        let known = ["False", "True", "Unknown"];
        checks::one_of(&pattern["status"], &known, &path.child("status"), errors);
    }
}

fn validate_exit_codes(codes: &Value, names: &BTreeSet<&str>, path: &Path, errors: &mut ErrorList) {
    let operator = codes["operator"].text();
    let operator_path = path.child("operator");
    match operator {
        "" => errors.push(field::required(
            &operator_path,
            "valid values: [\"In\" \"NotIn\"]",
        )),
        "In" | "NotIn" => {}
        _ => errors.push(field::not_supported(
            &operator_path,
            operator,
            &["In", "NotIn"],
        )),
    }
    let name = &codes["containerName"];
    if name.is_set() && !names.contains(name.text()) {
        let message = "must be one of the container or initContainer names in the pod template";
        errors.push(field::invalid(&path.child("containerName"), name, message));
    }
    let values_path = path.child("values");
    let values = codes["values"].items();
    if values.is_empty() {
        errors.push(field::invalid(
            &values_path,
            &codes["values"],
            "at least one value is required",
        ));
    } else if values.len() > 255 {
        errors.push(field::too_many(&values_path, values.len(), 255));
    }
    let mut seen = BTreeSet::new();
    for (i, value) in values.iter().enumerate() {
        if operator == "In" && value.int() == 0 {
            let message = "must not be 0 for the In operator";
            errors.push(field::invalid(&values_path.index(i), value, message));
        }
        if !seen.insert(value.int()) {
            errors.push(field::duplicate(&values_path.index(i), value));
        }
    }
    if !values.is_sorted_by_key(Read::int) {
        errors.push(field::invalid(
            &values_path,
            &codes["values"],
            "must be ordered",
        ));
    }
}

fn validate_completions(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let (after, before) = (&new["completions"], &old["completions"]);
    if new["completionMode"] != "Indexed" {
        checks::immutable(after, before, path, errors);
    } else if !same(after, before) && after.is_set() && after != &new["parallelism"] {
        let message = "can only be modified in tandem with spec.parallelism";
        errors.push(field::invalid(path, after, message));
    }
}

/// The template is fixed; while a job is suspended and has not started, scheduling and resources may change.
fn validate_template_update(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let (after, mut before) = (&new["spec"]["template"], old["spec"]["template"].clone());
    if !is_open(old) {
        if !same(after, &before) {
            let text = internal_form::template(after);
            errors.push(field::invalid_raw(path, text, "field is immutable"));
        }
        return;
    }
    for name in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
        general::copy(before.field("spec"), &after["spec"], name);
    }
    for list in ["containers", "initContainers"] {
        let now = after["spec"][list].items().to_vec();
        let mut now = now.iter();
        before.field("spec").each(list, |c| {
            if let Some(n) = now.next().filter(|n| n["name"] == c["name"]) {
                general::copy(c, n, "resources");
            }
        });
    }
    if !same(&after["spec"], &before["spec"]) {
        let text = internal_form::pod_spec(&after["spec"]);
        errors.push(field::invalid_raw(
            &path.child("spec"),
            text,
            "field is immutable",
        ));
    }
}

fn is_open(job: &Value) -> bool {
    let (spec, status) = (&job["spec"], &job["status"]);
    let suspended = status["conditions"]
        .items()
        .iter()
        .any(|c| c["type"] == "Suspended" && c["status"] == "True");
    spec["suspend"].flag()
        && (!status["startTime"].is_set() || suspended)
        && status["active"].int() == 0
}
