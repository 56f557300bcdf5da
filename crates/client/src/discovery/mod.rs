//! Discovery of the groups, versions and resources of a server.
//!
//! [`DiscoveryClient`] asks the server; [`MemoryCache`] and [`DiskCache`] cache. All implement [`Discovery`], so they
//! stack:
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use kubewright_client::{DiscoveryClient, MemoryCache};
//!
//! let discovery = MemoryCache::new(DiscoveryClient::new(client));
//! let found = discovery.discover().await.unwrap();
//! assert!(found.groups.iter().any(|group| group.name == "apps"));
//! let pods = found.preferred().iter().flat_map(|list| list.resources.clone()).find(|r| r.name == "pods");
//! assert_eq!(pods.unwrap().short_names.unwrap(), ["po"]);
//! // Groups that could not be discovered are named; everything else is available.
//! assert!(found.failures.is_empty());
//! # });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `client` | [`DiscoveryClient`]: asks the server, in two requests or, for old servers, one for every version |
//! | `aggregated` | groups and resources from aggregated discovery |
//! | `memory` | [`MemoryCache`] |
//! | `disk` | [`DiskCache`]: files in kubectl's format |
//! | `inherent` | the methods of [`Discovery`] on these types, which need no import of the trait |

mod aggregated;
pub(crate) mod client;
mod disk;
mod inherent;
mod memory;

pub(crate) use client::DiscoveryClient;
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

/// A source of discovery information.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::{Discovery, DiscoveryClient, MemoryCache};
///
/// /// Counts the kinds that a source of discovery information knows.
/// async fn count(discovery: &dyn Discovery) -> usize {
///     let groups = discovery.discover().await.unwrap();
///     groups.resources.len()
/// }
///
/// let live = DiscoveryClient::new(client);
/// let cached = MemoryCache::new(live.clone());
/// assert_eq!(count(&live).await, count(&cached).await);
/// # });
/// ```
#[async_trait]
pub trait Discovery: Send + Sync {
    /// Returns the groups and their versions, the core group first.
    async fn groups(&self) -> Result<Vec<APIGroup>>;

    /// Returns the resources of a group version.
    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList>;

    /// Returns all groups and resources. An error means that nothing could be discovered; partial failures are
    /// in [`failures`](Discovered::failures).
    async fn discover(&self) -> Result<Discovered>;

    /// Reports whether asking again would yield nothing new, because everything known was fetched since the start or
    /// the last [`invalidate`](Self::invalidate).
    fn is_fresh(&self) -> bool;

    /// Discards everything that is cached.
    async fn invalidate(&self);
}

/// The groups and resources of a server.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::DiscoveryClient;
/// use kubewright_machinery::gvk::{GroupResource, GroupVersion};
///
/// let found = DiscoveryClient::new(client).discover().await.unwrap();
/// let apps = found.resources_of(&GroupVersion::new("apps", "v1")).unwrap();
/// assert!(apps.resources.iter().any(|resource| resource.kind == "Deployment"));
/// assert!(found.in_category("all").contains(&GroupResource::new("", "pods")));
/// // Fails if something could not be discovered.
/// assert!(found.complete().is_ok());
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The groups, the core group first.
    pub groups: Vec<APIGroup>,
    /// The resources of every version, in the order of the groups. Subresources are `pods/status`.
    pub resources: Vec<APIResourceList>,
    /// The group versions that could not be discovered, with the reason. The results are valid for the rest.
    pub failures: BTreeMap<GroupVersion, Error>,
}

/// Some groups could not be discovered.
#[derive(Clone, Debug)]
pub struct GroupDiscoveryFailed(pub BTreeMap<GroupVersion, Error>);

impl Discovered {
    /// Returns the resources of a group version.
    pub fn resources_of(&self, version: &GroupVersion) -> Option<&APIResourceList> {
        let name = version.to_string();
        self.resources
            .iter()
            .find(|list| list.group_version == name)
    }

    /// Returns every resource once, in the version that the server prefers or the first one that has it, without
    /// subresources.
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

    /// Returns the [preferred](Self::preferred) resources that pass a filter, without empty lists.
    pub fn preferred_where(&self, passes: impl Fn(&APIResource) -> bool) -> Vec<APIResourceList> {
        let mut lists = self.preferred();
        for list in &mut lists {
            list.resources.retain(&passes);
        }
        lists.retain(|list| !list.resources.is_empty());
        lists
    }

    /// Returns the resources of a category, such as `all`.
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

    /// Returns everything.
    ///
    /// # Errors
    ///
    /// Fails if something could not be discovered, and names it.
    pub fn complete(self) -> Result<Self> {
        if self.failures.is_empty() {
            Ok(self)
        } else {
            Err(GroupDiscoveryFailed(self.failures).into())
        }
    }

    /// Iterates over the groups, their versions and their resources, in order.
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

/// Returns the resources of every version of these groups, requested concurrently.
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
