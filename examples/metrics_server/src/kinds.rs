//! The kinds of `metrics.k8s.io/v1beta1`. Their fields are beside `metadata`, not in a `spec`, so nothing derives them.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Resource,
    core::{ApiResource, CustomResourceExt, TypeMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The amounts of `cpu` and `memory`, as quantities.
pub(crate) type Amounts = BTreeMap<String, String>;

/// The usage of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeMetrics {
    #[serde(flatten)]
    pub(crate) types: TypeMeta,
    pub(crate) metadata: ObjectMeta,
    pub(crate) timestamp: String,
    pub(crate) window: String,
    pub(crate) usage: Amounts,
}

/// The usage of the containers of a pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PodMetrics {
    #[serde(flatten)]
    pub(crate) types: TypeMeta,
    pub(crate) metadata: ObjectMeta,
    pub(crate) timestamp: String,
    pub(crate) window: String,
    pub(crate) containers: Vec<ContainerMetrics>,
}

/// The usage of a container.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ContainerMetrics {
    pub(crate) name: String,
    pub(crate) usage: Amounts,
}

fn usage() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

/// Returns the definition of a kind, from which its server is built.
fn definition(kind: &str, plural: &str, scope: &str, field: (&str, Value)) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": "Resource usage, measured in the window that ends at the timestamp.",
        "required": ["timestamp", "window", field.0],
        "properties": {
            "timestamp": {"type": "string", "format": "date-time"},
            "window": {"type": "string"},
        },
    });
    schema["properties"][field.0] = field.1;
    json!({
        "metadata": {"name": format!("{plural}.metrics.k8s.io")},
        "spec": {
            "group": "metrics.k8s.io",
            "scope": scope,
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": "",
            },
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

macro_rules! metrics {
    ($kind:ident, $plural:literal, $scope:ident, $definition:literal, $field:expr) => {
        impl Resource for $kind {
            type DynamicType = ();
            type Scope = k8s_openapi::$scope;

            fn kind(_: &()) -> Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group(_: &()) -> Cow<'_, str> {
                "metrics.k8s.io".into()
            }

            fn version(_: &()) -> Cow<'_, str> {
                "v1beta1".into()
            }

            fn plural(_: &()) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl CustomResourceExt for $kind {
            fn crd() -> CustomResourceDefinition {
                let definition = definition(stringify!($kind), $plural, $definition, $field);
                serde_json::from_value(definition).expect("a definition")
            }

            fn crd_name() -> &'static str {
                concat!($plural, ".metrics.k8s.io")
            }

            fn api_resource() -> ApiResource {
                ApiResource::erase::<Self>(&())
            }

            fn shortnames() -> &'static [&'static str] {
                &[]
            }
        }
    };
}

metrics!(
    NodeMetrics,
    "nodes",
    ClusterResourceScope,
    "Cluster",
    ("usage", usage())
);
metrics!(
    PodMetrics,
    "pods",
    NamespaceResourceScope,
    "Namespaced",
    ("containers", containers())
);
kubewright::custom_kind!(NodeMetrics, PodMetrics);

fn containers() -> Value {
    let properties = json!({"name": {"type": "string"}, "usage": usage()});
    let items = json!({"type": "object", "required": ["name", "usage"], "properties": properties});
    json!({"type": "array", "items": items})
}
