//! The paths of a group version, derived from its resources and their handlers.
//!
//! Built-in kinds have the deprecated `watch/` paths. Custom resources have none, and differ slightly, as in kube-apiserver.

mod operations;
mod subresources;

use std::sync::Arc;

use super::{
    Descriptions,
    model::{Content, Definition, Operation, Parameter, Path},
    names,
    parameters::Parameters,
};
use crate::registry::{Resource, Shape};

pub(super) const JSON: &[&str] = &["application/json"];
const DISCOVERY: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Returns whether a resource is described like a built-in kind.
pub(super) fn is_built_in(resource: &Resource) -> bool {
    matches!(resource.spec.shape, Shape::Typed(_))
}

/// Returns the paths of `/api/v1` and below.
pub(super) fn of_version<'a>(
    group: &str,
    version: &str,
    resources: &'a [Arc<Resource>],
    descriptions: &'a dyn Descriptions,
) -> Vec<Path<'a>> {
    let base = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    let mut paths = Vec::new();
    if resources.iter().any(|resource| is_built_in(resource)) {
        paths.push(discovery(
            format!("{base}/"),
            names::tag(group, version),
            "get available resources",
            format!("get{}APIResources", names::scope(group, version)),
            "APIResourceList",
        ));
    }
    for resource in resources {
        let subject = Subject {
            resource,
            base: &base,
            tag: names::tag(group, version),
            scope: names::scope(group, version),
            parameters: Parameters { descriptions },
        };
        paths.extend(subject.paths());
        for sub in &resource.subresources {
            paths.extend(subject.below(sub));
        }
    }
    paths.sort_by(|a, b| a.template.cmp(&b.template));
    paths
}

/// Returns the paths of `/apis/apps/`.
pub(super) fn of_group(group: &str) -> Path<'static> {
    let friendly = names::friendly_group(group);
    let id = format!("get{}APIGroup", names::title(&friendly));
    discovery(
        format!("/apis/{group}/"),
        friendly,
        "get information of a group",
        id,
        "APIGroup",
    )
}

/// Returns the path `/apis/`.
pub(super) fn of_groups() -> Path<'static> {
    let description = "get available API versions";
    discovery(
        "/apis/".into(),
        "apis".into(),
        description,
        "getAPIVersions".into(),
        "APIGroupList",
    )
}

/// Returns the path `/api/`.
pub(super) fn of_core() -> Path<'static> {
    let description = "get available API versions";
    let id = "getCoreAPIVersions".into();
    discovery(
        "/api/".into(),
        "core".into(),
        description,
        id,
        "APIVersions",
    )
}

/// Returns the path `/version/`.
pub(super) fn of_version_info() -> Path<'static> {
    let info = kubewright_catalog::struct_type("io.k8s.apimachinery.pkg.version.Info");
    get(
        "/version/".into(),
        Operation {
            tag: "version".into(),
            description: "get the version information for this server".into(),
            id: "getCodeVersion".into(),
            parameters: Vec::new(),
            body: None,
            responses: answers(&[200], object(info.map(Definition::Struct))),
            consumes: JSON,
            produces: JSON,
            action: None,
            kind: None,
        },
    )
}

/// A resource whose paths are built.
struct Subject<'s, 'a> {
    resource: &'a Arc<Resource>,
    base: &'s str,
    tag: String,
    scope: String,
    parameters: Parameters<'a>,
}

fn discovery(
    template: String,
    tag: String,
    description: &str,
    id: String,
    kind: &str,
) -> Path<'static> {
    get(
        template,
        Operation {
            tag,
            description: description.into(),
            id,
            parameters: Vec::new(),
            body: None,
            responses: answers(&[200], object(meta(kind))),
            consumes: DISCOVERY,
            produces: DISCOVERY,
            action: None,
            kind: None,
        },
    )
}

fn get(template: String, operation: Operation<'static>) -> Path<'static> {
    Path {
        template,
        operations: vec![(super::model::Method::Get, operation)],
    }
}

/// Returns a type of meta/v1.
fn meta(name: &str) -> Option<Definition> {
    let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}");
    kubewright_catalog::struct_type(&name).map(Definition::Struct)
}

fn object(definition: Option<Definition>) -> Content {
    definition.map_or(Content::Text, Content::Object)
}

/// Returns the successful responses, all with one content, and the 401.
fn answers(codes: &[u16], content: Content) -> Vec<(u16, Content)> {
    let good = codes.iter().map(|code| (*code, content.clone()));
    good.chain([(401, Content::Nothing)]).collect()
}

fn with<'a>(
    own: impl IntoIterator<Item = Parameter<'a>>,
    more: Vec<Parameter<'a>>,
) -> Vec<Parameter<'a>> {
    super::parameters::sorted(own.into_iter().chain(more))
}
