//! Schemas of types of k8s-openapi, so that its feature `schemars`, which doubles its compile time, is not needed for them.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::{
    api::resource::Quantity,
    apis::meta::v1::{Condition, MicroTime, Time},
    util::intstr::IntOrString,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::json;

use crate::node::Node;

/// A type of k8s-openapi whose schema is known here.
pub trait WellKnown {
    /// Returns the schema of the type.
    fn node() -> Node;
}

/// Chooses the schema of a type at compile time: that of `WellKnown` if the type implements it, otherwise that of
/// `JsonSchema`.
///
/// Method resolution finds [`ViaWellKnown`] first, because it needs one reference less than [`ViaJsonSchema`].
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// Creates a probe.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// The schema of a well-known type.
pub trait ViaWellKnown {
    /// Returns the schema.
    fn node(&self, generator: &mut SchemaGenerator) -> Node;
}

impl<T: WellKnown> ViaWellKnown for Probe<T> {
    fn node(&self, _: &mut SchemaGenerator) -> Node {
        T::node()
    }
}

/// The schema of any other type.
pub trait ViaJsonSchema {
    /// Returns the schema.
    fn node(&self, generator: &mut SchemaGenerator) -> Node;
}

impl<T: JsonSchema> ViaJsonSchema for &Probe<T> {
    fn node(&self, generator: &mut SchemaGenerator) -> Node {
        Node::of::<T>(generator)
    }
}

fn date_time() -> Node {
    Node::empty()
        .set("type", json!("string"))
        .set("format", json!("date-time"))
}

impl WellKnown for Time {
    fn node() -> Node {
        date_time()
    }
}

impl WellKnown for MicroTime {
    fn node() -> Node {
        date_time()
    }
}

impl WellKnown for Quantity {
    fn node() -> Node {
        Node::empty().quantity()
    }
}

impl WellKnown for IntOrString {
    fn node() -> Node {
        Node::empty().int_or_string()
    }
}

impl WellKnown for Condition {
    /// Returns the schema that controller-gen writes for `metav1.Condition`, with shorter descriptions.
    fn node() -> Node {
        let string = |description: &str| {
            Node::empty()
                .set("type", json!("string"))
                .set("description", json!(description))
        };
        let mut node = Node::object().set(
            "description",
            json!("Condition contains details for one aspect of the current state of this API resource."),
        );
        node.property(
            "lastTransitionTime",
            date_time().set(
                "description",
                json!("The last time the condition changed from one status to another."),
            ),
            true,
            false,
        );
        node.property(
            "message",
            string("A human-readable message with details about the last change. May be empty.")
                .set("maxLength", json!(32768)),
            true,
            false,
        );
        node.property(
            "observedGeneration",
            Node::empty()
                .set("type", json!("integer"))
                .set("format", json!("int64"))
                .set("minimum", json!(0))
                .set(
                    "description",
                    json!("The .metadata.generation that the condition was set based upon."),
                ),
            false,
            false,
        );
        node.property(
            "reason",
            string("A CamelCase identifier of the reason for the last change.")
                .set("minLength", json!(1))
                .set("maxLength", json!(1024))
                .set("pattern", json!("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")),
            true,
            false,
        );
        node.property(
            "status",
            string("The status of the condition: True, False or Unknown.")
                .set("enum", json!(["True", "False", "Unknown"])),
            true,
            false,
        );
        node.property(
            "type",
            string("The type of the condition, in CamelCase or foo.example.com/CamelCase.")
                .set("maxLength", json!(316))
                .set(
                    "pattern",
                    json!(
                        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                    ),
                ),
            true,
            false,
        );
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::needless_borrow, reason = "as the derive writes it")]
    fn well_known_types_need_no_json_schema_and_others_use_theirs() {
        let mut generator = SchemaGenerator::default();
        let time = (&Probe::<Time>::new()).node(&mut generator).into_value();
        assert_eq!(time, json!({"type": "string", "format": "date-time"}));
        let number = (&Probe::<i32>::new()).node(&mut generator).into_value();
        assert_eq!(number, json!({"type": "integer", "format": "int32"}));
        let condition = (&Probe::<Condition>::new())
            .node(&mut generator)
            .into_value();
        assert_eq!(condition["properties"]["status"]["enum"][0], "True");
        assert_eq!(
            condition["required"],
            json!(["lastTransitionTime", "message", "reason", "status", "type"])
        );
    }
}
