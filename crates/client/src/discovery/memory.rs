//! [`MemoryCache`]: discovery that is kept until it is invalidated.
//!
//! The first call fills it, and concurrent ones wait for that. Transient failures (refused connections, 429, 5xx) are
//! retried on the next access; permanent ones are kept until [`invalidate`](Discovery::invalidate).

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::core::Status;
use kubewright_machinery::gvk::GroupVersion;
use tokio::sync::Mutex;

use super::{Discovered, Discovery};
use crate::error::{Error, Result};

/// Caches the results of another [`Discovery`] in memory.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::{DiscoveryClient, MemoryCache};
///
/// let cache = MemoryCache::new(DiscoveryClient::new(client));
/// let found = cache.discover().await.unwrap();
/// assert!(found.preferred().iter().any(|list| list.group_version == "apps/v1"));
/// // From memory, until it is invalidated.
/// cache.discover().await.unwrap();
/// # });
/// ```
pub struct MemoryCache<D> {
    source: D,
    known: Mutex<Option<Known>>,
    fresh: AtomicBool,
}

#[derive(Clone)]
struct Known {
    groups: Vec<APIGroup>,
    lists: BTreeMap<GroupVersion, Result<APIResourceList>>,
}

impl<D: Discovery> MemoryCache<D> {
    /// Creates an empty cache of `source`.
    pub fn new(source: D) -> Self {
        Self {
            source,
            known: Mutex::new(None),
            fresh: AtomicBool::new(false),
        }
    }

    /// Returns the discovery that this cache asks.
    pub fn source(&self) -> &D {
        &self.source
    }

    async fn fill(&self, known: &mut Option<Known>) -> Result<()> {
        if known.is_some() {
            return Ok(());
        }
        let found = self.source.discover().await?;
        if found.groups.is_empty() {
            let text = "the server has no API groups";
            return Err(Error::Decode(text.to_owned()));
        }
        let mut lists = BTreeMap::new();
        for list in found.resources {
            if let Some(version) = GroupVersion::parse(&list.group_version) {
                lists.insert(version, Ok(list));
            }
        }
        let failures = found.failures.into_iter();
        lists.extend(failures.map(|(version, error)| (version, Err(error))));
        *known = Some(Known {
            groups: found.groups,
            lists,
        });
        self.fresh.store(true, Ordering::Release);
        Ok(())
    }

    async fn again(&self, version: &GroupVersion) -> Result<APIResourceList> {
        let list = self.source.resources(version).await?;
        if list.resources.is_empty() {
            return Err(Error::Decode(format!(
                "received empty response for: {version}"
            )));
        }
        Ok(list)
    }
}

#[async_trait]
impl<D: Discovery> Discovery for MemoryCache<D> {
    async fn groups(&self) -> Result<Vec<APIGroup>> {
        let mut known = self.known.lock().await;
        self.fill(&mut known).await?;
        Ok(known
            .as_ref()
            .map(|known| known.groups.clone())
            .unwrap_or_default())
    }

    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList> {
        let mut known = self.known.lock().await;
        self.fill(&mut known).await?;
        let entry = known
            .as_mut()
            .and_then(|known| known.lists.get_mut(version));
        match entry {
            None => {
                let status = Status::failure("not found", "NotFound").with_code(404);
                Err(Error::Api(Box::new(status)))
            }
            Some(entry) => {
                if entry.as_ref().is_err_and(Error::is_transient) {
                    *entry = self.again(version).await;
                }
                entry.clone()
            }
        }
    }

    async fn discover(&self) -> Result<Discovered> {
        let mut known = self.known.lock().await;
        self.fill(&mut known).await?;
        let Some(known) = known.as_mut() else {
            return Ok(Discovered::default());
        };
        for (version, entry) in &mut known.lists {
            if entry.as_ref().is_err_and(Error::is_transient) {
                *entry = self.again(version).await;
            }
        }
        let mut found = Discovered {
            groups: known.groups.clone(),
            ..Discovered::default()
        };
        for group in &known.groups {
            for version in &group.versions {
                let version = GroupVersion::new(&group.name, &version.version);
                if let Some(Ok(list)) = known.lists.get(&version) {
                    found.resources.push(list.clone());
                }
            }
        }
        for (version, entry) in &known.lists {
            if let Err(error) = entry {
                found.failures.insert(version.clone(), error.clone());
            }
        }
        Ok(found)
    }

    fn is_fresh(&self) -> bool {
        self.fresh.load(Ordering::Acquire)
    }

    async fn invalidate(&self) {
        let mut known = self.known.lock().await;
        *known = None;
        self.fresh.store(false, Ordering::Release);
        self.source.invalidate().await;
    }
}
