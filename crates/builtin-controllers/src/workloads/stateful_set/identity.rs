//! Names, ordinals and labels of the pods of a StatefulSet.

use kube::ResourceExt;
use serde_json::{Value, json};

use crate::workloads::objects::{Pod, StatefulSet};

/// The label with the name of a pod.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// The label with the ordinal of a pod.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The label with the revision of a pod.
pub(super) const REVISION: &str = "controller-revision-hash";

/// Splits the name of a pod into that of its set and the ordinal.
pub(super) fn parse(pod: &str) -> Option<(&str, i32)> {
    let (parent, ordinal) = pod.rsplit_once('-')?;
    let is_number = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
    Some((parent, is_number.then(|| ordinal.parse().ok())??))
}

/// Returns the ordinal of a pod.
pub(super) fn ordinal(pod: &Pod) -> Option<i32> {
    Some(parse(pod.metadata.name.as_deref()?)?.1)
}

/// Reports whether the name of a pod is one of the set's.
pub(super) fn is_member(set: &StatefulSet, pod: &Pod) -> bool {
    let name = pod.metadata.name.as_deref().and_then(parse);
    name.is_some_and(|(parent, _)| Some(parent) == set.metadata.name.as_deref())
}

/// Returns the name of a pod.
pub(super) fn pod_name(set: &StatefulSet, ordinal: i32) -> String {
    format!("{}-{ordinal}", set.name_any())
}

/// Returns the name of a claim.
pub(super) fn claim_name(set: &StatefulSet, template: &Value, ordinal: i32) -> String {
    let template = template["metadata"]["name"].as_str().unwrap_or_default();
    format!("{template}-{}-{ordinal}", set.name_any())
}

/// Reports whether the name and labels of a pod are those of its ordinal.
pub(super) fn identity_matches(set: &StatefulSet, pod: &Pod) -> bool {
    let Some(ordinal) = ordinal(pod).filter(|_| is_member(set, pod)) else {
        return false;
    };
    let name = pod.metadata.name.as_deref();
    name == Some(pod_name(set, ordinal).as_str()) && pod.label(POD_NAME) == name
}

/// Reports whether a pod uses the claims of its ordinal.
pub(super) fn storage_matches(set: &StatefulSet, pod: &Pod) -> bool {
    let Some(ordinal) = ordinal(pod) else {
        return false;
    };
    set.spec.volume_claim_templates.iter().all(|template| {
        let wanted = claim_name(set, template, ordinal);
        pod.spec.volumes.iter().any(|volume| {
            let claim = volume.persistent_volume_claim.as_ref();
            template["metadata"]["name"] == volume.name.as_str()
                && claim.is_some_and(|claim| claim.claim_name == wanted)
        })
    })
}

/// Gives a pod, as JSON, the labels of its ordinal.
pub(super) fn set_identity(set: &StatefulSet, ordinal: i32, pod: &mut Value) {
    let name = pod_name(set, ordinal);
    pod["metadata"]["name"] = json!(name);
    pod["metadata"]["labels"][POD_NAME] = json!(name);
    pod["metadata"]["labels"][POD_INDEX] = json!(ordinal.to_string());
}

/// Gives a pod, as JSON, the claims of its ordinal. They replace volumes of the same names.
pub(super) fn set_storage(set: &StatefulSet, ordinal: i32, pod: &mut Value) {
    let templates = &set.spec.volume_claim_templates;
    if templates.is_empty() {
        return;
    }
    let volume = |template: &Value| {
        let claim = claim_name(set, template, ordinal);
        json!({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}})
    };
    let mut volumes: Vec<Value> = templates.iter().map(volume).collect();
    let others = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let others = others.filter(|volume| {
        let mut claims = templates.iter();
        !claims.any(|template| template["metadata"]["name"] == volume["name"])
    });
    volumes.extend(others.cloned());
    pod["spec"]["volumes"] = json!(volumes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinal_is_the_number_at_the_end_of_the_name() {
        assert_eq!(parse("web-0"), Some(("web", 0)));
        assert_eq!(parse("web-1-12"), Some(("web-1", 12)));
        for name in ["web", "web-", "web-x", "web-+1", "web-99999999999"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
