//! Maps kinds to resources and back, and names that people type (`po`, `deploy.apps`) to resources.
//!
//! [`RestMapper`] is the trait; [`StaticRestMapper`] implements it with a table and needs no server.
//!
//! ```
//! use kubewright_machinery::{
//!     gvk::{GroupVersionKind, GroupVersionResource},
//!     rest_mapper::{RestMapper, RestMapping, StaticRestMapper},
//! };
//!
//! let mut mapper = StaticRestMapper::new();
//! mapper.add(RestMapping {
//!     kind: GroupVersionKind::new("apps", "v1", "Deployment"),
//!     resource: GroupVersionResource::new("apps", "v1", "deployments"),
//!     singular: "deployment".to_owned(),
//!     short_names: vec!["deploy".to_owned()],
//!     namespaced: true,
//! });
//! let found = mapper.resource_for(&GroupVersionResource::new("", "", "deploy"))?;
//! assert_eq!(found.resource, "deployments");
//! # Ok::<(), kubewright_machinery::rest_mapper::RestMapperError>(())
//! ```

use std::collections::HashMap;

use crate::{
    go,
    gvk::{GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource},
};

/// A kind and the resource that serves its objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RestMapping {
    /// `apps/v1, Kind=Deployment`
    pub kind: GroupVersionKind,
    /// `apps/v1, Resource=deployments`
    pub resource: GroupVersionResource,
    /// `deployment`
    pub singular: String,
    /// `deploy`
    pub short_names: Vec<String>,
    /// `true` for a namespaced resource.
    pub namespaced: bool,
}

/// A kind or resource without a mapping, or with several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestMapperError {
    /// The kind does not exist in the versions searched.
    #[error("{}", no_kind(.kind, .versions))]
    NoKindMatch {
        /// The kind.
        kind: GroupKind,
        /// The versions that were asked for, none for any.
        versions: Vec<String>,
    },
    /// The resource does not exist.
    #[error("no matches for {0}")]
    NoResourceMatch(GroupVersionResource),
    /// Several resources match.
    #[error("{partial} matches multiple resources [{}]", join(.matching))]
    Ambiguous {
        /// The requested name.
        partial: GroupVersionResource,
        /// The matching resources, the preferred one first.
        matching: Vec<GroupVersionResource>,
    },
}

/// Finds kinds and resources.
pub trait RestMapper {
    /// Returns the mapping of a kind: in the first of these versions that has it, or in the preferred one if there
    /// are none.
    fn mapping(&self, kind: &GroupKind, versions: &[&str]) -> Result<RestMapping, RestMapperError>;

    /// Returns all matches of a partial resource, the preferred one first. Group and version may be empty, the group may be the
    /// start of one, and the name may be plural, singular or short, in any case.
    fn mappings_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<Vec<RestMapping>, RestMapperError>;

    /// Returns the only match of a partial resource.
    fn resource_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<GroupVersionResource, RestMapperError> {
        let mut mappings = self.mappings_for(partial)?;
        match mappings.len() {
            1 => Ok(mappings.remove(0).resource),
            _ => Err(RestMapperError::Ambiguous {
                partial: partial.clone(),
                matching: mappings.into_iter().map(|m| m.resource).collect(),
            }),
        }
    }

    /// Returns the kind of the objects of a resource, the preferred one if several match.
    fn kind_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<GroupVersionKind, RestMapperError> {
        let first = self.mappings_for(partial)?.into_iter().next();
        first
            .map(|m| m.kind)
            .ok_or_else(|| RestMapperError::NoResourceMatch(partial.clone()))
    }
}

/// A mapper over a table. Mappings that were added first are preferred.
#[derive(Clone, Debug, Default)]
pub struct StaticRestMapper {
    mappings: Vec<RestMapping>,
    by_kind: HashMap<GroupKind, Vec<usize>>,
    /// Resources by plural, singular and short names, in lower case.
    by_name: HashMap<String, Vec<usize>>,
}

impl StaticRestMapper {
    /// Creates an empty mapper.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a mapping with the lowest preference. A kind that is known already keeps its first mapping.
    pub fn add(&mut self, mapping: RestMapping) {
        let index = self.mappings.len();
        let kinds = self.by_kind.entry(mapping.kind.group_kind()).or_default();
        if kinds
            .iter()
            .any(|&i| self.mappings.get(i).is_some_and(|m| m.kind == mapping.kind))
        {
            return;
        }
        kinds.push(index);
        let names = [&mapping.resource.resource, &mapping.singular];
        for name in names.into_iter().chain(&mapping.short_names) {
            let list = self.by_name.entry(name.to_lowercase()).or_default();
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
        self.mappings.push(mapping);
    }

    /// Returns all mappings, in the order they were added.
    pub fn mappings(&self) -> &[RestMapping] {
        &self.mappings
    }

    fn at(&self, indexes: Option<&Vec<usize>>) -> Vec<&RestMapping> {
        indexes
            .into_iter()
            .flatten()
            .filter_map(|&i| self.mappings.get(i))
            .collect()
    }
}

impl Extend<RestMapping> for StaticRestMapper {
    fn extend<T: IntoIterator<Item = RestMapping>>(&mut self, mappings: T) {
        for mapping in mappings {
            self.add(mapping);
        }
    }
}

impl FromIterator<RestMapping> for StaticRestMapper {
    fn from_iter<T: IntoIterator<Item = RestMapping>>(mappings: T) -> Self {
        let mut mapper = Self::new();
        mapper.extend(mappings);
        mapper
    }
}

impl RestMapper for StaticRestMapper {
    fn mapping(&self, kind: &GroupKind, versions: &[&str]) -> Result<RestMapping, RestMapperError> {
        let known = self.at(self.by_kind.get(kind));
        let versions: Vec<&str> = versions.iter().copied().filter(|v| !v.is_empty()).collect();
        let found = if versions.is_empty() {
            known.first()
        } else {
            versions
                .iter()
                .find_map(|v| known.iter().find(|m| m.kind.version == *v))
        };
        found
            .map(|m| (*m).clone())
            .ok_or_else(|| RestMapperError::NoKindMatch {
                kind: kind.clone(),
                versions: versions.iter().map(|v| (*v).to_owned()).collect(),
            })
    }

