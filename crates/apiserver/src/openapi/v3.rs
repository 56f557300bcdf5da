//! OpenAPI v3: one document for each group version.

use std::collections::BTreeMap;

use kubewright_machinery::gvk::GroupVersion;
use serde::Serialize;

use super::{
    Descriptions, Info, SecurityScheme,
    definitions::Definitions,
    model::{self, Path},
    path_item::{self, BodySchema, Convert, Extensions, PathItem},
    reason,
    schema::{AnySchema, Dialect},
};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    openapi: &'static str,
    info: Info<'a>,
    paths: BTreeMap<String, PathItem<Operation<'a>, Parameter<'a>>>,
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
    #[serde(flatten)]
    extensions: Extensions<Kind>,
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
    schema: BodySchema,
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
        let mut parts = Parts(Definitions::new(Dialect::V3, descriptions, Some(home)));
        let paths = path_item::items(paths, &mut parts);
        Self {
            openapi: "3.0.0",
            info,
            paths,
            components: Components {
                schemas: parts.0.finish(),
                security_schemes: secured.then_some(SecuritySchemes {
                    bearer_token: SecurityScheme::v3(),
                }),
            },
        }
    }
}

/// The definitions that paths refer to.
struct Parts<'a>(Definitions<'a>);

impl<'a> Convert<'a> for Parts<'a> {
    type Operation = Operation<'a>;
    type Parameter = Parameter<'a>;

    fn operation(&mut self, source: model::Operation<'a>) -> Operation<'a> {
        operation(source, &mut self.0)
    }

    fn parameter(&mut self, source: model::Parameter<'a>) -> Parameter<'a> {
        parameter(source)
    }
}

fn operation<'a>(source: model::Operation<'a>, definitions: &mut Definitions<'a>) -> Operation<'a> {
    let request_body = source.body.map(|body| {
        let schema = BodySchema::Object {
            reference: definitions.refer(&body.content),
        };
        RequestBody {
            content: media(source.consumes, &schema),
            required: body.required,
        }
    });
    let responses = source.responses.iter().map(|(code, content)| {
        let schema = BodySchema::of(content, definitions);
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
        extensions: Extensions {
            action: source.action,
            kind: source.kind.map(|kind| Kind {
                group: kind.group,
                version: kind.version,
                kind: kind.kind,
            }),
        },
    }
}

fn media(types: &[&'static str], schema: &BodySchema) -> BTreeMap<&'static str, Media> {
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
