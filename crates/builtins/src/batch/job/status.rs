//! Validates the status of a job: counters only grow, a finished job stays finished.

use kubewright_machinery::field::{self, ErrorList, FieldError, Path};
use serde_json::Value;

use crate::{apps::workload, json::Read};

pub(super) fn update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    let path = Path::new("status");
    let (after, before) = (&new["status"], &old["status"]);
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    workload::validate_counts(after, &counts, &mut errors);
    validate_finish(new, old, &path, &mut errors);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(before, kind) && !is_true(after, kind) {
            let message = format!("cannot disable the terminal {kind}=True condition");
            errors.push(unvalued(&path.child("conditions"), message));
        }
    }
    if after["failed"].int() < before["failed"].int() {
        let failed = after["failed"].int().into();
        errors.push(field::invalid(
            &path.child("failed"),
            &failed,
            "cannot decrease the failed counter",
        ));
    }
    let elastic = new["spec"]["completionMode"] == "Indexed"
        && new["spec"]["completions"] == new["spec"]["parallelism"];
    if !elastic && after["succeeded"].int() < before["succeeded"].int() {
        let succeeded = after["succeeded"].int().into();
        let message = "cannot decrease the succeeded counter";
        errors.push(field::invalid(
            &path.child("succeeded"),
            &succeeded,
            message,
        ));
    }
    let (now, was) = (&after["completionTime"], &before["completionTime"]);
    if now.is_set() && was.is_set() && now != was {
        errors.push(field::invalid(
            &path.child("completionTime"),
            now,
            "field is immutable",
        ));
    }
    let (now, was) = (&after["startTime"], &before["startTime"]);
    if was.is_set() && now != was && !new["spec"]["suspend"].flag() {
        let message = "field is immutable for unsuspended job once set";
        errors.push(field::invalid(&path.child("startTime"), now, message));
    }
    let met = "SuccessCriteriaMet";
    if is_true(before, met) && !is_true(after, met) {
        let message = "cannot disable the SuccessCriteriaMet=True condition";
        errors.push(unvalued(&path.child("conditions"), message));
    }
    errors
}

/// Validates the status of a finished job when it changes.
fn validate_finish(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let (after, before) = (&new["status"], &old["status"]);
    let conditions = path.child("conditions");
    let changed = |kind: &str| is_true(after, kind) != is_true(before, kind);
    let field_changed = |name: &str| after[name] != before[name];
    let (complete, failed) = (is_true(after, "Complete"), is_true(after, "Failed"));
    let finished = complete || failed;
    let newly = finished != (is_true(before, "Complete") || is_true(before, "Failed"));
    if (changed("Complete") || changed("Failed")) && complete && failed {
        errors.push(unvalued(
            &conditions,
            "cannot set Complete=True and Failed=true conditions",
        ));
    }
    if (changed("Complete") || changed("FailureTarget"))
        && complete
        && is_true(after, "FailureTarget")
    {
        errors.push(unvalued(
            &conditions,
            "cannot set Complete=True and FailureTarget=true conditions",
        ));
    }
    let time = &after["completionTime"];
    if changed("Complete") || field_changed("completionTime") {
        let path = path.child("completionTime");
        if time.is_set() && !complete {
            let message = "cannot set completionTime when there is no Complete=True condition";
            errors.push(field::invalid(&path, time, message));
        }
        if !time.is_set() && complete {
            errors.push(field::required(
                &path,
                "completionTime is required for Complete jobs",
            ));
        }
    }
    if changed("Failed") && failed && !is_true(after, "FailureTarget") {
        let message = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.push(unvalued(&conditions, message));
    }
    if (changed("Complete") || changed("SuccessCriteriaMet"))
        && complete
        && !is_true(after, "SuccessCriteriaMet")
    {
        let message =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.push(unvalued(&conditions, message));
    }
    if (newly || field_changed("active")) && finished && after["active"].int() > 0 {
        let message = "active>0 is invalid for finished job";
        errors.push(field::invalid(
            &path.child("active"),
            &after["active"],
            message,
        ));
    }
    if (newly || field_changed("startTime")) && finished && !after["startTime"].is_set() {
        let empty = new["spec"]["suspend"].flag() && new["spec"]["completions"] == 0;
        if !empty {
            errors.push(field::required(
                &path.child("startTime"),
                "startTime is required for finished job",
            ));
        }
    }
    if (newly || field_changed("terminating")) && finished && after["terminating"].int() > 0 {
        let message = "terminating>0 is invalid for finished job";
        errors.push(field::invalid(
            &path.child("terminating"),
            &after["terminating"],
            message,
        ));
    }
    if (field_changed("ready") || field_changed("active"))
        && after["ready"].is_set()
        && after["ready"].int() > after["active"].int()
    {
        let message = "cannot set more ready pods than active";
        errors.push(field::invalid(
            &path.child("ready"),
            &after["ready"],
            message,
        ));
    }
}

fn is_true(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].items().iter();
    conditions
        .clone()
        .any(|c| c["type"] == kind && c["status"] == "True")
}

/// An error that does not show the value.
fn unvalued(path: &Path, message: impl Into<String>) -> FieldError {
    let mut error = field::invalid_str(path, "", message);
    error.value = None;
    error
}
