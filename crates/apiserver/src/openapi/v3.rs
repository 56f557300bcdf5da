//! OpenAPI v3: one document for each group version.

use std::collections::BTreeMap;

use kubewright_machinery::gvk::{GroupVersion, GroupVersionKind};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    Descriptions, Info, SecurityScheme,
    definitions::Definitions,
    model::{self, Content, Method, Path},
    reason,
    schema::{AnySchema, Dialect},
};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    openapi: &'static str,
    info: Info<'a>,
    paths: BTreeMap<String, PathItem<'a>>,
    components: Components<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components<'a> {
    schemas: BTreeMap<String, AnySchema<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_schemes: Option<SecuritySchemes>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SecuritySchemes {
    bearer_token: SecurityScheme,
}

/// Operations by method, then the parameters that all of them share.
struct PathItem<'a> {
    operations: Vec<(Method, Operation<'a>)>,
    parameters: Vec<Parameter<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Operation<'a> {
    tags: [String; 1],
    description: String,
    operation_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Parameter<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<RequestBody>,
    responses: BTreeMap<u16, Response>,
    #[serde(
        rename = "x-kubernetes-action",
        skip_serializing_if = "Option::is_none"
    )]
    action: Option<&'static str>,
    #[serde(
        rename = "x-kubernetes-group-version-kind",
        skip_serializing_if = "Option::is_none"
    )]
    kind: Option<Kind>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    r#in: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
    schema: ParameterSchema,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterSchema {
    r#type: &'static str,
    unique_items: bool,
}

#[derive(Serialize)]
struct RequestBody {
    content: BTreeMap<&'static str, Media>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
}

#[derive(Serialize)]
struct Response {
    description: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    content: BTreeMap<&'static str, Media>,
}

#[derive(Clone, Serialize)]
struct Media {
    schema: MediaSchema,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum MediaSchema {
    Object {
        #[serde(rename = "$ref")]
        reference: String,
    },
    Text {
        r#type: &'static str,
    },
}

#[derive(Serialize)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl<'a> Document<'a> {
    /// Builds the document of these paths. The home is the group version of the document.
    pub(super) fn new(
        info: Info<'a>,
        secured: bool,
        paths: Vec<Path<'a>>,
        descriptions: &'a dyn Descriptions,
        home: GroupVersion,
    ) -> Self {
        let mut definitions = Definitions::new(Dialect::V3, descriptions, Some(home));
        let paths = paths
            .into_iter()
            .map(|mut path| {
                let common = path.hoist();
                let item = PathItem {
                    operations: path
                        .operations
                        .into_iter()
                        .map(|(method, source)| (method, operation(source, &mut definitions)))
                        .collect(),
                    parameters: common.into_iter().map(parameter).collect(),
                };
                (path.template, item)
            })
            .collect();
        Self {
            openapi: "3.0.0",
            info,
            paths,
            components: Components {
                schemas: definitions.finish(),
                security_schemes: secured.then_some(SecuritySchemes {
                    bearer_token: SecurityScheme::v3(),
                }),
            },
        }
    }
}

impl Serialize for PathItem<'_> {
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

fn operation<'a>(source: model::Operation<'a>, definitions: &mut Definitions<'a>) -> Operation<'a> {
    let request_body = source.body.map(|body| {
        let schema = MediaSchema::Object {
            reference: definitions.refer(&body.content),
        };
        RequestBody {
            content: media(source.consumes, &schema),
            required: body.required,
        }
    });
    let responses = source.responses.iter().map(|(code, content)| {
        let schema = match content {
            Content::Object(definition) => Some(MediaSchema::Object {
                reference: definitions.refer(definition),
            }),
            Content::Text => Some(MediaSchema::Text { r#type: "string" }),
            Content::Nothing => None,
        };
        let response = Response {
            description: reason(*code),
            content: schema.map_or_else(BTreeMap::new, |schema| media(source.produces, &schema)),
        };
        (*code, response)
    });
    Operation {
        responses: responses.collect(),
        tags: [source.tag],
        description: source.description,
        operation_id: source.id,
        parameters: source.parameters.into_iter().map(parameter).collect(),
        request_body,
        action: source.action,
        kind: source.kind.map(
            |GroupVersionKind {
                 group,
                 version,
                 kind,
             }| Kind {
                group,
                version,
                kind,
            },
        ),
    }
}

fn media(types: &[&'static str], schema: &MediaSchema) -> BTreeMap<&'static str, Media> {
    let entry = |name: &&'static str| {
        let schema = schema.clone();
        (*name, Media { schema })
    };
    types.iter().map(entry).collect()
}

fn parameter(source: model::Parameter<'_>) -> Parameter<'_> {
    Parameter {
        name: source.name,
        r#in: source.location.key(),
        description: source.description,
        required: source.location == model::Location::Path,
        schema: ParameterSchema {
            r#type: source.ty,
            unique_items: true,
        },
    }
}
