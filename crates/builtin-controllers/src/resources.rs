//! The resources of the server, from discovery: the endpoint of each kind, and whether its objects can be deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::core::ApiResource;
use kubewright_client::discovery::Discovered;
use kubewright_machinery::gvk::{GroupResource, GroupVersion, GroupVersionResource};

/// The endpoint of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) resource: GroupVersionResource,
    pub(crate) namespaced: bool,
    /// True if the server no longer serves the kind in any version.
    former: bool,
}

/// The endpoints of all kinds.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<(String, String), Place>);

impl Places {
    /// Collects everything that was discovered, in every version.
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
                    former: false,
                };
                let kind = (list.group_version.clone(), resource.kind.clone());
                places.entry(kind).or_insert(place);
            }
        }
        Self(places)
    }

    /// Keeps the endpoints of versions that could not be discovered this time, and of kinds that are no longer served:
    /// the server's response there shows whether their objects are gone.
    pub(crate) fn keep(&mut self, known: &Self, found: &Discovered) {
        let mut kept = Vec::new();
        for (kind, place) in &known.0 {
            if self.0.contains_key(kind) {
                continue;
            }
            let version = place.resource.group_version();
            let unanswered = found.failures.contains_key(&version);
            if unanswered || !self.has(&place.resource.group_resource()) {
                let place = Place {
                    former: !unanswered,
                    ..place.clone()
                };
                kept.push((kind.clone(), place));
            }
        }
        self.0.extend(kept);
    }

    /// Returns the current or former endpoint of a kind.
    pub(crate) fn of(&self, api_version: &str, kind: &str) -> Option<&Place> {
        self.0.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Returns whether the server has a resource in any version.
    pub(crate) fn has(&self, resource: &GroupResource) -> bool {
        self.0
            .values()
            .any(|place| !place.former && place.resource.group_resource() == *resource)
    }
}

/// Returns the resources that can be deleted, listed and watched, each in its preferred version.
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

/// Returns the namespaced resources whose objects can be deleted, each in its preferred version. Fails if a group
/// version cannot be parsed.
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

#[cfg(test)]
mod tests {
    use kubewright_client::Error;
    use serde_json::json;

    use super::*;

    fn found(versions: &[&str]) -> Discovered {
        let lists = versions.iter().map(|version| {
            let list = json!({
                "groupVersion": format!("shop.example/{version}"),
                "resources": [{
                    "name": "widgets", "singularName": "widget", "kind": "Widget",
                    "namespaced": true, "verbs": ["delete", "list", "watch"],
                }],
            });
            serde_json::from_value(list).unwrap()
        });
        Discovered {
            resources: lists.collect(),
            ..Discovered::default()
        }
    }

    fn then(known: &Places, found: &Discovered) -> Places {
        let mut places = Places::new(found);
        places.keep(known, found);
        places
    }

    #[test]
    fn where_a_kind_was_is_remembered_when_no_version_of_it_is_left() {
        let widgets = GroupResource::new("shop.example", "widgets");
        let first = Places::new(&found(&["v1", "v2"]));
        let one_left = then(&first, &found(&["v2"]));
        assert!(one_left.of("shop.example/v1", "Widget").is_none());
        let none_left = then(&first, &found(&[]));
        assert!(none_left.of("shop.example/v1", "Widget").is_some());
        assert!(!none_left.has(&widgets));
        let back = then(&none_left, &found(&["v2"]));
        assert!(back.of("shop.example/v1", "Widget").is_none());
        assert!(back.has(&widgets));
    }

    #[test]
    fn who_does_not_answer_keeps_what_it_had() {
        let first = Places::new(&found(&["v1"]));
        let mut silent = found(&[]);
        let version = GroupVersion::new("shop.example", "v1");
        silent
            .failures
            .insert(version.clone(), Error::Stale(version));
        let widgets = GroupResource::new("shop.example", "widgets");
        assert!(then(&first, &silent).has(&widgets));
    }
}
