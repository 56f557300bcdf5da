//! The parameters of requests: those of the path, and the options of a verb.

use std::borrow::Cow;

use kubewright_catalog::types::{StructType, Type};

use super::{
    Descriptions,
    model::{Location, Parameter},
};

const STRING: &str = "string";

/// Builds parameters with descriptions.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a> {
    pub(super) descriptions: &'a dyn Descriptions,
}

impl<'a> Parameters<'a> {
    /// Returns `{name}`.
    pub(super) fn name(self, kind: &str) -> Parameter<'a> {
        in_path("name", Cow::Owned(format!("name of the {kind}")))
    }

    /// Returns `{namespace}`.
    pub(super) fn namespace(self) -> Parameter<'a> {
        in_path(
            "namespace",
            "object name and auth scope, such as for teams and projects".into(),
        )
    }

    /// Returns `{path}`.
    pub(super) fn rest_of_path(self) -> Parameter<'a> {
        in_path("path", "path to the resource".into())
    }

    /// Returns `pretty`.
    pub(super) fn pretty(self) -> Parameter<'a> {
        Parameter {
            name: "pretty",
            location: Location::Query,
            description: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent \
                          indicates a browser or command-line HTTP tool (curl and wget)."
                .into(),
            ty: STRING,
        }
    }

    /// Returns the options of meta/v1 by their name: `ListOptions`.
    pub(super) fn meta_options(self, name: &str) -> Vec<Parameter<'a>> {
        let ty = kubewright_catalog::struct_type(&format!(
            "io.k8s.apimachinery.pkg.apis.meta.v1.{name}"
        ));
        ty.map(|ty| self.options(ty)).unwrap_or_default()
    }

    /// Returns a parameter for each field that a query can have.
    pub(super) fn options(self, ty: &'static StructType) -> Vec<Parameter<'a>> {
        let fields = ty
            .fields
            .iter()
            .filter(|field| field.json != "kind" && field.json != "apiVersion");
        fields
            .filter_map(|field| {
                Some(Parameter {
                    name: field.json,
                    location: Location::Query,
                    description: self
                        .descriptions
                        .describe(ty.openapi, field.json)
                        .unwrap_or_default()
                        .into(),
                    ty: query_type(&field.ty)?,
                })
            })
            .collect()
    }
}

/// Sorts parameters; of those with the same name the first is kept.
pub(super) fn sorted<'a>(
    parameters: impl IntoIterator<Item = Parameter<'a>>,
) -> Vec<Parameter<'a>> {
    let mut all: Vec<Parameter<'a>> = parameters.into_iter().collect();
    all.sort_by(|a, b| (a.name, a.location).cmp(&(b.name, b.location)));
    all.dedup_by(|b, a| (a.name, a.location) == (b.name, b.location));
    all
}

fn in_path<'a>(name: &'static str, description: Cow<'a, str>) -> Parameter<'a> {
    Parameter {
        name,
        location: Location::Path,
        description,
        ty: STRING,
    }
}

/// Returns the type of a value in a query, or `None` if it cannot be in one.
fn query_type(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Bool => Some("boolean"),
        Type::Int32 | Type::Int64 | Type::Uint32 => Some("integer"),
        Type::String(_) => Some(STRING),
        Type::Optional(of) | Type::List(of) => query_type(of),
        _ => None,
    }
}
