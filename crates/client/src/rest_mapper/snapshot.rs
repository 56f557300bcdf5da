//! [`RestMapperSnapshot`]: the results of discovery as a mapper that never asks the server.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource};
use kubewright_machinery::{
    gvk::{GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource},
    rest_mapper::{RestMapper, RestMapperError, RestMapping, StaticRestMapper},
};

use crate::{discovery::Discovered, error::Error};

/// The results of discovery, in order of preference: the core group, then the groups as the server orders them, with
/// the preferred version of each before the others.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::{DiscoveryClient, RestMapperSnapshot};
/// use kubewright_machinery::{gvk::GroupKind, rest_mapper::RestMapper};
///
/// let found = DiscoveryClient::new(client).discover().await.unwrap();
/// let mapper = RestMapperSnapshot::new(&found);
/// assert!(mapper.failures().is_empty());
/// // Makes no request.
/// let deployments = mapper.mapping(&GroupKind::new("apps", "Deployment"), &[]).unwrap();
/// assert_eq!(deployments.resource.resource, "deployments");
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct RestMapperSnapshot {
    mapper: StaticRestMapper,
    /// Kinds that are not in discovery but are understood: in lower case, and those of lists.
    other_kinds: StaticRestMapper,
    categories: BTreeMap<String, Vec<GroupResource>>,
    failures: BTreeMap<GroupVersion, Error>,
}

impl RestMapperSnapshot {
    /// Builds a mapper from the results of discovery.
    pub fn new(found: &Discovered) -> Self {
        let mut snapshot = Self {
            failures: found.failures.clone(),
            ..Self::default()
        };
        let mut versions: Vec<_> = found.by_version().collect();
        // A stable sort keeps the server's order where nothing else counts.
        let places: BTreeMap<&str, usize> = found
            .groups
            .iter()
            .enumerate()
            .map(|(i, group)| (group.name.as_str(), i))
            .collect();
        versions.sort_by_key(|(group, version, _)| {
            let core = !(group.name.is_empty() && version.version == "v1");
            let place = places.get(group.name.as_str()).copied();
            (core, place, !is_preferred(group, version))
        });
        for (_, version, list) in versions {
            for resource in list.resources.iter().filter(|r| !r.name.contains('/')) {
                snapshot.add(&version, resource);
            }
            snapshot.other_kinds.add(RestMapping {
                kind: version.with_kind("List"),
                resource: version.with_resource("lists"),
                singular: "list".to_owned(),
                short_names: Vec::new(),
                namespaced: false,
            });
        }
        snapshot
    }

    /// Returns all mappings, the preferred first.
    pub fn mappings(&self) -> &[RestMapping] {
        self.mapper.mappings()
    }

    /// Returns the group versions that could not be discovered, with the reason.
    pub fn failures(&self) -> &BTreeMap<GroupVersion, Error> {
        &self.failures
    }

    /// Returns the resources of a category; empty if there is no such category.
    pub fn category(&self, name: &str) -> &[GroupResource] {
        self.categories
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns the resource that a partial resource means, if it is unambiguous.
    ///
    /// # Errors
    ///
    /// Fails if the resource is unknown or ambiguous.
    pub fn first(&self, partial: &GroupVersionResource) -> Result<RestMapping, RestMapperError> {
        let all = self.mappings_for(partial)?;
        match all.as_slice() {
            // Preference decides between groups and versions, but not within one.
            [first, second, ..]
                if first.resource.group_version() == second.resource.group_version() =>
            {
                Err(RestMapperError::Ambiguous {
                    partial: partial.clone(),
                    matching: all.into_iter().map(|mapping| mapping.resource).collect(),
                })
            }
            [first, ..] => Ok(first.clone()),
            [] => Err(RestMapperError::NoResourceMatch(partial.clone())),
        }
    }

    fn add(&mut self, version: &GroupVersion, resource: &APIResource) {
        let singular = if resource.singular_name.is_empty() {
            resource.kind.to_lowercase()
        } else {
            resource.singular_name.clone()
        };
        let mapping = RestMapping {
            kind: version.with_kind(&resource.kind),
            resource: version.with_resource(&resource.name),
            singular,
            short_names: resource.short_names.clone().unwrap_or_default(),
            namespaced: resource.namespaced,
        };
        for kind in [
            resource.kind.to_lowercase(),
            format!("{}List", resource.kind),
        ] {
            self.other_kinds.add(RestMapping {
                kind: version.with_kind(kind),
                ..mapping.clone()
            });
        }
        let name = GroupResource::new(&version.group, &resource.name);
        for category in resource.categories.iter().flatten() {
            let members = self.categories.entry(category.clone()).or_default();
            if !members.contains(&name) {
                members.push(name.clone());
            }
        }
        self.mapper.add(mapping);
    }
}

impl RestMapper for RestMapperSnapshot {
    fn mapping(&self, kind: &GroupKind, versions: &[&str]) -> Result<RestMapping, RestMapperError> {
        let found = self.mapper.mapping(kind, versions);
        found.or_else(|error| self.other_kinds.mapping(kind, versions).map_err(|_| error))
    }

    /// A full name wins over short ones, and of short names the first.
    fn mappings_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<Vec<RestMapping>, RestMapperError> {
        let mut found = self.mapper.mappings_for(partial)?;
        let name = partial.resource.to_lowercase();
        let in_full =
            |mapping: &RestMapping| mapping.resource.resource == name || mapping.singular == name;
        if found.iter().any(in_full) {
            found.retain(in_full);
        } else if let Some(first) = found.first().map(|m| m.resource.group_resource()) {
            for other in found
                .iter()
                .filter(|m| m.resource.group_resource() != first)
            {
                let other = other.resource.group_resource();
                tracing::debug!(short = name, %first, %other, "ambiguous short name");
            }
            found.retain(|mapping| mapping.resource.group_resource() == first);
        }
        Ok(found)
    }

    fn resource_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<GroupVersionResource, RestMapperError> {
        Ok(self.first(partial)?.resource)
    }

    fn kind_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<GroupVersionKind, RestMapperError> {
        Ok(self.first(partial)?.kind)
    }
}

fn is_preferred(group: &APIGroup, version: &GroupVersion) -> bool {
    let preferred = group.preferred_version.as_ref();
    preferred.is_some_and(|preferred| preferred.version == version.version)
}

#[cfg(test)]
mod tests;
