//! The parts of a document that OpenAPI v2 and v3 have in common.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    definitions::Definitions,
    model::{self, Content, Method, Path},
};

/// The operations of a path by method, then the parameters that all of them share.
pub(super) struct PathItem<O, P> {
    operations: Vec<(Method, O)>,
    parameters: Vec<P>,
}

/// Converts the operations and parameters of paths into those of a document.
pub(super) trait Convert<'a> {
    type Operation;
    type Parameter;

    fn operation(&mut self, source: model::Operation<'a>) -> Self::Operation;
    fn parameter(&mut self, source: model::Parameter<'a>) -> Self::Parameter;
}

/// Returns the items of paths by their templates.
pub(super) fn items<'a, C: Convert<'a>>(
    paths: Vec<Path<'a>>,
    convert: &mut C,
) -> BTreeMap<String, PathItem<C::Operation, C::Parameter>> {
    let mut items = BTreeMap::new();
    for mut path in paths {
        let common = path.hoist();
        let operations = path.operations.into_iter();
        let item = PathItem {
            operations: operations
                .map(|(method, source)| (method, convert.operation(source)))
                .collect(),
            parameters: common.into_iter().map(|p| convert.parameter(p)).collect(),
        };
        items.insert(path.template, item);
    }
    items
}

impl<O: Serialize, P: Serialize> Serialize for PathItem<O, P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (method, operation) in &self.operations {
            map.serialize_entry(method.key(), operation)?;
        }
        if !self.parameters.is_empty() {
            map.serialize_entry("parameters", &self.parameters)?;
        }
        map.end()
    }
}

/// The fields of an operation that Kubernetes adds.
#[derive(Serialize)]
pub(super) struct Extensions<K> {
    #[serde(
        rename = "x-kubernetes-action",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) action: Option<&'static str>,
    #[serde(
        rename = "x-kubernetes-group-version-kind",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) kind: Option<K>,
}

/// The schema of a body.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(super) enum BodySchema {
    /// A definition.
    Object {
        /// Its path in the document.
        #[serde(rename = "$ref")]
        reference: String,
    },
    /// Plain text.
    Text {
        /// Always `string`.
        r#type: &'static str,
    },
}

impl BodySchema {
    /// Returns the schema of a response, if it has a body.
    pub(super) fn of(content: &Content, definitions: &mut Definitions<'_>) -> Option<Self> {
        match content {
            Content::Object(definition) => Some(Self::Object {
                reference: definitions.refer(definition),
            }),
            Content::Text => Some(Self::Text { r#type: "string" }),
            Content::Nothing => None,
        }
    }
}
