//! OpenAPI v2: one document for everything.
//!
//! Parameters that several operations share are defined once, under a name that contains a hash of their content.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_URL_SAFE};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    Descriptions, Info, SecurityScheme,
    definitions::Definitions,
    json,
    model::{self, Content, Location, Method, Path},
    reason,
    schema::{AnySchema, Dialect},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    swagger: &'static str,
    info: Info<'a>,
    paths: BTreeMap<String, PathItem<'a>>,
    definitions: BTreeMap<String, AnySchema<'a>>,
    parameters: BTreeMap<String, Parameter<'a>>,
    security_definitions: BearerToken<SecurityScheme>,
    security: [BearerToken<[(); 0]>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct BearerToken<T> {
    bearer_token: T,
}

struct PathItem<'a> {
    operations: Vec<(Method, Operation<'a>)>,
    parameters: Vec<SharedOr<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Operation<'a> {
    description: String,
    consumes: &'static [&'static str],
    produces: &'static [&'static str],
    schemes: [&'static str; 1],
    tags: [String; 1],
    operation_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<SharedOr<'a>>,
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

/// A parameter, or a reference to one.
#[derive(Serialize)]
#[serde(untagged)]
enum SharedOr<'a> {
    Shared {
        #[serde(rename = "$ref")]
        reference: String,
    },
    Own(Parameter<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parameter<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unique_items: bool,
    #[serde(rename = "type", skip_serializing_if = "str::is_empty")]
    ty: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: std::borrow::Cow<'a, str>,
    name: &'a str,
    r#in: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<ContentSchema>,
}

#[derive(Serialize)]
struct Response {
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<ContentSchema>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentSchema {
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
    kind: String,
    version: String,
}

/// The parameters that paths share.
struct Parts<'a> {
    definitions: Definitions<'a>,
    parameters: BTreeMap<String, Parameter<'a>>,
}

impl<'a> Document<'a> {
    /// Collects the shared parameters of paths.
    pub(super) fn new(
        info: Info<'a>,
        paths: Vec<Path<'a>>,
        descriptions: &'a dyn Descriptions,
    ) -> Self {
        let mut parts = Parts {
            definitions: Definitions::new(Dialect::V2, descriptions, None),
            parameters: BTreeMap::new(),
        };
        let paths = paths
            .into_iter()
            .map(|mut path| {
                let common = path.hoist();
                let item = PathItem {
                    operations: path
                        .operations
                        .into_iter()
                        .map(|(method, source)| (method, parts.operation(source)))
                        .collect(),
                    parameters: common.into_iter().map(|p| parts.parameter(p)).collect(),
                };
                (path.template, item)
            })
            .collect();
        Self {
            swagger: "2.0",
            info,
            paths,
            definitions: parts.definitions.finish(),
            parameters: parts.parameters,
            security_definitions: BearerToken {
                bearer_token: SecurityScheme::v2(),
            },
            security: [BearerToken { bearer_token: [] }],
        }
    }
}

impl<'a> Parts<'a> {
    fn operation(&mut self, source: model::Operation<'a>) -> Operation<'a> {
        let body = source.body.map(|body| {
            let schema = Some(ContentSchema::Object {
                reference: self.definitions.refer(&body.content),
            });
            let parameter = Parameter {
                unique_items: false,
                ty: "",
                description: "".into(),
                name: "body",
                r#in: "body",
                required: body.required,
                schema,
            };
            let generic = body.content.name().starts_with("io.k8s.apimachinery");
            if generic {
                self.share(parameter)
            } else {
                SharedOr::Own(parameter)
            }
        });
        let responses = source.responses.iter().map(|(code, content)| {
            let schema = match content {
                Content::Object(definition) => Some(ContentSchema::Object {
                    reference: self.definitions.refer(definition),
                }),
                Content::Text => Some(ContentSchema::Text { r#type: "string" }),
                Content::Nothing => None,
            };
            let description = reason(*code);
            (
                *code,
                Response {
                    description,
                    schema,
                },
            )
        });
        let responses = responses.collect();
        // Sorted by name, as the body is one of them.
        let (before, after): (Vec<_>, Vec<_>) =
            source.parameters.into_iter().partition(|p| p.name < "body");
        let mut parameters: Vec<_> = before.into_iter().map(|p| self.parameter(p)).collect();
        parameters.extend(body);
        parameters.extend(after.into_iter().map(|p| self.parameter(p)));
        Operation {
            description: source.description,
            consumes: source.consumes,
            produces: source.produces,
            schemes: ["https"],
            tags: [source.tag],
            operation_id: source.id,
            parameters,
            responses,
            action: source.action,
            kind: source.kind.map(|kind| Kind {
                group: kind.group,
                kind: kind.kind,
                version: kind.version,
            }),
        }
    }

    fn parameter(&mut self, source: model::Parameter<'a>) -> SharedOr<'a> {
        let own = matches!(source.name, "name" | "fieldValidation" | "dryRun");
        let parameter = Parameter {
            unique_items: true,
            ty: source.ty,
            description: source.description,
            name: source.name,
            r#in: source.location.key(),
            required: source.location == Location::Path,
            schema: None,
        };
        if own {
            SharedOr::Own(parameter)
        } else {
            self.share(parameter)
        }
    }

    fn share(&mut self, parameter: Parameter<'a>) -> SharedOr<'a> {
        let hash = fnv1(&json::encode(&parameter)).to_be_bytes();
        let [a, b, c, d, e, f, ..] = hash;
        let name = format!(
            "{}-{}",
            parameter.name,
            BASE64_URL_SAFE.encode([a, b, c, d, e, f])
        );
        let reference = format!("#/parameters/{name}");
        self.parameters.entry(name).or_insert(parameter);
        SharedOr::Shared { reference }
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

/// Returns the hash in the name of a shared parameter.
fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    })
}
