//! The AppArmor profile may be the default of the runtime or a profile of the node, by a field or by an annotation.

use std::collections::BTreeSet;

use kubewright_machinery::{go, json::Read};
use serde_json::Value;

use super::{Check, Pod, Violation, plural, quoted, setters};

pub(super) const CHECK: Check = Check {
    id: "appArmorProfile",
    revisions: &[(0, check)],
    replaces: "",
};

/// The prefix of annotations that name the profile of a container.
const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad_pod = bad_type(pod.security_context());
    let bad_containers = pod.containers_with(|context| bad_type(context).is_some());
    let of_containers = pod
        .containers()
        .filter_map(|container| bad_type(&container["securityContext"]));
    let types: BTreeSet<&str> = bad_pod.into_iter().chain(of_containers).collect();
    let annotations = bad_annotations(pod);
    let mut setters: Vec<String> = setters(bad_pod.is_some(), &bad_containers)
        .into_iter()
        .collect();
    if !annotations.is_empty() {
        setters.push(plural("annotation", "annotations", annotations.len()).to_owned());
    }
    if setters.is_empty() {
        return None;
    }
    let values = types.len() + annotations.len();
    let values_text = quoted(
        types
            .into_iter()
            .chain(annotations.iter().map(String::as_str)),
    );
    Some(Violation::new(
        plural(
            "forbidden AppArmor profile",
            "forbidden AppArmor profiles",
            values,
        ),
        format!(
            "{} must not set AppArmor profile type to {values_text}",
            setters.join(" and ")
        ),
    ))
}

/// Returns the type of a profile that is not allowed.
fn bad_type(context: &Value) -> Option<&str> {
    let profile = &context["appArmorProfile"];
    let name = profile["type"].text();
    (profile.is_set() && !matches!(name, "RuntimeDefault" | "Localhost")).then_some(name)
}

/// Returns the annotations that name a profile that is not allowed, sorted.
fn bad_annotations(pod: &Pod<'_>) -> Vec<String> {
    let annotations = pod.metadata["annotations"].entries().into_iter();
    let is_allowed = |profile: &str| {
        matches!(profile, "" | "runtime/default") || profile.starts_with("localhost/")
    };
    let mut bad: Vec<String> = annotations
        .filter(|(key, value)| key.starts_with(ANNOTATION) && !is_allowed(value.text()))
        .map(|(key, value)| format!("{key}={}", go::quote(value.text())))
        .collect();
    bad.sort_unstable();
    bad
}
