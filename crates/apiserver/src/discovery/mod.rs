//! Discovery documents.
//!
//! There are two forms. Legacy discovery has a document for each level (`/api`, `/apis`, `/apis/apps`, `/apis/apps/v1`).
//! Aggregated discovery has one document for `/api` and one for `/apis`, which clients request in their `Accept` header
//! ([`aggregated_format`]).
//!
//! A [`Discovery`] belongs to one [`Registry`]. It encodes a document on the first request and caches the bytes, which are
//! JSON with the field order of kube-apiserver. Groups, versions and resources are in the order of the registry.

mod accept;
mod aggregated;
mod groups;
mod legacy;

use std::{collections::HashMap, sync::Arc, sync::OnceLock};

use bytes::Bytes;

pub(crate) use accept::{Format, aggregated_format};
pub(crate) use aggregated::Aggregated;

use crate::{aggregation::GroupVersionInfo, registry::Registry};
use groups::{DiscoveredGroup, Source};

/// The discovery documents of a registry.
pub(crate) struct Discovery {
    registry: Arc<Registry>,
    discovered: Vec<DiscoveredGroup>,
    groups: OnceLock<Bytes>,
    group: HashMap<String, OnceLock<Bytes>>,
    resources: HashMap<(String, String), OnceLock<Bytes>>,
    aggregated_core: OnceLock<Aggregated>,
    aggregated_groups: OnceLock<Aggregated>,
}

/// The name of a legacy document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Legacy<'a> {
    /// `/api`
    Versions {
        /// The host and port at which clients reach the server.
        server_address: &'a str,
    },
    /// `/apis`
    Groups,
    /// `/apis/apps`
    Group(&'a str),
    /// `/apis/apps/v1`, or with an empty group `/api/v1`
    Resources(&'a str, &'a str),
}

impl Discovery {
    /// Returns the documents of a registry, and of the group versions of other servers.
    pub(crate) fn new(registry: Arc<Registry>, infos: &[GroupVersionInfo]) -> Self {
        let discovered = groups::merge(&registry, infos);
        let mut group = HashMap::new();
        let mut resources = HashMap::new();
        for g in &discovered {
            if !g.name.is_empty() {
                group.insert(g.name.clone(), OnceLock::new());
            }
            for version in &g.versions {
                resources.insert((g.name.clone(), version.name.clone()), OnceLock::new());
            }
        }
        Self {
            registry,
            discovered,
            groups: OnceLock::new(),
            group,
            resources,
            aggregated_core: OnceLock::new(),
            aggregated_groups: OnceLock::new(),
        }
    }

    /// Returns a legacy document as JSON on one line, or `None` if the group or version is not served.
    pub(crate) fn legacy(&self, document: Legacy<'_>) -> Option<Bytes> {
        let registry = &*self.registry;
        match document {
            Legacy::Versions { server_address } => Some(legacy::versions(registry, server_address)),
            Legacy::Groups => {
                let groups = self.groups.get_or_init(|| legacy::groups(&self.discovered));
                Some(groups.clone())
            }
            Legacy::Group(name) => {
                let group = self.discovered.iter().find(|g| g.name == name)?;
                Some(
                    self.group
                        .get(name)?
                        .get_or_init(|| legacy::group(group))
                        .clone(),
                )
            }
            Legacy::Resources(name, version) => {
                let group = self.discovered.iter().find(|g| g.name == name)?;
                let found = group.versions.iter().find(|v| v.name == version)?;
                let Source::Local(resources) = &found.source else {
                    return None;
                };
                let kept = self.resources.get(&(name.to_owned(), version.to_owned()))?;
                Some(
                    kept.get_or_init(|| legacy::resources(name, version, resources))
                        .clone(),
                )
            }
        }
    }

    /// Returns the aggregated document of `/api`, the core group.
    pub(crate) fn aggregated_core(&self) -> &Aggregated {
        self.aggregated_core
            .get_or_init(|| Aggregated::new(&self.discovered, true))
    }

    /// Returns the aggregated document of `/apis`, all other groups.
    pub(crate) fn aggregated_groups(&self) -> &Aggregated {
        self.aggregated_groups
            .get_or_init(|| Aggregated::new(&self.discovered, false))
    }
}

#[cfg(test)]
mod tests;
