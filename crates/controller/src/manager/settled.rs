//! Waiting until there is nothing to do, for tests.

use std::{collections::BTreeSet, fmt, time::Duration};

use kube::{
    Api,
    api::ListParams,
    core::{DynamicObject, PartialObjectMeta},
};
use kubewright_informer::{Key, Namespaces, SharedInformer};
use tokio::time::Instant;

use super::Manager;
use crate::source::is_unknown_kind;

/// Work that is left to do. `Debug` prints the same sentence as `Display`, since tests show it through `unwrap`.
#[derive(Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// A description of the work.
    pub reason: String,
}

impl Unsettled {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not settled: {}", self.reason)
    }
}

impl fmt::Debug for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Unsettled {}

impl Manager {
    /// Reports whether all queues are empty, nothing runs or is due, no event waits for a handler, and no failure waits
    /// for its retry. Requests that a reconciler scheduled for later do not count, nor do controllers that wait for
    /// this process to lead, until there is a leader.
    pub fn is_idle(&self) -> bool {
        self.unsettled().is_none()
    }

    /// Waits until [`is_idle`](Self::is_idle), without looking at the server: see [`settled`](Self::settled).
    pub async fn idle(&self) {
        loop {
            let pulse = self.pulse().notified();
            let mut pulse = std::pin::pin!(pulse);
            // From here on no notification is missed.
            pulse.as_mut().enable();
            if self.is_idle() {
                return;
            }
            pulse.await;
        }
    }

    /// Waits until all caches show what the server holds and there is nothing to do about it.
    ///
    /// Lists every cached kind from the server, so it is meant for tests. With a
    /// [counter of changes](Self::set_change_counter) it lists only those that changed.
    ///
    /// # Errors
    ///
    /// Fails with a description of the remaining work if the time is over.
    pub async fn settled(&self, most: Duration) -> Result<(), Unsettled> {
        tokio::select! {
            biased;
            () = self.until_settled() => return Ok(()),
            () = tokio::time::sleep(most) => {}
        }
        // It may have settled in this moment.
        self.is_settled().await
    }

    /// Checks once whether all caches show what the server holds and there is nothing to do about it.
    ///
    /// # Errors
    ///
    /// Fails with a description of the remaining work.
    pub async fn is_settled(&self) -> Result<(), Unsettled> {
        let busy = || match self.unsettled() {
            Some(reason) => Err(Unsettled::new(reason)),
            None => Ok(()),
        };
        busy()?;
        for cache in self.informers() {
            if let Some(reason) = self.behind(&cache).await {
                return Err(Unsettled::new(reason));
            }
        }
        // Work may have started meanwhile.
        busy()
    }

    /// Returns when the next delayed request of any controller is due.
    pub fn next_due(&self) -> Option<Instant> {
        let controllers = self.controllers();
        controllers
            .iter()
            .filter_map(|controller| controller.queue().status().next_due)
            .min()
    }

    async fn until_settled(&self) {
        loop {
            for cache in self.informers() {
                self.shows_all(&cache).await;
            }
            self.idle().await;
            // Work that was done meanwhile may have changed something.
            if self.is_settled().await.is_ok() {
                return;
            }
        }
    }

    /// Waits until a cache shows what the server holds now.
    async fn shows_all(&self, cache: &SharedInformer<()>) {
        while self.behind(cache).await.is_some() {
            let next = cache
                .resource_version()
                .and_then(|version| version.parse::<u128>().ok())
                .and_then(|version| version.checked_add(1));
            let moved = async {
                match next {
                    Some(next) => drop(cache.wait_for(&next.to_string()).await),
                    // The informer tries again after a while.
                    None => match cache.sync_or_error().await {
                        Ok(()) => {}
                        Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
                    },
                }
            };
            // The server may have changed instead.
            let _ = tokio::time::timeout(LOOK_AGAIN, moved).await;
            tokio::task::yield_now().await;
        }
    }

    /// Returns how a cache differs from the server; `None` if it does not. A kind that the server does not know is not
    /// waited for.
    async fn behind(&self, cache: &SharedInformer<()>) -> Option<String> {
        if cache.is_stopped() {
            return None;
        }
        let resource = &cache.resource().plural;
        let unknown = cache.error().is_some_and(|error| is_unknown_kind(&error));
        // The kind may have been defined meanwhile: the list shows it.
        if !cache.has_synced() && !unknown {
            let error = cache.error();
            let reason = error.map_or_else(|| "no answer yet".to_owned(), |e| e.to_string());
            return Some(format!("the cache of {resource} is not filled: {reason}"));
        }
        let changes = self.verified().changes(cache);
        // A kind that was never written has no objects.
        let is_empty = changes == Some(0) && cache.indexer().is_empty();
        if cache.has_synced() && (is_empty || self.verified().shows(cache, changes)) {
            return None;
        }
        let scope = cache.scope();
        let selection = scope.selection.unwrap_or_default();
        let list = ListParams {
            label_selector: selection.labels,
            field_selector: selection.fields,
            ..ListParams::default()
        };
        let client = || self.client().live();
        let apis: Vec<Api<PartialObjectMeta<DynamicObject>>> = match scope.namespaces {
            None | Some(Namespaces::All) => vec![Api::all_with(client(), cache.resource())],
            Some(Namespaces::These(names)) => names
                .iter()
                .map(|name| Api::namespaced_with(client(), name, cache.resource()))
                .collect(),
        };
        let mut held = BTreeSet::new();
        for api in apis {
            let listed = match api.list_metadata(&list).await {
                Ok(listed) => listed,
                Err(kube::Error::Api(status)) if status.code == 404 => return None,
                Err(error) => return Some(format!("{resource} cannot be listed: {error}")),
            };
            held.extend(listed.items.into_iter().map(|object| {
                let metadata = object.metadata;
                let namespace = metadata.namespace.unwrap_or_default();
                let key = Key::new(Some(&namespace), &metadata.name.unwrap_or_default());
                let version = metadata.resource_version.unwrap_or_default();
                (key.to_string(), version)
            }));
        }
        let shown = cache.indexer().snapshot();
        let shown: BTreeSet<(String, String)> = shown
            .iter()
            .map(|object| {
                let version = object.resource_version().to_owned();
                (object.key().to_string(), version)
            })
            .collect();
        match held.symmetric_difference(&shown).next() {
            Some((key, _)) => Some(format!(
                "the cache of {resource} does not show {key} as the server holds it"
            )),
            None => {
                self.verified().note(cache, changes);
                None
            }
        }
    }

    fn unsettled(&self) -> Option<String> {
        let leads = !self.takes_part_in_election() || self.is_leading();
        self.controllers()
            .iter()
            .filter(|controller| leads || !controller.needs_leader_election())
            .find_map(|controller| controller.unsettled())
            .or_else(|| {
                self.events()
                    .are_pending()
                    .then(|| "events are not written yet".to_owned())
            })
    }
}

/// The time to wait for a cache before the server is asked again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
