//! AppArmor profiles that are named by annotations, as before 1.30: they become fields when a pod is created.

use kubewright_machinery::field::Path;
use serde_json::{Value, json};

use super::annotations::APP_ARMOR;
use crate::json::{Read, Write, same};

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Sets the profiles of containers that only an annotation names.
pub(super) fn sync(pod: &mut Value) {
    for (list, i, change) in changes(pod) {
        let (Some(profile), false) = (change.profile, change.is_redundant) else {
            continue;
        };
        let containers = pod["spec"][list].as_array_mut();
        if let Some(container) = containers.and_then(|containers| containers.get_mut(i)) {
            container
                .field("securityContext")
                .put("appArmorProfile", profile);
        }
    }
}

/// Returns warnings about annotations that name a profile in place of a field.
pub(crate) fn warnings_before_create(pod: &Value) -> Vec<String> {
    let changes = changes(pod).into_iter().map(|(_, _, change)| change);
    let changes = changes.filter(|change| !(change.profile.is_some() && change.is_redundant));
    changes
        .map(|change| {
            let path = Path::new("metadata")
                .child("annotations")
                .key(&change.annotation);
            let text = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
            format!("{path}: {text}")
        })
        .collect()
}

/// An annotation of a container without a profile.
struct Change {
    annotation: String,
    /// The profile that the annotation names, if it is valid.
    profile: Option<Value>,
    /// Whether the pod as a whole has the same profile.
    is_redundant: bool,
}

/// Returns the annotations of containers that have no profile, by list and position.
fn changes(pod: &Value) -> Vec<(&'static str, usize, Change)> {
    let (annotations, spec) = (&pod["metadata"]["annotations"], &pod["spec"]);
    if !annotations.is_set() || spec["os"]["name"] == "windows" {
        return Vec::new();
    }
    let of_pod = &spec["securityContext"]["appArmorProfile"];
    let mut found = Vec::new();
    for list in LISTS {
        for (i, container) in spec[list].items().iter().enumerate() {
            let annotation = format!("{APP_ARMOR}{}", container["name"].text());
            let Some(named) = annotations.get(&annotation) else {
                continue;
            };
            if container["securityContext"]["appArmorProfile"].is_set() {
                continue;
            }
            let profile = profile(named.text());
            let is_redundant = profile
                .as_ref()
                .is_some_and(|profile| same(profile, of_pod));
            found.push((
                list,
                i,
                Change {
                    annotation,
                    profile,
                    is_redundant,
                },
            ));
        }
    }
    found
}

/// Returns the profile that the value of an annotation names.
fn profile(text: &str) -> Option<Value> {
    match text {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let name = text.strip_prefix("localhost/")?;
            let is_valid = !name.is_empty() && name.trim() == name && name.len() <= 4095;
            is_valid.then(|| json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(annotation: &str, spec: Value) -> Value {
        let annotations = json!({format!("{APP_ARMOR}c"): annotation});
        json!({"metadata": {"annotations": annotations}, "spec": spec})
    }

    #[test]
    fn an_annotation_becomes_a_field() {
        for (text, expected) in [
            ("unconfined", json!({"type": "Unconfined"})),
            ("runtime/default", json!({"type": "RuntimeDefault"})),
            (
                "localhost/p",
                json!({"type": "Localhost", "localhostProfile": "p"}),
            ),
            ("localhost/", Value::Null),
            ("localhost/ p", Value::Null),
            ("other", Value::Null),
        ] {
            let mut pod = pod(text, json!({"containers": [{"name": "c"}, {"name": "d"}]}));
            let warnings = warnings_before_create(&pod);
            assert_eq!(
                warnings,
                [
                    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: \
                  deprecated since v1.30; use the \"appArmorProfile\" field instead"
                ]
            );
            sync(&mut pod);
            let containers = &pod["spec"]["containers"];
            assert_eq!(
                containers[0]["securityContext"]["appArmorProfile"],
                expected
            );
            assert_eq!(containers[1], json!({"name": "d"}));
        }
    }

    #[test]
    fn a_profile_that_is_a_field_already_stays() {
        let profile = json!({"type": "RuntimeDefault"});
        let context = json!({"appArmorProfile": profile});
        let container = json!({"containers": [{"name": "c", "securityContext": context}]});
        let whole = json!({"containers": [{"name": "c"}], "securityContext": context});
        let windows = json!({"containers": [{"name": "c"}], "os": {"name": "windows"}});
        for spec in [container, whole, windows] {
            let mut pod = pod("runtime/default", spec.clone());
            assert!(warnings_before_create(&pod).is_empty());
            sync(&mut pod);
            assert_eq!(pod["spec"], spec);
        }
    }
}
