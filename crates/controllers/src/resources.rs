//! What the server has, out of discovery: where the objects of a kind are, and which of them can be deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::core::ApiResource;
use kubewright_client::discovery::Discovered;
use kubewright_machinery::gvk::{GroupResource, GroupVersion, GroupVersionResource};

/// Where the objects of a kind are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) resource: GroupVersionResource,
    pub(crate) namespaced: bool,
}

/// The places of all kinds.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<(String, String), Place>);

impl Places {
    /// Of everything that was found, in every version.
    pub(crate) fn new(found: &Discovered) -> Self {
        let mut places = HashMap::new();
        for list in &found.resources {
            let Some(version) = GroupVersion::parse(&list.group_version) else {
                continue;
            };
            for resource in list.resources.iter().filter(|r| !r.name.contains('/')) {
                let place = Place {
                    resource: version.with_resource(&resource.name),
                    namespaced: resource.namespaced,
                };
                let kind = (list.group_version.clone(), resource.kind.clone());
                places.entry(kind).or_insert(place);
            }
        }
        Self(places)
    }

    /// Keeps what was known of those versions that could not be discovered this time.
    pub(crate) fn keep(&mut self, known: &Self, found: &Discovered) {
        for (kind, place) in &known.0 {
            let version = place.resource.group_version();
            if found.failures.contains_key(&version) && !self.0.contains_key(kind) {
                self.0.insert(kind.clone(), place.clone());
            }
        }
    }

    /// Where the objects of a kind are, if the server has it in that version.
    pub(crate) fn of(&self, api_version: &str, kind: &str) -> Option<&Place> {
        self.0.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Whether the server has a resource in any version.
    pub(crate) fn has(&self, resource: &GroupResource) -> bool {
        self.0
            .values()
            .any(|place| place.resource.group_resource() == *resource)
    }
}

/// What can be deleted, listed and watched, each in the version that the server prefers.
pub(crate) fn collectable(found: &Discovered) -> BTreeMap<GroupVersionResource, ApiResource> {
    let wanted = |resource: &APIResource| {
        ["delete", "list", "watch"]
            .iter()
            .all(|verb| resource.verbs.iter().any(|v| v == verb))
    };
    let mut resources = BTreeMap::new();
    for list in found.preferred_where(wanted) {
        let Some(version) = GroupVersion::parse(&list.group_version) else {
            continue;
        };
        for resource in list.resources {
            let api = ApiResource {
                group: version.group.clone(),
                version: version.version.clone(),
                api_version: list.group_version.clone(),
                kind: resource.kind,
                plural: resource.name.clone(),
            };
            resources.insert(version.with_resource(resource.name), api);
        }
    }
    resources
}

/// A namespaced resource whose objects can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletable {
    pub(crate) resource: ApiResource,
    pub(crate) verbs: BTreeSet<String>,
}

impl Deletable {
    pub(crate) fn id(&self) -> GroupVersionResource {
        let resource = &self.resource;
        GroupVersionResource::new(&resource.group, &resource.version, &resource.plural)
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.contains(verb)
    }
}

/// The namespaced resources whose objects can be deleted, each in the version that the server prefers. The error is about a
/// version that is none: then nothing is known.
pub(crate) fn deletable_in_namespaces(found: &Discovered) -> Result<Vec<Deletable>, String> {
    let mut resources = Vec::new();
    let wanted = |resource: &APIResource| {
        resource.namespaced && resource.verbs.iter().any(|verb| verb == "delete")
    };
    for list in found.preferred_where(wanted) {
        let Some(version) = GroupVersion::parse(&list.group_version) else {
            return Err(format!(
                "unexpected GroupVersion string: {}",
                list.group_version
            ));
        };
        resources.extend(list.resources.into_iter().map(|resource| Deletable {
            resource: ApiResource {
                group: version.group.clone(),
                version: version.version.clone(),
                api_version: list.group_version.clone(),
                kind: resource.kind,
                plural: resource.name,
            },
            verbs: resource.verbs.into_iter().collect(),
        }));
    }
    Ok(resources)
}
