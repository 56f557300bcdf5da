//! [`DiscoveryRestMapper`]: maps kinds to resources and back, by discovery.
//!
//! It discovers on the first call, and again whenever something is unknown, so that a CRD that was created a moment ago
//! is found. Concurrent callers share one discovery; kinds that were unknown then stay unknown for [a
//! while](DiscoveryRestMapper::forget_misses_after), so a missing kind does not keep the server busy.

mod snapshot;

pub use snapshot::RestMapperSnapshot;

use std::{collections::HashMap, sync::Arc, time::Duration};

use kubewright_machinery::{
    gvk::{GroupKind, GroupResource, GroupVersionKind, GroupVersionResource},
    rest_mapper::{RestMapper, RestMapperError, RestMapping},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    discovery::{Discovery, GroupDiscoveryFailed},
    error::{Error, Result},
};

/// The time for which something stays unknown without a new discovery.
const MISSES_LAST: Duration = Duration::from_secs(10);

/// The number of misses that are remembered before it starts over.
const MAX_MISSES: usize = 1000;

/// Maps kinds and resources by discovery. Clones share the cache.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::sync::Arc;
/// use kubewright_client::{DiscoveryClient, DiscoveryRestMapper, discovery::MemoryCache};
/// use kubewright_machinery::gvk::GroupKind;
///
/// let mapper = DiscoveryRestMapper::new(Arc::new(MemoryCache::new(DiscoveryClient::new(client))));
/// let deployments = mapper.mapping(&GroupKind::new("apps", "Deployment"), &[]).await.unwrap();
/// assert_eq!(deployments.resource.to_string(), "apps/v1, Resource=deployments");
/// assert!(deployments.namespaced);
///
/// // Names as users type them.
/// assert_eq!(mapper.find("deploy.apps").await.unwrap().kind.kind, "Deployment");
/// # });
/// ```
#[derive(Clone)]
pub struct DiscoveryRestMapper(Arc<Inner>);

struct Inner {
    discovery: Arc<dyn Discovery>,
    known: Mutex<Known>,
    /// Held during a discovery.
    discovering: tokio::sync::Mutex<()>,
    misses_last: Duration,
}

#[derive(Default)]
struct Known {
    snapshot: Option<Arc<RestMapperSnapshot>>,
    /// Increased by every discovery.
    generation: u64,
    misses: HashMap<Question, Instant>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Question {
    Kind(GroupKind, Vec<String>),
    Resource(GroupVersionResource),
}

impl DiscoveryRestMapper {
    /// Creates a mapper that uses `discovery` on demand.
    pub fn new(discovery: Arc<dyn Discovery>) -> Self {
        Self::forget_misses_after(discovery, MISSES_LAST)
    }

    /// Creates a mapper that remembers misses for this long.
    pub fn forget_misses_after(discovery: Arc<dyn Discovery>, misses_last: Duration) -> Self {
        Self(Arc::new(Inner {
            discovery,
            known: Mutex::default(),
            discovering: tokio::sync::Mutex::new(()),
            misses_last,
        }))
    }

    /// Returns the resource of a kind: in the first of these versions that has it, or in the preferred one if none is
    /// given.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have the kind, or if discovery fails.
    pub async fn mapping(&self, kind: &GroupKind, versions: &[&str]) -> Result<RestMapping> {
        let named = versions.iter().map(|version| (*version).to_owned());
        let question = Question::Kind(kind.clone(), named.collect());
        self.ask(question, |known| known.mapping(kind, versions))
            .await
    }

    /// Returns all resources that a partial resource may mean, the preferred first. Group and version may be empty, the
    /// group may be a prefix, and the name may be plural, singular or short.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have such a resource, or if discovery fails.
    pub async fn mappings_for(&self, partial: &GroupVersionResource) -> Result<Vec<RestMapping>> {
        let question = Question::Resource(partial.clone());
        self.ask(question, |known| known.mappings_for(partial))
            .await
    }

    /// Returns the resource that a partial resource means.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have the resource, if it is ambiguous, or if discovery fails.
    pub async fn resource_for(
        &self,
        partial: &GroupVersionResource,
    ) -> Result<GroupVersionResource> {
        let question = Question::Resource(partial.clone());
        self.ask(question, |known| known.resource_for(partial))
            .await
    }

    /// Returns the kind of a resource.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have the resource, if it is ambiguous, or if discovery fails.
    pub async fn kind_for(&self, partial: &GroupVersionResource) -> Result<GroupVersionKind> {
        let question = Question::Resource(partial.clone());
        self.ask(question, |known| known.kind_for(partial)).await
    }

