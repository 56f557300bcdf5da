//! The secrets that a pod refers to by name.

use kubewright_machinery::json::Read;
use serde_json::Value;

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

/// Returns the names of the secrets of a pod, some of them more than once.
pub(crate) fn secrets(pod: &Value) -> impl Iterator<Item = &str> {
    let spec = &pod["spec"];
    let pull = spec["imagePullSecrets"].items().iter().map(|s| &s["name"]);
    let environment = containers(spec).flat_map(environment);
    let volumes = spec["volumes"].items().iter().flat_map(|volume| {
        let plain = SECRETS_OF_VOLUMES.iter().map(|(source, path)| {
            path.iter()
                .fold(&volume[*source], |value, part| &value[*part])
        });
        plain.chain(projected(volume))
    });
    texts(pull.chain(environment).chain(volumes))
}

/// Returns the names of the secrets that environment variables of a container are taken from.
fn environment(container: &Value) -> impl Iterator<Item = &Value> {
    let whole = container["envFrom"].items().iter();
    let whole = whole.map(|source| &source["secretRef"]["name"]);
    let keys = container["env"].items().iter();
    whole.chain(keys.map(|variable| &variable["valueFrom"]["secretKeyRef"]["name"]))
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let lists = CONTAINER_LISTS.iter().map(|list| &spec[*list]);
    lists.flat_map(|list| list.items())
}

fn projected(volume: &Value) -> impl Iterator<Item = &Value> {
    let sources = volume["projected"]["sources"].items().iter();
    sources.map(|projection| &projection["secret"]["name"])
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
    }
}
