//! The groups of discovery: those of the registry, and those of other servers, in the order of their priorities.

use std::{cmp::Reverse, sync::Arc};

use kubewright_machinery::version::compare_kube_versions;

use crate::{
    aggregation::{GroupVersionInfo, RemoteResources},
    registry::{Registry, Resource},
};

/// A group, preferred version first.
pub(super) struct DiscoveredGroup {
    pub(super) name: String,
    pub(super) versions: Vec<DiscoveredVersion>,
}

/// A version of a group.
pub(super) struct DiscoveredVersion {
    pub(super) name: String,
    pub(super) source: Source,
}

/// The server that has the resources of a version.
pub(super) enum Source {
    /// This one.
    Local(Vec<Arc<Resource>>),
    /// Another one.
    Remote(RemoteResources),
}

/// Returns the groups of a registry and of other servers. Groups and versions without a priority stay where the registry has
/// them, before all others.
pub(super) fn merge(registry: &Registry, infos: &[GroupVersionInfo]) -> Vec<DiscoveredGroup> {
    let mut groups: Vec<DiscoveredGroup> = Vec::new();
    for group in registry.groups() {
        let versions = group
            .versions
            .iter()
            .map(|(name, resources)| DiscoveredVersion {
                name: name.clone(),
                source: Source::Local(resources.clone()),
            });
        groups.push(DiscoveredGroup {
            name: group.name.clone(),
            versions: versions.collect(),
        });
    }
    for info in infos {
        if let Some(remote) = &info.remote {
            insert(&mut groups, info, remote);
        }
    }
    for group in &mut groups {
        let name = &group.name;
        let priority = |version: &DiscoveredVersion| {
            let found = infos
                .iter()
                .find(|info| info.group == *name && info.version == version.name);
            found.map_or(i64::MAX, |info| info.version_priority)
        };
        group.versions.sort_by(|a, b| {
            let by_priority = priority(b).cmp(&priority(a));
            by_priority.then_with(|| match (&a.source, &b.source) {
                (Source::Local(_), Source::Local(_)) => std::cmp::Ordering::Equal,
                _ => compare_kube_versions(&b.name, &a.name),
            })
        });
    }
    groups.sort_by_key(|group| {
        let own = infos.iter().filter(|info| info.group == group.name);
        Reverse(
            own.map(|info| info.group_priority)
                .max()
                .unwrap_or(i64::MAX),
        )
    });
    groups
}

/// Adds the version of another server, in place of one of this server.
fn insert(groups: &mut Vec<DiscoveredGroup>, info: &GroupVersionInfo, remote: &RemoteResources) {
    let version = DiscoveredVersion {
        name: info.version.clone(),
        source: Source::Remote(remote.clone()),
    };
    let Some(group) = groups.iter_mut().find(|group| group.name == info.group) else {
        groups.push(DiscoveredGroup {
            name: info.group.clone(),
            versions: vec![version],
        });
        return;
    };
    match group.versions.iter_mut().find(|v| v.name == info.version) {
        Some(known) => *known = version,
        None => group.versions.push(version),
    }
}