    /// Resolves a name as users type it: `po`, `deployments`, `deploy.apps`, `deployments.v1.apps`.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have such a resource, if it is ambiguous, or if discovery fails.
    pub async fn find(&self, text: &str) -> Result<RestMapping> {
        let (name, group) = text.split_once('.').unwrap_or((text, ""));
        let partial = GroupVersionResource::new(group, "", name);
        // The part between two dots may be a version, or the start of the group.
        let versioned = group
            .split_once('.')
            .map(|(version, group)| GroupVersionResource::new(group, version, name));
        let question = Question::Resource(partial.clone());
        self.ask(question, |known| {
            let versioned = versioned
                .as_ref()
                .and_then(|versioned| known.first(versioned).ok());
            versioned.map_or_else(|| known.first(&partial), Ok)
        })
        .await
    }

    /// Returns the resources of a category, such as `all`.
    ///
    /// # Errors
    ///
    /// Fails if discovery fails.
    pub async fn category(&self, name: &str) -> Result<Vec<GroupResource>> {
        Ok(self.snapshot().await?.category(name).to_vec())
    }

    /// Returns the current state as a mapper that never asks the server.
    ///
    /// # Errors
    ///
    /// Fails if discovery fails.
    pub async fn snapshot(&self) -> Result<Arc<RestMapperSnapshot>> {
        Ok(self.known().await?.0)
    }

    /// Discards the cache; the next call discovers.
    pub async fn reset(&self) {
        {
            let mut known = self.0.known.lock();
            known.snapshot = None;
            known.misses.clear();
        }
        self.0.discovery.invalidate().await;
    }

    async fn ask<T>(
        &self,
        question: Question,
        answer: impl Fn(&RestMapperSnapshot) -> Result<T, RestMapperError>,
    ) -> Result<T> {
        let (snapshot, generation) = self.known().await?;
        let unknown = match answer(&snapshot) {
            Err(error) if is_unknown(&error) => error,
            result => return Ok(result?),
        };
        if self.is_missed(&question) {
            return Err(because(&snapshot, &question, unknown));
        }
        let (snapshot, _) = self.discover(generation, true).await?;
        match answer(&snapshot) {
            Err(error) if is_unknown(&error) => {
                self.miss(&question);
                Err(because(&snapshot, &question, error))
            }
            result => Ok(result?),
        }
    }

    /// Returns the current state, and the discovery it came from.
    async fn known(&self) -> Result<(Arc<RestMapperSnapshot>, u64)> {
        match self.look() {
            (Some(snapshot), generation) => Ok((snapshot, generation)),
            (None, generation) => self.discover(generation, false).await,
        }
    }

    fn look(&self) -> (Option<Arc<RestMapperSnapshot>>, u64) {
        let known = self.0.known.lock();
        (known.snapshot.clone(), known.generation)
    }

    /// Discovers, unless another caller has done so after that generation.
    async fn discover(&self, after: u64, anew: bool) -> Result<(Arc<RestMapperSnapshot>, u64)> {
        let _one_at_a_time = self.0.discovering.lock().await;
        if let (Some(snapshot), generation) = self.look()
            && generation > after
        {
            return Ok((snapshot, generation));
        }
        if anew {
            self.0.discovery.invalidate().await;
        }
        let found = self.0.discovery.discover().await?;
        let snapshot = Arc::new(RestMapperSnapshot::new(&found));
        let mut known = self.0.known.lock();
        known.generation += 1;
        known.snapshot = Some(snapshot.clone());
        Ok((snapshot, known.generation))
    }

    fn is_missed(&self, question: &Question) -> bool {
        let known = self.0.known.lock();
        let missed = known.misses.get(question);
        missed.is_some_and(|at| at.elapsed() < self.0.misses_last)
    }

    fn miss(&self, question: &Question) {
        let mut known = self.0.known.lock();
        if known.misses.len() >= MAX_MISSES {
            known.misses.clear();
        }
        known.misses.insert(question.clone(), Instant::now());
    }
}

fn is_unknown(error: &RestMapperError) -> bool {
    matches!(
        error,
        RestMapperError::NoKindMatch { .. } | RestMapperError::NoResourceMatch(_)
    )
}

/// If the group could not be discovered, that is the reason.
fn because(snapshot: &RestMapperSnapshot, question: &Question, unknown: RestMapperError) -> Error {
    let group = match question {
        Question::Kind(kind, _) => &kind.group,
        Question::Resource(resource) => &resource.group,
    };
    let failures = snapshot.failures().iter();
    let failed: std::collections::BTreeMap<_, _> = failures
        .filter(|(version, _)| version.group == *group)
        .map(|(version, error)| (version.clone(), error.clone()))
        .collect();
    if failed.is_empty() {
        unknown.into()
    } else {
        GroupDiscoveryFailed(failed).into()
    }
}
