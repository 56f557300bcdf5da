//! Objects that another object refers to by name, without owning them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The maximum depth of fields.
const DEEPEST: usize = 32;

/// Fields that have the name of an object, and its kind.
const NAMES: [(&str, &str); 10] = [
    ("claimName", "PersistentVolumeClaim"),
    ("ingressClassName", "IngressClass"),
    ("nodeName", "Node"),
    ("priorityClassName", "PriorityClass"),
    ("runtimeClassName", "RuntimeClass"),
    ("secretName", "Secret"),
    ("serviceAccountName", "ServiceAccount"),
    ("serviceName", "Service"),
    ("storageClassName", "StorageClass"),
    ("volumeName", "PersistentVolume"),
];

/// Fields with an object that has a name, and the kind of the named object.
const NAMED: [(&str, &str); 8] = [
    ("configMap", "ConfigMap"),
    ("configMapKeyRef", "ConfigMap"),
    ("configMapRef", "ConfigMap"),
    ("imagePullSecrets", "Secret"),
    ("secret", "Secret"),
    ("secretKeyRef", "Secret"),
    ("secretRef", "Secret"),
    ("service", "Service"),
];

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Reference {
    /// The kind, or the name of the field if it does not name a kind: `database` for `databaseRef`.
    pub(super) kind: String,
    pub(super) name: String,
    /// The namespace, if it is that of the reference and not that of the object.
    pub(super) namespace: Option<String>,
}

/// Returns the references of an object: by the fields that kinds of Kubernetes use, and by fields whose names end in `Ref`.
pub(super) fn references(object: &Value) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        if !matches!(field.as_str(), "metadata" | "status") {
            collect(field, value, 0, &mut found);
        }
    }
    found
}

fn collect(field: &str, value: &Value, depth: usize, found: &mut BTreeSet<Reference>) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(name) => {
            let kind = NAMES.iter().find(|(known, _)| *known == field);
            if let (Some((_, kind)), false) = (kind, name.is_empty()) {
                found.insert(Reference {
                    kind: (*kind).to_owned(),
                    name: name.clone(),
                    namespace: None,
                });
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(field, item, depth + 1, found);
            }
        }
        Value::Object(map) => {
            found.extend(named(field, map));
            for (field, value) in map {
                collect(field, value, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// Returns the object that a field refers to.
fn named(field: &str, map: &Map<String, Value>) -> Option<Reference> {
    let text = |key: &str| map.get(key)?.as_str().filter(|text| !text.is_empty());
    let is_reference = field == "subjects" || field.ends_with("Ref");
    let known = NAMED.iter().find(|(known, _)| *known == field);
    let kind = match (known, text("kind")) {
        (Some((_, kind)), _) => *kind,
        (None, Some(kind)) if is_reference => kind,
        (None, None) => field.strip_suffix("Ref").filter(|kind| !kind.is_empty())?,
        (None, Some(_)) => return None,
    };
    Some(Reference {
        kind: kind.to_owned(),
        name: text("name")?.to_owned(),
        namespace: text("namespace").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(object: &Value) -> Vec<String> {
        let found = references(object);
        let words = found.iter().map(|it| match &it.namespace {
            Some(namespace) => format!("{} {namespace}/{}", it.kind, it.name),
            None => format!("{} {}", it.kind, it.name),
        });
        words.collect()
    }

    #[test]
    fn the_references_of_a_pod_are_found() {
        let pod = json!({
            "kind": "Pod", "metadata": {"name": "web", "annotations": {"secretName": "no"}},
            "spec": {
                "serviceAccountName": "web", "imagePullSecrets": [{"name": "registry"}],
                "containers": [{
                    "name": "c",
                    "envFrom": [{"configMapRef": {"name": "colours"}}],
                    "env": [{"name": "x", "valueFrom": {"secretKeyRef": {"name": "token", "key": "k"}}}],
                }],
                "volumes": [
                    {"name": "data", "persistentVolumeClaim": {"claimName": "disk"}},
                    {"name": "tls", "secret": {"secretName": "tls"}},
                    {"name": "c", "configMap": {"name": "colours"}},
                ],
            },
            "status": {"nodeName": "no"},
        });
        assert_eq!(
            words(&pod),
            [
                "ConfigMap colours",
                "PersistentVolumeClaim disk",
                "Secret registry",
                "Secret tls",
                "Secret token",
                "ServiceAccount web",
            ]
        );
    }

    #[test]
    fn fields_that_end_in_ref_are_references() {
        let object = json!({
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
                "databaseRef": {"name": "main", "namespace": "data"},
                "fieldRef": {"fieldPath": "metadata.name"},
                "selector": {"kind": "Pod", "name": "no"},
            },
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "ops"}],
        });
        assert_eq!(
            words(&object),
            [
                "Deployment web",
                "ServiceAccount ops/robot",
                "database data/main"
            ]
        );
    }
}
