//! Annotations that mean something for pods.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::json::Read;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The prefix of annotations that name the AppArmor profile of a container.
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Checks the annotations that mean something for pods.
pub(super) fn validate(pod: &Value, path: &Path, errors: &mut ErrorList) {
    let annotations = &pod["metadata"]["annotations"];
    if let Some(value) = annotations.get(MIRROR)
        && pod["spec"]["nodeName"].is_blank()
    {
        let message = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(field::invalid(&path.key(MIRROR), value, message));
    }
    if let Some(cost) = annotations.get(DELETION_COST)
        && !is_deletion_cost(cost.text())
    {
        errors.push(field::invalid(
            &path.key(DELETION_COST),
            cost,
            "must be a 32bit integer",
        ));
    }
    for (key, profile) in annotations.entries() {
        if key == SECCOMP_POD || key.starts_with(SECCOMP) {
            validate_seccomp(key, profile, path, errors);
        }
    }
    for (key, profile) in annotations.entries() {
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            validate_app_armor(pod, container, profile, &path.key(key), errors);
        }
    }
}

/// Validates an annotation that older versions used instead of a field for the seccomp profile.
fn validate_seccomp(key: &str, profile: &Value, path: &Path, errors: &mut ErrorList) {
    let usual = ["runtime/default", "docker/default", "unconfined"];
    if !usual.contains(&profile.text()) && !profile.text().starts_with("localhost/") {
        let message = "must be a valid seccomp profile";
        errors.push(field::invalid(&path.child(key), profile, message));
    }
}

/// Validates an annotation that older versions used instead of a field for the AppArmor profile of a container.
fn validate_app_armor(
    pod: &Value,
    container: &str,
    profile: &Value,
    path: &Path,
    errors: &mut ErrorList,
) {
    let lists = ["initContainers", "containers"];
    let mut containers = lists.iter().flat_map(|l| pod["spec"][*l].items());
    if !containers.any(|c| c["name"] == container) {
        errors.push(field::invalid_str(path, container, "container not found"));
    }
    let usual = ["", "runtime/default", "unconfined"];
    if !usual.contains(&profile.text()) && !profile.text().starts_with("localhost/") {
        let message = format!("invalid AppArmor profile name: {profile}");
        errors.push(field::invalid(path, profile, message));
    }
}

/// Checks that an update leaves alone the annotations that may not change.
pub(super) fn validate_changes(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let (after, before) = (
        &new["metadata"]["annotations"],
        &old["metadata"]["annotations"],
    );
    for (key, value) in before.entries() {
        if after.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            errors.push(field::forbidden(
                &path.key(key),
                "may not remove or update AppArmor annotations",
            ));
        }
        if key == MIRROR {
            errors.push(field::forbidden(
                &path.key(key),
                "may not remove or update mirror pod annotation",
            ));
        }
    }
    for (key, _) in after.entries() {
        if before.get(key).is_some() {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            errors.push(field::forbidden(
                &path.key(key),
                "may not add AppArmor annotations",
            ));
        }
        if key == MIRROR {
            errors.push(field::forbidden(
                &path.key(key),
                "may not add mirror pod annotation",
            ));
        }
    }
    validate(new, path, errors);
}

/// Reports whether a text is a 32-bit integer, spelled without a plus or needless zeros.
fn is_deletion_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    canonical && text.parse::<i32>().is_ok()
}
