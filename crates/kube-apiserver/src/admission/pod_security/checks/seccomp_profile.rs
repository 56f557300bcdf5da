//! The seccomp profile may be the default of the runtime or a profile of the node; `restricted` requires one. Before 1.19 it
//! was named by annotations.

use std::collections::BTreeSet;

use kubewright_machinery::{go, json::Read};
use serde_json::Value;

use super::{Check, Pod, Violation, containers, name, plural, quoted, setters};

pub(super) const BASELINE: Check = Check {
    id: "seccompProfile_baseline",
    revisions: &[(0, check_annotations), (19, check_allowed)],
    replaces: "",
};

pub(super) const RESTRICTED: Check = Check {
    id: "seccompProfile_restricted",
    revisions: &[(19, check_required), (25, check_required_unless_windows)],
    replaces: BASELINE.id,
};

const REASON: &str = "seccompProfile";
/// The annotation that names the profile of a pod.
const POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The prefix of annotations that name the profile of a container.
const CONTAINER_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

fn check_annotations(pod: &Pod<'_>) -> Option<Violation> {
    let of_containers = pod
        .containers()
        .map(|container| format!("{CONTAINER_ANNOTATION}{}", name(container)));
    let keys = std::iter::once(POD_ANNOTATION.to_owned()).chain(of_containers);
    let bad: BTreeSet<String> = keys
        .filter_map(|key| {
            let value = pod.metadata["annotations"].get(&key)?.text();
            let is_allowed = matches!(value, "runtime/default" | "docker/default")
                || value.starts_with("localhost/");
            (!is_allowed).then(|| format!("{key}={}", go::quote(value)))
        })
        .collect();
    (!bad.is_empty()).then(|| {
        let word = plural("annotation", "annotations", bad.len());
        let bad: Vec<String> = bad.into_iter().collect();
        Violation::new(REASON, format!("forbidden {word} {}", bad.join(", ")))
    })
}

fn check_allowed(pod: &Pod<'_>) -> Option<Violation> {
    let bad_pod = bad_type(pod.security_context());
    let bad = pod.containers_with(|context| bad_type(context).is_some());
    let setters = setters(bad_pod.is_some(), &bad)?;
    let of_containers = pod
        .containers()
        .filter_map(|container| bad_type(&container["securityContext"]));
    let types: BTreeSet<&str> = bad_pod.into_iter().chain(of_containers).collect();
    let types = quoted(types);
    let detail = format!("{setters} must not set securityContext.seccompProfile.type to {types}");
    Some(Violation::new(REASON, detail))
}

fn check_required(pod: &Pod<'_>) -> Option<Violation> {
    let forbidden = check_allowed(pod);
    if forbidden.is_some() || pod.security_context()["seccompProfile"].is_set() {
        return forbidden;
    }
    let silent = pod.containers_with(|context| context["seccompProfile"].is_null());
    (!silent.is_empty()).then(|| {
        let detail = format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            containers(&silent)
        );
        Violation::new(REASON, detail)
    })
}

fn check_required_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    match pod.is_windows() {
        true => None,
        false => check_required(pod),
    }
}

/// Returns the type of a profile that is not allowed.
fn bad_type(context: &Value) -> Option<&str> {
    let profile = &context["seccompProfile"];
    let name = profile["type"].text();
    (profile.is_set() && !matches!(name, "RuntimeDefault" | "Localhost")).then_some(name)
}
