//! The model of a document, which is written as OpenAPI v2 or v3.

use std::{borrow::Cow, sync::Arc};

use kubewright_catalog::types::StructType;
use kubewright_machinery::gvk::GroupVersionKind;

use super::{custom, names};
use crate::registry::Resource;

/// A path and its operations.
pub(super) struct Path<'a> {
    /// The path template: `/api/v1/namespaces/{namespace}/pods`.
    pub(super) template: String,
    /// The operations, at most one for each method.
    pub(super) operations: Vec<(Method, Operation<'a>)>,
}

/// The methods in the order of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    Get,
    Put,
    Post,
    Delete,
    Options,
    Head,
    Patch,
}

/// An operation.
pub(super) struct Operation<'a> {
    pub(super) tag: String,
    pub(super) description: String,
    pub(super) id: String,
    /// The parameters, sorted by name.
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) body: Option<RequestBody>,
    pub(super) responses: Vec<(u16, Content)>,
    /// The media types in the order of v2.
    pub(super) consumes: &'static [&'static str],
    pub(super) produces: &'static [&'static str],
    pub(super) action: Option<&'static str>,
    pub(super) kind: Option<GroupVersionKind>,
}

/// The location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    Path,
    Query,
}

/// A parameter of the path or of the query.
#[derive(Clone)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) location: Location,
    pub(super) description: Cow<'a, str>,
    pub(super) ty: &'static str,
}

/// A request body.
pub(super) struct RequestBody {
    pub(super) content: Definition,
    pub(super) required: bool,
}

/// A response.
#[derive(Clone)]
pub(super) enum Content {
    Object(Definition),
    Text,
    Nothing,
}

/// A definition.
#[derive(Clone)]
pub(super) enum Definition {
    /// A struct of the catalog.
    Struct(&'static StructType),
    /// A type with a special schema.
    Special(Special),
    /// The kind of a custom resource.
    Custom(Arc<Resource>),
    /// The list of a custom resource.
    CustomList(Arc<Resource>),
}

/// Types with special schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Duration,
    FieldsV1,
    IntOrString,
    Json,
    MicroTime,
    Patch,
    Quantity,
    RawExtension,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
    Time,
}

impl<'a> Path<'a> {
    /// Sorts the methods, and separates the parameters that all of them share.
    pub(super) fn hoist(&mut self) -> Vec<Parameter<'a>> {
        self.operations.sort_by_key(|(method, _)| *method);
        let Some((_, first)) = self.operations.first() else {
            return Vec::new();
        };
        let common: Vec<(&'a str, Location)> = first
            .parameters
            .iter()
            .filter(|p| {
                self.operations
                    .iter()
                    .all(|(_, operation)| operation.takes(p.name, p.location))
            })
            .map(|p| (p.name, p.location))
            .collect();
        let mut hoisted = Vec::with_capacity(common.len());
        for (at, (_, operation)) in self.operations.iter_mut().enumerate() {
            let is_common = |p: &Parameter<'_>| common.contains(&(p.name, p.location));
            if at == 0 {
                hoisted.extend(
                    operation
                        .parameters
                        .iter()
                        .filter(|p| is_common(p))
                        .cloned(),
                );
            }
            operation.parameters.retain(|p| !is_common(p));
        }
        hoisted
    }
}

impl Operation<'_> {
    fn takes(&self, name: &str, location: Location) -> bool {
        self.parameters
            .iter()
            .any(|p| p.name == name && p.location == location)
    }
}

impl Method {
    /// Returns the method, or `None` for those that documents do not have.
    pub(super) fn of(method: &http::Method) -> Option<Self> {
        Some(match *method {
            http::Method::GET => Self::Get,
            http::Method::PUT => Self::Put,
            http::Method::POST => Self::Post,
            http::Method::DELETE => Self::Delete,
            http::Method::OPTIONS => Self::Options,
            http::Method::HEAD => Self::Head,
            http::Method::PATCH => Self::Patch,
            _ => return None,
        })
    }

    /// Returns the name, such as `get`.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Post => "post",
            Self::Delete => "delete",
            Self::Options => "options",
            Self::Head => "head",
            Self::Patch => "patch",
        }
    }
}

impl Location {
    /// Returns the name: `path` or `query`.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
        }
    }
}

impl Definition {
    /// Returns the name that references use.
    pub(super) fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Struct(ty) => ty.openapi.into(),
            Self::Special(special) => special.name().into(),
            Self::Custom(resource) => custom_name(resource, &resource.spec.kind.kind).into(),
            Self::CustomList(resource) => {
                custom_name(resource, &custom::list_kind(resource)).into()
            }
        }
    }
}

impl Special {
    /// Returns the name that references use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Duration => "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
            Self::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
            Self::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            Self::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            Self::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
            Self::Patch => "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
            Self::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
            Self::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
            Self::SchemaOrArray => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
            }
            Self::SchemaOrBool => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
            }
            Self::SchemaOrStrings => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"
            }
            Self::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        }
    }
}

fn custom_name(resource: &Resource, name: &str) -> String {
    let kind = &resource.spec.kind;
    format!("{}.{}.{name}", names::reversed(&kind.group), kind.version)
}
