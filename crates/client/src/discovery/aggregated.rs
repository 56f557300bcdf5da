//! Groups and resources from aggregated discovery, where one document has all of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIResource, APIResourceList, GroupVersionForDiscovery,
};
use kube::client::{
    APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery, DiscoveryGroupVersionKind,
};
use kubewright_machinery::gvk::GroupVersion;

use super::Discovered;
use crate::error::Error;

/// Accepts aggregated discovery first, and the older form second.
pub(super) const ACCEPT: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The same for this one server only, where several serve a cluster.
pub(super) const ACCEPT_NO_PEER: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,\
     application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Accepts the older form only.
pub(super) const ACCEPT_LEGACY: &str = "application/json";

/// Reports whether a content type is that of aggregated discovery. Parameters may come in any order, and with others.
pub(super) fn is_aggregated(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    if !parts
        .next()
        .is_some_and(|base| base.eq_ignore_ascii_case("application/json"))
    {
        return false;
    }
    let (mut group, mut version, mut kind) = (false, false, false);
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match (name.trim(), value.trim().trim_matches('"')) {
            ("g", value) => group = value == "apidiscovery.k8s.io",
            ("v", value) => version = value == "v2",
            ("as", value) => kind = value == "APIGroupDiscoveryList",
            _ => {}
        }
    }
    group && version && kind
}

/// Converts aggregated discovery into groups and resources.
pub(super) fn split(list: &APIGroupDiscoveryList) -> Discovered {
    let mut found = Discovered::default();
    for group in &list.items {
        add_group(group, &mut found);
    }
    found
}

fn add_group(group: &APIGroupDiscovery, found: &mut Discovered) {
    let meta = group.metadata.as_ref();
    let name = meta.and_then(|meta| meta.name.clone()).unwrap_or_default();
    let mut versions = Vec::new();
    for version in &group.versions {
        let gv = GroupVersion::new(&name, version.version.clone().unwrap_or_default());
        if version.freshness.as_deref() == Some("Stale") {
            found.failures.insert(gv.clone(), Error::Stale(gv));
            continue;
        }
        versions.push(GroupVersionForDiscovery {
            group_version: gv.to_string(),
            version: gv.version.clone(),
        });
        found.resources.push(APIResourceList {
            group_version: gv.to_string(),
            resources: version.resources.iter().flat_map(resources).collect(),
        });
    }
    found.groups.push(APIGroup {
        name,
        preferred_version: versions.first().cloned(),
        versions,
        ..APIGroup::default()
    });
}

/// Converts a resource and its subresources. A resource without a response kind is skipped, but may have subresources.
fn resources(discovered: &APIResourceDiscovery) -> Vec<APIResource> {
    let name = discovered.resource.clone().unwrap_or_default();
    let parent = APIResource {
        name: name.clone(),
        singular_name: discovered.singular_resource.clone().unwrap_or_default(),
        namespaced: discovered.scope.as_deref() == Some("Namespaced"),
        verbs: discovered.verbs.clone(),
        short_names: some(&discovered.short_names),
        categories: some(&discovered.categories),
        ..APIResource::default()
    };
    let mut all = Vec::new();
    if let Some(kind) = answers_with(discovered.response_kind.as_ref()) {
        all.push(of_kind(parent.clone(), kind));
    }
    for sub in &discovered.subresources {
        if let Some(kind) = answers_with(sub.response_kind.as_ref()) {
            let resource = APIResource {
                name: format!("{name}/{}", sub.subresource.as_deref().unwrap_or_default()),
                singular_name: parent.singular_name.clone(),
                namespaced: parent.namespaced,
                verbs: sub.verbs.clone(),
                ..APIResource::default()
            };
            all.push(of_kind(resource, kind));
        }
    }
    all
}

fn answers_with(kind: Option<&DiscoveryGroupVersionKind>) -> Option<&DiscoveryGroupVersionKind> {
    kind.filter(|kind| {
        [&kind.group, &kind.version, &kind.kind]
            .into_iter()
            .flatten()
            .any(|part| !part.is_empty())
    })
}

fn of_kind(mut resource: APIResource, kind: &DiscoveryGroupVersionKind) -> APIResource {
    let some = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
    resource.group = some(&kind.group);
    resource.version = some(&kind.version);
    resource.kind = kind.kind.clone().unwrap_or_default();
    resource
}

fn some(names: &[String]) -> Option<Vec<String>> {
    (!names.is_empty()).then(|| names.to_vec())
}