    fn mappings_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<Vec<RestMapping>, RestMapperError> {
        let mut found = self.at(self.by_name.get(&partial.resource.to_lowercase()));
        if !partial.version.is_empty() {
            found.retain(|m| m.resource.version == partial.version);
        }
        if !partial.group.is_empty() {
            let exact = found.iter().any(|m| m.resource.group == partial.group);
            found.retain(|m| {
                if exact || !partial.version.is_empty() {
                    m.resource.group == partial.group
                } else {
                    m.resource.group.starts_with(&partial.group)
                }
            });
        }
        if found.is_empty() {
            return Err(RestMapperError::NoResourceMatch(partial.clone()));
        }
        Ok(found.into_iter().cloned().collect())
    }
}

fn no_kind(kind: &GroupKind, versions: &[String]) -> String {
    let name = go::quote(&kind.kind);
    let mut versions: Vec<String> = versions
        .iter()
        .map(|v| go::quote(&GroupVersion::new(&kind.group, v).to_string()))
        .collect();
    versions.sort();
    versions.dedup();
    match versions.as_slice() {
        [] => format!(
            "no matches for kind {name} in group {}",
            go::quote(&kind.group)
        ),
        [one] => format!("no matches for kind {name} in version {one}"),
        many => format!(
            "no matches for kind {name} in versions [{}]",
            many.join(" ")
        ),
    }
}

fn join(resources: &[GroupVersionResource]) -> String {
    let texts: Vec<String> = resources.iter().map(ToString::to_string).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(group: &str, version: &str, kind: &str, plural: &str, short: &str) -> RestMapping {
        RestMapping {
            kind: GroupVersionKind::new(group, version, kind),
            resource: GroupVersionResource::new(group, version, plural),
            singular: kind.to_lowercase(),
            short_names: vec![short.into()],
            namespaced: true,
        }
    }

    fn mapper() -> StaticRestMapper {
        [
            mapping("", "v1", "Event", "events", "ev"),
            mapping("events.k8s.io", "v1", "Event", "events", "ev"),
            mapping("apps", "v1", "Deployment", "deployments", "deploy"),
            mapping("apps", "v1beta1", "Deployment", "deployments", "deploy"),
        ]
        .into_iter()
        .collect()
    }

    fn partial(group: &str, version: &str, resource: &str) -> GroupVersionResource {
        GroupVersionResource::new(group, version, resource)
    }

    #[test]
    fn a_kind_is_found_in_the_preferred_version_or_the_first_asked_for() {
        let mapper = mapper();
        let kind = GroupKind::new("apps", "Deployment");
        assert_eq!(mapper.mapping(&kind, &[]).unwrap().kind.version, "v1");
        assert_eq!(
            mapper
                .mapping(&kind, &["v9", "v1beta1"])
                .unwrap()
                .kind
                .version,
            "v1beta1"
        );
        assert_eq!(
            mapper.mapping(&kind, &["v2"]).unwrap_err().to_string(),
            "no matches for kind \"Deployment\" in version \"apps/v2\""
        );
        assert_eq!(
            mapper
                .mapping(&kind, &["v3", "v2"])
                .unwrap_err()
                .to_string(),
            "no matches for kind \"Deployment\" in versions [\"apps/v2\" \"apps/v3\"]"
        );
        let none = GroupKind::new("x", "Foo");
        assert_eq!(
            mapper.mapping(&none, &[]).unwrap_err().to_string(),
            "no matches for kind \"Foo\" in group \"x\""
        );
    }

    #[test]
    fn resources_are_found_by_any_of_their_names() {
        let mapper = mapper();
        for name in ["deployments", "deployment", "Deployment", "deploy"] {
            let found = mapper.resource_for(&partial("apps", "v1", name)).unwrap();
            assert_eq!(found, partial("apps", "v1", "deployments"), "{name}");
        }
        let found = mapper.resource_for(&partial("events", "", "ev")).unwrap();
        assert_eq!(found.group, "events.k8s.io");
        assert_eq!(
            mapper.kind_for(&partial("", "", "ev")).unwrap().to_string(),
            "/v1, Kind=Event"
        );
    }

    #[test]
    fn ambiguity_is_an_error() {
        let mapper = mapper();
        assert_eq!(
            mapper
                .resource_for(&partial("", "v1", "events"))
                .unwrap_err()
                .to_string(),
            "/v1, Resource=events matches multiple resources [/v1, Resource=events events.k8s.io/v1, Resource=events]"
        );
        assert_eq!(
            mapper
                .resource_for(&partial("", "v1", "foos"))
                .unwrap_err()
                .to_string(),
            "no matches for /v1, Resource=foos"
        );
    }
}
