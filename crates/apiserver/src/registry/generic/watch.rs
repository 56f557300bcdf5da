//! `watch`: the current state if requested, then every change that the selectors match.
//!
//! A watcher reads the history of the store through a cursor. It never blocks a writer; if it falls too far behind, it ends
//! with an `ERROR` event.

use std::{pin::Pin, time::Duration};

use futures_util::stream;
use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, status};
use kubewright_store::{self as store, ChangeKind, Entry, ReadError, Revision, WatchError};
use serde_json::Value;
use tokio::{
    sync::watch as watch_channel,
    time::{Instant, Sleep, sleep_until},
};

use super::{
    Generic, batch::Batches, list::Selection, metadata::metadata_mut, read::parse_revision,
};
use crate::{
    object::Object,
    registry::traits::{Watch, WatchEvent, WatchStream},
    request::{ListOptions, RequestContext},
};

/// The interval of bookmarks for an idle watcher.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The time of the last bookmark before the deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// The number of entries of the current state that are read at once. A watcher that does not read holds them.
const PAGE: usize = 128;

#[boxed_async]
impl Watch for Generic {
    async fn watch(
        &self,
        cx: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, Status> {
        let wanted = parse_revision(&options.resource_version).map_err(status::unknown)?;
        let prefix = self.prefix(cx.namespace(), options);
        let state = if options.starts_with_state() {
            if let Some(wanted) = wanted
                && let Err(error) = self.wait_until(wanted).await
            {
                let error = WatchEvent::Error(Box::new(error));
                return Ok(Box::pin(stream::iter([vec![error]])));
            }
            Some(self.snapshot(None).await?)
        } else {
            None
        };
        let current = self
            .store
            .current()
            .await
            .map_err(|e| Self::read_failure(&e))?;
        let after = match (&state, wanted) {
            (Some(state), _) => state.revision(),
            // Wait for a revision that is in the future.
            (None, Some(wanted)) => wanted.min(current),
            (None, None) => current,
        };
        let changes = match self.store.watch(&self.collection, &prefix, after).await {
            Ok(changes) => changes,
            Err(e) => return Ok(self.failed(e)),
        };
        let watcher = Watcher {
            generic: self.clone(),
            selection: self.selection(options),
            changes,
            state: state.map(|snapshot| Batches::new(snapshot, prefix, String::new(), PAGE)),
            skip_until: wanted.unwrap_or_default(),
            bookmarks: options
                .allow_bookmarks
                .then(|| Bookmarks::new(options.timeout_seconds.map(Duration::from_secs))),
            end_of_state: options.starts_with_state(),
            over: false,
            ends: self.ends.clone(),
        };
        Ok(Box::pin(stream::unfold(
            watcher,
            |mut watcher| async move {
                let batch = watcher.next_batch().await?;
                Some((batch, watcher))
            },
        )))
    }
}

impl Generic {
    /// Reports a watch that cannot start in its stream, like one that cannot continue.
    fn failed(&self, error: ReadError) -> WatchStream {
        let error = match error {
            ReadError::Compacted { requested, floor } => too_old(requested, floor),
            e => Self::read_failure(&e),
        };
        Box::pin(stream::iter([vec![WatchEvent::Error(Box::new(error))]]))
    }
}

fn too_old(requested: Revision, floor: Revision) -> Status {
    status::expired(format!(
        "too old resource version: {} ({})",
        requested.0, floor.0
    ))
}

struct Watcher {
    generic: Generic,
    selection: Selection,
    changes: Box<dyn store::Watch>,
    /// The part of the current state that was not sent yet.
    state: Option<Batches>,
    /// Changes up to this revision are skipped.
    skip_until: Revision,
    /// The times of bookmarks, if they are requested.
    bookmarks: Option<Bookmarks>,
    end_of_state: bool,
    over: bool,
    /// The resource is no longer served once the sender is dropped.
    ends: Option<watch_channel::Receiver<()>>,
}

/// The times of bookmarks. The timer is kept from event to event: it is set once for each bookmark.
struct Bookmarks {
    next: Instant,
    /// The time of the last one, before the deadline.
    last: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl Bookmarks {
    fn new(timeout: Option<Duration>) -> Self {
        let now = Instant::now();
        let next = now + BOOKMARK_EVERY;
        let last = timeout
            .and_then(|timeout| timeout.checked_sub(BOOKMARK_BEFORE_END))
            .and_then(|before| now.checked_add(before));
        Self {
            next,
            last,
            timer: Box::pin(sleep_until(earlier(next, last))),
        }
    }

    /// Waits until a bookmark is due, and sets the time of the next one.
    async fn due(&mut self) {
        self.timer.as_mut().await;
        let now = Instant::now();
        self.next = now + BOOKMARK_EVERY;
        self.last = self.last.filter(|last| *last > now);
        let timer = earlier(self.next, self.last);
        self.timer.as_mut().reset(timer);
    }
}

fn earlier(next: Instant, last: Option<Instant>) -> Instant {
    last.map_or(next, |last| last.min(next))
}

impl Watcher {
    /// Returns the next events, at least one, or `None` at the end.
    async fn next_batch(&mut self) -> Option<Vec<WatchEvent>> {
        loop {
            if self.over {
                return None;
            }
            let batch = match self.state.take() {
                Some(state) => self.state_batch(state).await,
                None => self.change_batch().await,
            };
            match batch {
                Ok(events) if events.is_empty() => {}
                Ok(events) => return Some(events),
                Err(error) => {
                    self.over = true;
                    return Some(vec![WatchEvent::Error(Box::new(error))]);
                }
            }
        }
    }

