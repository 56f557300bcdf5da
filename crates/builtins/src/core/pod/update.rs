//! Validates updates of pods, which may change images, tolerations and the deadline, and remove gates.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::{annotations, scheduling, validate::metadata_and_spec};
use crate::{
    checks, internal_form,
    json::{Read, Write, same},
    meta,
};

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

/// Checks an update of the main endpoint.
pub(crate) fn update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(metadata_and_spec(new));
    let annotations = Path::new("metadata").child("annotations");
    annotations::validate_changes(new, old, &annotations, &mut errors);
    let path = Path::new("spec");
    let (after, before) = (&new["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if !validate_containers(&after[list], &before[list], &path.child(list), &mut errors) {
            return errors;
        }
    }
    if !validate_deadline(
        after,
        before,
        &path.child("activeDeadlineSeconds"),
        &mut errors,
    ) {
        return errors;
    }
    validate_tolerations(after, before, &path.child("tolerations"), &mut errors);
    validate_gates(after, before, &path.child("schedulingGates"), &mut errors);
    if !same(after, before) {
        let munged = munged(after, before, &path, &mut errors);
        if !same(&munged, before) {
            let message = format!(
                "{UPDATABLE}{}",
                internal_form::pod_spec_diff(before, &munged)
            );
            errors.push(field::forbidden(&path, message));
        }
    }
    errors
}

/// Checks an update of `/status`.
pub(crate) fn status(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    let annotations = Path::new("metadata").child("annotations");
    annotations::validate_changes(new, old, &annotations, &mut errors);
    let path = Path::new("status");
    let (after, before) = (&new["status"], &old["status"]);
    for (i, condition) in after["conditions"].items().iter().enumerate() {
        let path = path.child("conditions").index(i);
        if condition["observedGeneration"].int() < 0 {
            let path = path.child("observedGeneration");
            errors.push(field::invalid(
                &path,
                &condition["observedGeneration"],
                "must be a non-negative integer",
            ));
        }
        let kind = condition["type"].text();
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            checks::qualified_name(kind, &path.child("Type"), &mut errors);
        }
    }
    if after["observedGeneration"].int() < 0 {
        let path = path.child("observedGeneration");
        errors.push(field::invalid(
            &path,
            &after["observedGeneration"],
            "must be a non-negative integer",
        ));
    }
    checks::immutable(
        &after["qosClass"],
        &before["qosClass"],
        &path.child("qosClass"),
        &mut errors,
    );
    for list in ["containerStatuses", "initContainerStatuses"] {
        validate_transitions(new, old, list, &path.child(list), &mut errors);
    }
    errors
}

/// Checks an update of `/ephemeralcontainers`: they may be added, never changed or removed.
pub fn ephemeral_containers(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(metadata_and_spec(new));
    let path = Path::new("spec").child("ephemeralContainers");
    let after = new["spec"]["ephemeralContainers"].items();
    for before in old["spec"]["ephemeralContainers"].items() {
        let name = &before["name"];
        match after.iter().find(|c| c["name"] == *name) {
            None => {
                let message = format!("existing ephemeral containers {name} may not be removed\n");
                errors.push(field::forbidden(&path, message));
            }
            Some(now) if !same(now, before) => {
                let changes = internal_form::ephemeral_container_diff(before, now);
                let message =
                    format!("existing ephemeral containers {name} may not be changed\n{changes}");
                errors.push(field::forbidden(&path, message));
            }
            Some(_) => {}
        }
    }
    errors
}

/// Prepares an update of `/ephemeralcontainers`, which changes nothing else.
pub fn prepare_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new["spec"]["ephemeralContainers"].clone();
    crate::general::copy(new, old, "spec");
    crate::general::copy(new, old, "status");
    crate::general::reset_metadata_for_status(new, old);
    if containers.is_set() {
        new.field("spec").put("ephemeralContainers", containers);
    } else {
        new.field("spec").forget("ephemeralContainers");
    }
    super::strategy::count_generation(new, old);
}

/// Validates that every container has an image, and reports whether the number of containers is unchanged.
fn validate_containers(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) -> bool {
    if new.items().len() != old.items().len() {
        errors.push(field::forbidden(
            path,
            "pod updates may not add or remove containers",
        ));
        return false;
    }
    for (i, c) in new.items().iter().enumerate() {
        checks::required(&c["image"], &path.index(i).child("image"), errors);
        super::container::validate_image_text(c, &path.index(i), errors);
    }
    true
}

