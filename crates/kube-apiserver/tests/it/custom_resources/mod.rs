//! Custom kinds that are defined while the server runs, from the CustomResourceDefinition to the last object.

mod apply;
mod bad_input;
mod cleanup;
mod definitions;
mod numbers;
mod objects;
mod subresources;
mod versions;
mod watches;
pub(crate) mod webhooks;

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::Http;

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A version of the kind.
pub(crate) fn version(name: &str, storage: bool, schema: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

/// A schema whose `spec` has these properties.
pub(crate) fn spec(properties: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

/// A definition of widgets with these versions.
pub(crate) fn definition(versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions,
        },
    })
}

/// A definition of widgets whose `spec` has these properties.
pub(crate) fn simple(properties: Value) -> Value {
    definition(json!([version("v1", true, spec(properties))]))
}

/// A widget.
pub(crate) fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// A cluster that knows widgets.
pub(crate) async fn cluster(definition: Value) -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(CRDS, definition).await.ok();
    (cluster, http)
}

/// The path of a widget.
pub(crate) fn at(name: &str) -> String {
    format!("{WIDGETS}/{name}")
}
