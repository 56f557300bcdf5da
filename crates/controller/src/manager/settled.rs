//! Waiting until there is nothing to do, for tests.

use std::{cmp::Ordering, collections::BTreeSet, fmt, time::Duration};

use kube::{
    Api,
    api::ListParams,
    core::{DynamicObject, PartialObjectMeta},
};
use kubewright_informer::{SharedInformer, version};

use super::Manager;

/// What was still to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// What was still to do when the time was over.
    pub reason: String,
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not settled: {}", self.reason)
    }
}

impl std::error::Error for Unsettled {}

impl Manager {
    /// Whether all queues are empty, nothing runs, no event waits for a handler, and nothing that failed waits to be tried
    /// again. What is to run again at a time that a reconciler named does not count.
    pub fn is_idle(&self) -> bool {
        self.unsettled().is_none()
    }

    /// Waits until [`is_idle`](Self::is_idle). Says nothing of what the server holds: see [`settled`](Self::settled).
    pub async fn idle(&self) {
        loop {
            let pulse = self.pulse().notified();
            let mut pulse = std::pin::pin!(pulse);
            // From here on nothing is missed.
            pulse.as_mut().enable();
            if self.is_idle() {
                return;
            }
            pulse.await;
        }
    }

    /// Waits until all caches show what the server holds and there is nothing to do about it, at most so long.
    ///
    /// Reads the whole of every cached kind from the server: for tests. Of a cache that holds less than there is, it cannot
    /// compare the objects and waits for the revision instead: for the next bookmark, that is up to a minute.
    pub async fn settled(&self, most: Duration) -> Result<(), Unsettled> {
        let deadline = tokio::time::sleep(most);
        let mut deadline = std::pin::pin!(deadline);
        tokio::select! {
            biased;
            () = self.until_settled() => return Ok(()),
            () = &mut deadline => {}
        }
        let behind = self
            .informers()
            .into_iter()
            .find(|cache| !cache.has_synced());
        let reason = self.unsettled().unwrap_or_else(|| match behind {
            Some(cache) => format!("the cache of {} is not filled", cache.resource().plural),
            None => "a cache does not show what the server holds".to_owned(),
        });
        Err(Unsettled { reason })
    }

    async fn until_settled(&self) {
        loop {
            for cache in self.informers() {
                if !cache
                    .error()
                    .is_some_and(|e| crate::source::is_unknown_kind(&e))
                {
                    self.shows_all(&cache).await;
                }
            }
            self.idle().await;
            // What was done meanwhile may have changed something.
            let mut same = true;
            for cache in self.informers() {
                same = same && self.is_current(&cache).await != Some(false);
            }
            if same && self.is_idle() {
                return;
            }
        }
    }

    /// Waits until a cache shows what the server holds now.
    async fn shows_all(&self, cache: &SharedInformer<()>) {
        while self.is_current(cache).await == Some(false) {
            let next = cache
                .resource_version()
                .and_then(|version| version.parse::<u128>().ok())
                .and_then(|version| version.checked_add(1));
            let moved = async {
                match next {
                    Some(next) => drop(cache.wait_for(&next.to_string()).await),
                    None => drop(cache.sync_or_error().await),
                }
            };
            // What moves may be the server instead.
            let _ = tokio::time::timeout(LOOK_AGAIN, moved).await;
        }
    }

    /// Whether a cache shows what the server holds. `None` if the server does not say.
    async fn is_current(&self, cache: &SharedInformer<()>) -> Option<bool> {
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(self.client().live(), cache.resource());
        let shown = cache.indexer().snapshot();
        let held = api.list_metadata(&ListParams::default()).await.ok()?;
        if self.caches().is_scoped(cache.resource()) {
            let newest = held.metadata.resource_version?;
            let shown = shown.resource_version()?;
            return version::compare(shown, &newest).map(Ordering::is_ge);
        }
        let held: BTreeSet<(String, String)> = held
            .items
            .into_iter()
            .map(|object| {
                let metadata = object.metadata;
                let namespace = metadata.namespace.unwrap_or_default();
                let name = metadata.name.unwrap_or_default();
                let key = kubewright_informer::Key::new(Some(&namespace), &name);
                (
                    key.to_string(),
                    metadata.resource_version.unwrap_or_default(),
                )
            })
            .collect();
        let shown: BTreeSet<(String, String)> = shown
            .iter()
            .map(|object| {
                (
                    object.key().to_string(),
                    object.resource_version().to_owned(),
                )
            })
            .collect();
        Some(shown == held)
    }

    fn unsettled(&self) -> Option<String> {
        self.controllers()
            .iter()
            .find_map(|controller| controller.unsettled())
    }
}

/// How long to wait for a cache before the server is asked again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
