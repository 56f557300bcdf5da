//! The objects that a pod refers to by name.

use std::borrow::Cow;

use kubewright_machinery::json::Read;
use serde_json::Value;

/// The annotation of pods that a kubelet took from a file.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// The lists of containers in a pod.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The volumes that hold the name of a secret, and its path.
const SECRETS_OF_VOLUMES: [(&str, &[&str]); 10] = [
    ("azureFile", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("secret", &["secretName"]),
    ("scaleIO", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
];

/// Returns whether a kubelet took a pod from a file and only reports it.
pub(crate) fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

/// Returns the names of the secrets of a pod, some of them more than once.
pub(crate) fn secrets(pod: &Value) -> impl Iterator<Item = &str> {
    let spec = &pod["spec"];
    let pull = spec["imagePullSecrets"].items().iter().map(|s| &s["name"]);
    let environment = containers(spec).flat_map(|c| environment(c, "secretRef", "secretKeyRef"));
    let volumes = spec["volumes"].items().iter().flat_map(|volume| {
        let plain = SECRETS_OF_VOLUMES.iter().map(|(source, path)| {
            path.iter()
                .fold(&volume[*source], |value, part| &value[*part])
        });
        plain.chain(projected(volume, "secret"))
    });
    texts(pull.chain(environment).chain(volumes))
}

/// Returns the names of the config maps of a pod, some of them more than once.
pub(crate) fn config_maps(pod: &Value) -> impl Iterator<Item = &str> {
    let spec = &pod["spec"];
    let environment =
        containers(spec).flat_map(|c| environment(c, "configMapRef", "configMapKeyRef"));
    let volumes = spec["volumes"].items().iter().flat_map(|volume| {
        let whole = std::iter::once(&volume["configMap"]["name"]);
        whole.chain(projected(volume, "configMap"))
    });
    texts(environment.chain(volumes))
}

/// Returns the names of the volume claims of a pod.
pub(crate) fn volume_claims(pod: &Value) -> impl Iterator<Item = Cow<'_, str>> {
    let volumes = pod["spec"]["volumes"].items().iter();
    volumes.filter_map(|volume| volume_claim(pod, volume))
}

/// Returns the name of the claim of a pod's volume, if it has one.
pub(crate) fn volume_claim<'a>(pod: &'a Value, volume: &'a Value) -> Option<Cow<'a, str>> {
    let claim = &volume["persistentVolumeClaim"];
    match (claim.is_set(), volume["ephemeral"].is_set()) {
        (true, _) => Some(claim["claimName"].text().into()),
        // A claim that is made for the pod is named after both.
        (false, true) => {
            let pod = pod["metadata"]["name"].text();
            Some(format!("{pod}-{}", volume["name"].text()).into())
        }
        (false, false) => None,
    }
}

/// Returns the names of the resource claims of a pod, as far as they exist.
pub(crate) fn resource_claims(pod: &Value) -> impl Iterator<Item = &str> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let claims = spec["resourceClaims"].items().iter().map(|claim| {
        if claim["resourceClaimName"].is_set() {
            return &claim["resourceClaimName"];
        }
        let made = status["resourceClaimStatuses"].items().iter();
        let mut made = made.filter(|made| made["name"] == claim["name"]);
        match claim["resourceClaimTemplateName"].is_set() {
            true => made
                .next()
                .map_or(&Value::Null, |made| &made["resourceClaimName"]),
            false => &Value::Null,
        }
    });
    let extended = &status["extendedResourceClaimStatus"]["resourceClaimName"];
    texts(claims.chain([extended]))
}

/// Returns the names of the objects that environment variables of a container are taken from, whole or key by key.
fn environment<'a>(
    container: &'a Value,
    all: &'static str,
    key: &'static str,
) -> impl Iterator<Item = &'a Value> {
    let whole = container["envFrom"].items().iter();
    let whole = whole.map(move |source| &source[all]["name"]);
    let keys = container["env"].items().iter();
    whole.chain(keys.map(move |variable| &variable["valueFrom"][key]["name"]))
}

/// Returns the containers of a pod: those that initialize, the others, and the ephemeral ones.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let lists = CONTAINER_LISTS.iter().map(|list| &spec[*list]);
    lists.flat_map(|list| list.items())
}

fn projected<'a>(volume: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    let sources = volume["projected"]["sources"].items().iter();
    sources.map(move |projection| &projection[kind]["name"])
}

fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> impl Iterator<Item = &'a str> {
    values
        .map(|value| value.text())
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_reference_of_a_pod_is_found() {
        let pod = json!({"spec": {
            "imagePullSecrets": [{"name": "pull"}, {}],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}, {"configMapRef": {"name": "m-init"}}]}],
            "containers": [{"env": [
                {"name": "a", "valueFrom": {"secretKeyRef": {"name": "key"}}},
                {"name": "b", "valueFrom": {"configMapKeyRef": {"name": "m-key"}}},
                {"name": "c", "value": "plain"},
            ]}],
            "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "debug"}}]}],
            "volumes": [
                {"secret": {"secretName": "volume"}}, {"configMap": {"name": "m-volume"}},
                {"csi": {"nodePublishSecretRef": {"name": "csi"}}},
                {"projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "m-part"}}]}},
            ],
        }});
        let found: Vec<&str> = secrets(&pod).collect();
        let all = ["pull", "init", "key", "debug", "volume", "csi", "part"];
        assert_eq!(found, all);
        assert_eq!(secrets(&Value::Null).count(), 0);
        let found: Vec<&str> = config_maps(&pod).collect();
        assert_eq!(found, ["m-init", "m-key", "m-volume", "m-part"]);
    }

    #[test]
    fn claims_are_named_by_the_pod_or_made_for_it() {
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {
                "volumes": [
                    {"name": "a", "persistentVolumeClaim": {"claimName": "given"}},
                    {"name": "b", "ephemeral": {"volumeClaimTemplate": {}}},
                    {"name": "c", "emptyDir": {}},
                ],
                "resourceClaims": [
                    {"name": "x", "resourceClaimName": "given"},
                    {"name": "y", "resourceClaimTemplateName": "t"},
                    {"name": "z", "resourceClaimTemplateName": "t"},
                ],
            },
            "status": {
                "resourceClaimStatuses": [{"name": "y", "resourceClaimName": "made"}],
                "extendedResourceClaimStatus": {"resourceClaimName": "extended"},
            },
        });
        assert_eq!(volume_claims(&pod).collect::<Vec<_>>(), ["given", "p-b"]);
        let found: Vec<&str> = resource_claims(&pod).collect();
        assert_eq!(found, ["given", "made", "extended"]);
    }
}