    async fn state_batch(&mut self, mut state: Batches) -> Result<Vec<WatchEvent>, Status> {
        let batch = state.next(&self.generic).await?;
        if batch.is_empty() {
            let done = self.end_of_state && self.bookmarks.is_some();
            let revision = state.snapshot().revision().0.to_string();
            return Ok(if done {
                vec![WatchEvent::Bookmark(revision, true)]
            } else {
                Vec::new()
            });
        }
        let mut events = Vec::new();
        for (_, object) in batch {
            if self.selection.matches(&object.summary) {
                events.push(WatchEvent::Added(object));
            }
        }
        self.state = Some(state);
        Ok(events)
    }

    async fn change_batch(&mut self) -> Result<Vec<WatchEvent>, Status> {
        let changes = tokio::select! {
            // Changes before the end are sent first.
            biased;
            changes = self.changes.next() => changes,
            () = ended(&mut self.ends) => {
                self.over = true;
                return Ok(Vec::new());
            }
            () = due(&mut self.bookmarks) => {
                let revision = self.changes.progress().0.to_string();
                return Ok(vec![WatchEvent::Bookmark(revision, false)]);
            }
        };
        match changes {
            Ok(changes) => {
                let mut events = Vec::with_capacity(changes.len());
                for change in changes.iter().filter(|c| c.revision > self.skip_until) {
                    events.extend(event(&self.generic, &self.selection, change).await?);
                }
                Ok(events)
            }
            Err(WatchError::Lagged { floor }) => Err(too_old(self.changes.progress(), floor)),
            Err(WatchError::Closed) => {
                self.over = true;
                Ok(Vec::new())
            }
            Err(e) => Err(Generic::store_failure(&e)),
        }
    }
}

/// Waits until a bookmark is due, if they are requested.
async fn due(bookmarks: &mut Option<Bookmarks>) {
    match bookmarks {
        Some(bookmarks) => bookmarks.due().await,
        None => std::future::pending().await,
    }
}

/// Waits until the resource is no longer served.
async fn ended(ends: &mut Option<watch_channel::Receiver<()>>) {
    match ends {
        Some(ends) => while ends.changed().await.is_ok() {},
        None => std::future::pending().await,
    }
}

/// Translates a change into an event: objects may start or stop to match the selectors.
async fn event(
    generic: &Generic,
    selection: &Selection,
    change: &store::Change,
) -> Result<Option<WatchEvent>, Status> {
    let before = match &change.previous {
        Some(previous) => is_seen(generic, selection, previous).await,
        None => false,
    };
    if change.kind == ChangeKind::Deleted {
        // A delete event has the last state that the watcher saw.
        let was_visible = match &change.previous {
            Some(_) => before,
            None => is_seen(generic, selection, &change.entry).await,
        };
        return Ok(match was_visible {
            true => Some(WatchEvent::Deleted(generic.object(&change.entry).await?)),
            false => None,
        });
    }
    Ok(
        match (before, is_seen(generic, selection, &change.entry).await) {
            (false, true) => Some(WatchEvent::Added(generic.object(&change.entry).await?)),
            (true, true) => Some(WatchEvent::Modified(generic.object(&change.entry).await?)),
            (true, false) => {
                let previous = change.previous.as_ref().unwrap_or(&change.entry);
                let object = as_of(generic, previous, change.revision).await?;
                Some(WatchEvent::Deleted(object))
            }
            (false, false) => None,
        },
    )
}

async fn is_seen(generic: &Generic, selection: &Selection, entry: &Entry) -> bool {
    if selection.is_everything() {
        return true;
    }
    let object = generic.object(entry).await;
    object.is_ok_and(|object| selection.matches(&object.summary))
}

/// Returns an earlier object with a later resourceVersion.
async fn as_of(generic: &Generic, entry: &Entry, revision: Revision) -> Result<Object, Status> {
    let mut value: Value = generic.decode(entry).await?;
    metadata_mut(&mut value).insert("resourceVersion".into(), revision.0.to_string().into());
    Ok(generic.unstored(&value))
}
