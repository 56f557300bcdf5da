//! OpenAPI v2: one document for all group versions.
//!
//! Parameters that several operations share are defined once, under a name that contains a hash of their content.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_URL_SAFE};
use serde::Serialize;

use super::{
    Descriptions, Info, SecurityScheme,
    definitions::Definitions,
    json,
    model::{self, Location, Path},
    path_item::{self, BodySchema, Convert, Extensions, PathItem},
    reason,
    schema::{AnySchema, Dialect},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    swagger: &'static str,
    info: Info<'a>,
    paths: BTreeMap<String, PathItem<Operation<'a>, SharedOr<'a>>>,
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
    #[serde(flatten)]
    extensions: Extensions<Kind>,
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
    schema: Option<BodySchema>,
}

#[derive(Serialize)]
struct Response {
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<BodySchema>,
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
        let paths = path_item::items(paths, &mut parts);
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

impl<'a> Convert<'a> for Parts<'a> {
    type Operation = Operation<'a>;
    type Parameter = SharedOr<'a>;

    fn operation(&mut self, source: model::Operation<'a>) -> Operation<'a> {
        let body = source.body.map(|body| {
            let schema = Some(BodySchema::Object {
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
            let response = Response {
                description: reason(*code),
                schema: BodySchema::of(content, &mut self.definitions),
            };
            (*code, response)
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
            extensions: Extensions {
                action: source.action,
                kind: source.kind.map(|kind| Kind {
                    group: kind.group,
                    kind: kind.kind,
                    version: kind.version,
                }),
            },
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
}

impl<'a> Parts<'a> {
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

/// Returns the hash in the name of a shared parameter.
fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    })
}
