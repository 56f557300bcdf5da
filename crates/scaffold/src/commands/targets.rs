//! The kinds that a controller can reconcile or own: those of the project and the built-in ones.

use std::collections::BTreeMap;

use kubewright_catalog::{by_kind, groups};

use crate::{
    Error,
    names::Gvk,
    project::{Project, Resource},
};

/// A kind and the path of its Rust type.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: Resource,
    /// The path to import.
    pub(crate) import: String,
}

impl Target {
    /// Returns a kind of the project.
    pub(crate) fn own(resource: &Resource) -> Target {
        Target {
            import: format!("crate::{}", resource.type_path()),
            resource: resource.clone(),
        }
    }
}

/// Finds a kind of the project or a built-in kind.
pub(super) fn find(project: &Project, wanted: &Gvk) -> Result<Target, Error> {
    let own = project.matching(&wanted.group, &wanted.version, &wanted.kind);
    if let Some(resource) = own
        .into_iter()
        .find(|resource| resource.api && !wanted.group.is_empty())
    {
        return Ok(Target::own(resource));
    }
    built_in(wanted).ok_or_else(|| {
        Error::new(
            format_args!("{wanted} is neither a kind of this project nor a built-in one"),
            "make it with `kubewright create api`, or check its group, version and kind",
        )
    })
}

/// Returns the kinds that a controller owns, as recorded in the project file.
pub(super) fn owned(
    project: &Project,
    resource: &Resource,
    name: &str,
) -> Result<Vec<Target>, Error> {
    let kinds = resource.owns.get(name).into_iter().flatten();
    kinds.map(|kind| find(project, kind)).collect()
}

/// Reports whether a group, by its full name, is built into Kubernetes.
pub(super) fn is_built_in_group(full_name: &str) -> bool {
    groups().iter().any(|group| group.name == full_name)
}

/// Returns a built-in kind.
pub(crate) fn built_in(wanted: &Gvk) -> Option<Target> {
    let short = |name: &str| name.split('.').next() == Some(wanted.group.as_str());
    let group = match wanted.group.as_str() {
        "" | "core" => "",
        full => groups()
            .iter()
            .map(|group| group.name)
            .find(|name| *name == full || short(name))?,
    };
    let info = by_kind(group, &wanted.version, &wanted.kind)?;
    Some(Target {
        import: import(group, &wanted.version, &wanted.kind),
        resource: Resource {
            group: group.to_owned(),
            version: wanted.version.clone(),
            kind: wanted.kind.clone(),
            plural: info.plural.to_owned(),
            namespaced: info.namespaced,
            api: false,
            controllers: Vec::new(),
            owns: BTreeMap::new(),
            aggregated: None,
            webhooks: Default::default(),
        },
    })
}

/// Returns the path of the type of a built-in kind.
pub(super) fn import(group: &str, version: &str, kind: &str) -> String {
    let module = match group {
        "" => "api::core".to_owned(),
        "apiextensions.k8s.io" => "apiextensions_apiserver::pkg::apis::apiextensions".to_owned(),
        "apiregistration.k8s.io" => "kube_aggregator::pkg::apis::apiregistration".to_owned(),
        "internal.apiserver.k8s.io" => "api::apiserverinternal".to_owned(),
        _ => format!("api::{}", group.split('.').next().unwrap_or(group)),
    };
    format!("k8s_openapi::{module}::{version}::{kind}")
}
