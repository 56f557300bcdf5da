//! The legacy documents, one for each level of the API.
//!
//! The types define the order and the presence of fields.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::groups::DiscoveredGroup;
use crate::registry::{Handlers, Registry, Resource, Subresource, SubresourceKind};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiVersions<'a> {
    kind: &'static str,
    versions: Vec<&'a str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [ServerAddress<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    name: &'a str,
    versions: Vec<Version<'a>>,
    preferred_version: Option<Version<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResourceList<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    group_version: String,
    resources: Vec<ApiResource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    kind: &'a str,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    storage_version_hash: &'a str,
}

pub(super) fn versions(registry: &Registry, server_address: &str) -> Bytes {
    let core = registry.groups().iter().filter(|g| g.name.is_empty());
    encode(&ApiVersions {
        kind: "APIVersions",
        versions: core
            .flat_map(|g| &g.versions)
            .map(|(version, _)| version.as_str())
            .collect(),
        server_addresses: [ServerAddress {
            client_cidr: "0.0.0.0/0",
            server_address,
        }],
    })
}

pub(super) fn groups(groups: &[DiscoveredGroup]) -> Bytes {
    let named = groups.iter().filter(|g| !g.name.is_empty());
    encode(&ApiGroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups: named.map(|group| api_group(group, "", "")).collect(),
    })
}

pub(super) fn group(group: &DiscoveredGroup) -> Bytes {
    encode(&api_group(group, "APIGroup", "v1"))
}

/// The list of the core group has no `apiVersion`.
pub(super) fn resources(group: &str, version: &str, resources: &[Arc<Resource>]) -> Bytes {
    let (api_version, group_version) = if group.is_empty() {
        ("", version.to_owned())
    } else {
        ("v1", format!("{group}/{version}"))
    };
    let mut rows = Vec::new();
    for resource in resources {
        rows.push(api_resource(resource));
        rows.extend(
            resource
                .subresources
                .iter()
                .map(|sub| api_subresource(resource, sub)),
        );
    }
    encode(&ApiResourceList {
        kind: "APIResourceList",
        api_version,
        group_version,
        resources: rows,
    })
}

/// Returns the verbs of the description, or those of the handlers if it has none.
pub(super) fn verbs(declared: &[String], handlers: &Handlers) -> Vec<String> {
    if declared.is_empty() {
        handlers.verbs()
    } else {
        declared.to_vec()
    }
}

fn api_group<'a>(
    group: &'a DiscoveredGroup,
    kind: &'static str,
    api_version: &'static str,
) -> ApiGroup<'a> {
    let version = |version: &'a String| Version {
        group_version: format!("{}/{version}", group.name),
        version,
    };
    ApiGroup {
        kind,
        api_version,
        name: &group.name,
        versions: group.versions.iter().map(|v| version(&v.name)).collect(),
        preferred_version: group.versions.first().map(|v| version(&v.name)),
    }
}

/// Group and version of the kind are included only if they differ from those of the list.
fn api_resource(resource: &Resource) -> ApiResource<'_> {
    let foreign = resource.spec.kind.group_version() != resource.spec.group_version;
    ApiResource {
        name: resource.spec.plural.clone(),
        singular_name: &resource.spec.singular,
        namespaced: resource.spec.namespaced,
        group: if foreign {
            &resource.spec.kind.group
        } else {
            ""
        },
        version: if foreign {
            &resource.spec.kind.version
        } else {
            ""
        },
        kind: &resource.spec.kind.kind,
        verbs: verbs(&resource.spec.verbs, &resource.handlers),
        short_names: &resource.spec.short_names,
        categories: &resource.spec.categories,
        storage_version_hash: &resource.spec.storage_version_hash,
    }
}

fn api_subresource<'a>(resource: &'a Resource, sub: &'a Subresource) -> ApiResource<'a> {
    let kind = match &sub.kind {
        SubresourceKind::Parent => &resource.spec.kind,
        SubresourceKind::Other(kind, _) => kind,
    };
    let foreign = kind.group_version() != resource.spec.group_version;
    ApiResource {
        name: format!("{}/{}", resource.spec.plural, sub.name),
        singular_name: "",
        namespaced: resource.spec.namespaced,
        group: if foreign { &kind.group } else { "" },
        version: if foreign { &kind.version } else { "" },
        kind: &kind.kind,
        verbs: verbs(&sub.verbs, &sub.handlers),
        short_names: &[],
        categories: &[],
        storage_version_hash: "",
    }
}

fn encode(document: &impl Serialize) -> Bytes {
    serde_json::to_vec(document)
        .expect("a document is plain data")
        .into()
}
