//! Discovery: which groups, versions and resources a server has.
//!
//! [`DiscoveryClient`] asks the server; [`MemoryCache`] and [`DiskCache`] remember. All are [`Discovery`], so they stack:
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use kubewright_client::{DiscoveryClient, discovery::{Discovery, MemoryCache}};
//!
//! let discovery = MemoryCache::new(DiscoveryClient::new(client));
//! let found = discovery.discover().await.unwrap();
//! assert!(found.groups.iter().any(|group| group.name == "apps"));
//! let pods = found.preferred().iter().flat_map(|list| list.resources.clone()).find(|r| r.name == "pods");
//! assert_eq!(pods.unwrap().short_names.unwrap(), ["po"]);
//! // What could not be discovered is named; the rest is there all the same.
//! assert!(found.failures.is_empty());
//! # });
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`client`] | [`DiscoveryClient`]: asks the server, in two requests or, from old servers, one for every version |
//! | [`aggregated`] | groups and resources out of aggregated discovery |
//! | [`memory`] | [`MemoryCache`] |
//! | [`disk`] | [`DiskCache`]: files that kubectl can read, and the other way round |

pub mod aggregated;
pub mod client;
pub mod disk;
pub mod memory;

pub use client::DiscoveryClient;
pub use disk::DiskCache;
pub use memory::MemoryCache;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource, APIResourceList};
use kubewright_machinery::gvk::{GroupResource, GroupVersion};

use crate::error::{Error, Result};

/// Something that knows what a server has.
#[async_trait]
pub trait Discovery: Send + Sync {
    /// The groups and their versions, the core group first.
    async fn groups(&self) -> Result<Vec<APIGroup>>;

    /// The resources of a group and version.
    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList>;

    /// All groups and resources. An error means that nothing could be learned at all; what is missing is among the
    /// [failures](Discovered::failures).
    async fn discover(&self) -> Result<Discovered>;

    /// Whether asking again would learn nothing new: all that is known was learned since the start or the last
    /// [`invalidate`](Self::invalidate).
    fn is_fresh(&self) -> bool;

    /// Forgets what is known.
    async fn invalidate(&self);
}

/// What a server has.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The groups, the core group first.
    pub groups: Vec<APIGroup>,
    /// The resources of every version, in the order of the groups. Subresources are `pods/status`.
    pub resources: Vec<APIResourceList>,
    /// What could not be learned, and why. Results are good for the rest.
    pub failures: BTreeMap<GroupVersion, Error>,
}

/// Some groups could not be discovered.
#[derive(Clone, Debug)]
pub struct GroupDiscoveryFailed(pub BTreeMap<GroupVersion, Error>);

impl Discovered {
    /// The resources of a group and version.
    pub fn resources_of(&self, version: &GroupVersion) -> Option<&APIResourceList> {
        let name = version.to_string();
        self.resources
            .iter()
            .find(|list| list.group_version == name)
    }

    /// Every resource once, in the version the server prefers, or the first that has it. No subresources.
    pub fn preferred(&self) -> Vec<APIResourceList> {
        let mut chosen: BTreeMap<GroupResource, String> = BTreeMap::new();
        for (group, version, list) in self.by_version() {
            let preferred = group.preferred_version.as_ref();
            let preferred = preferred.is_some_and(|p| p.version == version.version);
            for resource in list.resources.iter().filter(|r| !r.name.contains('/')) {
                let key = GroupResource::new(&group.name, &resource.name);
                if preferred || !chosen.contains_key(&key) {
                    chosen.insert(key, version.version.clone());
                }
            }
        }
        let mut lists = Vec::new();
        for (group, version, list) in self.by_version() {
            let mut list = list.clone();
            list.resources.retain(|resource| {
                let key = GroupResource::new(&group.name, &resource.name);
                !resource.name.contains('/') && chosen.get(&key) == Some(&version.version)
            });
            lists.push(list);
        }
        lists
    }

    /// Of the [preferred](Self::preferred) resources those that pass. Lists that are empty then are left out.
    pub fn preferred_where(&self, passes: impl Fn(&APIResource) -> bool) -> Vec<APIResourceList> {
        let mut lists = self.preferred();
        for list in &mut lists {
            list.resources.retain(&passes);
        }
        lists.retain(|list| !list.resources.is_empty());
        lists
    }

    /// The resources of a category, such as `all`; none if there is no such category.
    pub fn in_category(&self, category: &str) -> BTreeSet<GroupResource> {
        let mut found = BTreeSet::new();
        for (group, _, list) in self.by_version() {
            for resource in &list.resources {
                if resource.categories.iter().flatten().any(|c| c == category) {
                    found.insert(GroupResource::new(&group.name, &resource.name));
                }
            }
        }
        found
    }

    /// All of it, or an error that names what is missing.
    pub fn complete(self) -> Result<Self> {
        if self.failures.is_empty() {
            Ok(self)
        } else {
            Err(GroupDiscoveryFailed(self.failures).into())
        }
    }

    /// Groups, their versions and the resources of these, in order.
    pub(crate) fn by_version(
        &self,
    ) -> impl Iterator<Item = (&APIGroup, GroupVersion, &APIResourceList)> {
        self.groups.iter().flat_map(move |group| {
            group.versions.iter().filter_map(move |version| {
                let version = GroupVersion::new(&group.name, &version.version);
                let list = self.resources_of(&version)?;
                Some((group, version, list))
            })
        })
    }
}

impl fmt::Display for GroupDiscoveryFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unable to retrieve the complete list of server APIs: ")?;
        for (i, (version, error)) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{version}: {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for GroupDiscoveryFailed {}

#[async_trait]
impl<D: Discovery + ?Sized> Discovery for Arc<D> {
    async fn groups(&self) -> Result<Vec<APIGroup>> {
        (**self).groups().await
    }

    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList> {
        (**self).resources(version).await
    }

    async fn discover(&self) -> Result<Discovered> {
        (**self).discover().await
    }

    fn is_fresh(&self) -> bool {
        (**self).is_fresh()
    }

    async fn invalidate(&self) {
        (**self).invalidate().await;
    }
}

/// The resources of every version of these groups, asked for one by one, at the same time.
pub(crate) async fn by_parts(
    discovery: &(impl Discovery + ?Sized),
    groups: Vec<APIGroup>,
) -> Discovered {
    let versions: Vec<GroupVersion> = groups
        .iter()
        .flat_map(|group| {
            let versions = group.versions.iter();
            versions.map(|version| GroupVersion::new(&group.name, &version.version))
        })
        .collect();
    let lists = join_all(versions.iter().map(|version| discovery.resources(version))).await;
    let mut found = Discovered {
        groups,
        ..Discovered::default()
    };
    for (version, list) in versions.into_iter().zip(lists) {
        match list {
            Ok(list) => found.resources.push(list),
            Err(error) => {
                found.failures.insert(version, error);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