fn validate_deadline(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) -> bool {
    let (after, before) = (&new["activeDeadlineSeconds"], &old["activeDeadlineSeconds"]);
    if !after.is_set() {
        if before.is_set() {
            let message = "must not update from a positive integer to nil value";
            errors.push(field::invalid(path, after, message));
        }
        return true;
    }
    let count = errors.len();
    checks::in_range(after.int(), 0, i64::from(i32::MAX), path, errors);
    if errors.len() == count && before.is_set() && before.int() < after.int() {
        let message = "must be less than or equal to previous value";
        errors.push(field::invalid(path, after, message));
    }
    errors.len() == count
}

fn validate_tolerations(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let without_seconds = |t: &Value| {
        let mut t = t.clone();
        t.forget("tolerationSeconds");
        t.to_string()
    };
    let after: BTreeSet<String> = new["tolerations"]
        .items()
        .iter()
        .map(without_seconds)
        .collect();
    for before in old["tolerations"].items() {
        if !after.contains(&without_seconds(before)) {
            let message = "existing toleration can not be modified except its tolerationSeconds";
            errors.push(field::forbidden(path, message));
            return;
        }
    }
    scheduling::validate_tolerations(&new["tolerations"], path, errors);
}

fn validate_gates(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let gates = old["schedulingGates"].items().iter();
    let before: BTreeSet<&str> = gates.map(|gate| gate["name"].text()).collect();
    for (i, gate) in new["schedulingGates"].items().iter().enumerate() {
        let name = gate["name"].text();
        if !before.contains(name) {
            let message =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.push(field::forbidden(&path.index(i).child("name"), message));
        }
    }
}

/// The new spec with everything that may change set back.
fn munged(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) -> Value {
    let mut spec = new.clone();
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> = old[list]
            .items()
            .iter()
            .map(|c| c["image"].clone())
            .collect();
        let mut images = images.into_iter();
        spec.each(list, |c| {
            if let Some(image) = images.next() {
                c.put("image", image);
            }
        });
    }
    for field_name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        crate::general::copy(&mut spec, old, field_name);
    }
    let period = &old["terminationGracePeriodSeconds"];
    if period.int() < 0 && spec["terminationGracePeriodSeconds"].int() == 1 {
        spec.put("terminationGracePeriodSeconds", period.clone());
    }
    if !old["schedulingGates"].is_blank() {
        let (after, before) = (&new["nodeSelector"], &old["nodeSelector"]);
        for (key, value) in before.entries() {
            if after.get(key) != Some(value) {
                let path = path.child("nodeSelector");
                let message =
                    "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
                errors.push(field::invalid(&path, after, message));
                break;
            }
        }
        crate::general::copy(&mut spec, old, "nodeSelector");
    }
    spec
}

/// Validates that containers run again after their end only if they are to be restarted.
fn validate_transitions(new: &Value, old: &Value, list: &str, path: &Path, errors: &mut ErrorList) {
    let spec = &old["spec"];
    let containers = match list {
        "initContainerStatuses" => "initContainers",
        _ => "containers",
    };
    if restarts_as_a_whole(spec) {
        return;
    }
    for (i, before) in old["status"][list].items().iter().enumerate() {
        let terminated = &before["state"]["terminated"];
        let of_same_name = |value: &&Value| value["name"] == before["name"];
        let now = new["status"][list].items().iter().find(of_same_name);
        let runs_again = now.is_some_and(|s| !s["state"]["terminated"].is_set());
        if !terminated.is_set() || !runs_again {
            continue;
        }
        let container = spec[containers].items().iter().find(of_same_name);
        let code = terminated["exitCode"].int();
        if !container.is_some_and(|container| is_restarted(container, spec, code)) {
            let message = "may not be transitioned to non-terminated state";
            errors.push(field::forbidden(&path.index(i).child("state"), message));
        }
    }
}

/// Returns whether a rule of a container restarts the whole pod.
fn restarts_as_a_whole(spec: &Value) -> bool {
    let lists = ["initContainers", "containers"].into_iter();
    let mut containers = lists.flat_map(|list| spec[list].items());
    containers.any(|container| {
        let mut rules = container["restartPolicyRules"].items().iter();
        rules.any(|rule| rule["action"].text() == "RestartAllContainers")
    })
}

/// Returns whether a container that has exited with a code is restarted: by its rules, its own policy or that of the pod.
fn is_restarted(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container["restartPolicy"].text();
    let mut rules = container["restartPolicyRules"].items().iter();
    let has_rule = rules.any(|rule| {
        let codes = &rule["exitCodes"];
        let mut values = codes["values"].items().iter();
        let is_listed = values.any(|value| value.int() == code);
        match codes["operator"].text() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    });
    let policy = match own {
        "" => spec["restartPolicy"].text(),
        _ if has_rule => return true,
        own => own,
    };
    match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}
