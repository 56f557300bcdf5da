//! The custom resources of the cases: a definition with a schema and three CEL rules, and objects of 4 KB.

use serde_json::{Value, json};

/// The group of all definitions here.
const GROUP: &str = "bench.example.com";

/// The path of CustomResourceDefinitions.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Returns the plural of the definition with a number.
pub(super) fn plural(number: usize) -> String {
    format!("widget{number}s")
}

/// Returns the path of the objects of a definition.
pub(super) fn path(number: usize, namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/{}", plural(number))
}

/// Returns the definition with a number, as JSON.
pub(super) fn definition(number: usize) -> String {
    let plural = plural(number);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": format!("widget{number}"),
                "kind": format!("Widget{number}"), "listKind": format!("Widget{number}List"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                ],
                "schema": {"openAPIV3Schema": schema()},
            }],
        },
    })
    .to_string()
}

/// Returns an object of about 4 KB of the definition with a number.
pub(super) fn object(number: usize, name: &str) -> String {
    object_of(&format!("{GROUP}/v1"), &format!("Widget{number}"), name)
}

/// Returns such an object of any kind.
pub(super) fn object_of(api_version: &str, kind: &str, name: &str) -> String {
    let settings: Vec<Value> = (0..42)
        .map(|n| {
            json!({
                "name": format!("SETTING_{n}"),
                "value": format!("the value of setting {n}, long enough to say something"),
            })
        })
        .collect();
    let ports = [("http", 8080), ("https", 8443), ("metrics", 9090)];
    let ports = ports.map(|(name, port)| json!({"name": name, "port": port, "protocol": "TCP"}));
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "front"}},
        "spec": {
            "replicas": 3, "minReplicas": 1, "maxReplicas": 5, "mode": "Rolling",
            "image": "registry.example.com/team/widget:1.2.3",
            "ports": ports,
            "settings": settings,
        },
    })
    .to_string()
}

/// It has the usual kinds of rules: a comparison of fields, a rule over a list, a rule on strings.
fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["replicas", "image"],
                "x-kubernetes-validations": [
                    {"rule": "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
                     "message": "replicas must be between minReplicas and maxReplicas"},
                    {"rule": "self.ports.all(p, p.port > 0 && p.port < 65536)"},
                    {"rule": "self.image.contains(':') && !self.image.endsWith(':latest')"},
                ],
                "properties": {
                    "replicas": {"type": "integer", "minimum": 0},
                    "minReplicas": {"type": "integer", "default": 0},
                    "maxReplicas": {"type": "integer", "default": 10},
                    "mode": {"type": "string", "enum": ["Rolling", "Recreate"], "default": "Rolling"},
                    "paused": {"type": "boolean", "default": false},
                    "image": {"type": "string", "maxLength": 200, "pattern": "^[a-z0-9./:-]+$"},
                    "ports": {
                        "type": "array", "maxItems": 20,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object", "required": ["name", "port"],
                            "properties": {
                                "name": {"type": "string", "maxLength": 15},
                                "port": {"type": "integer"},
                                "protocol": {"type": "string", "default": "TCP"},
                            },
                        },
                    },
                    "settings": {
                        "type": "array", "maxItems": 100,
                        "items": {
                            "type": "object", "required": ["name"],
                            "properties": {
                                "name": {"type": "string", "maxLength": 63},
                                "value": {"type": "string", "maxLength": 200},
                            },
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"readyReplicas": {"type": "integer"}}},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_about_four_kilobytes() {
        let length = object(1, "web-0000000000").len();
        assert!((3800..4600).contains(&length), "{length}");
    }
}
