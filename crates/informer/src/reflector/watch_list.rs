//! Filling by a watch that begins with the existing objects.
//!
//! The objects are collected until the marker says that they are complete; then they are pushed as one step and the
//! same stream continues as a watch.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use kubewright_client::stream::{EventType, WatchFrame};
use tokio::time::{Duration, Instant, timeout_at};

use super::cycle::Reflector;
use super::error::ReflectorError;
use super::watch::{Bookmark, OpenWatch, error_event};
use crate::key::Key;
use crate::lister_watcher::WatchRequest;
use crate::object::StoredObject;

/// Objects by key, in the order in which they arrived.
#[derive(Default)]
struct Gathered {
    objects: Vec<Option<Arc<StoredObject>>>,
    places: HashMap<Key, usize>,
}

/// The number of streams that may end before their marker until a list is tried instead.
const EARLY_ENDS: u32 = 2;

/// The time after which a warning is logged.
const SLOW: Duration = Duration::from_secs(10);

/// The outcome of one attempt.
enum Attempt {
    Filled(OpenWatch),
    /// The stream ended before the marker.
    Ended,
}

impl Reflector {
    /// Fills the cache, and hands over the stream.
    pub(super) async fn watch_list(&mut self) -> Result<OpenWatch, ReflectorError> {
        let mut ended = 0;
        loop {
            let error = match self.attempt().await {
                Ok(Attempt::Filled(watch)) => return Ok(watch),
                Ok(Attempt::Ended) => {
                    ended += 1;
                    if ended >= EARLY_ENDS {
                        return Err(ReflectorError::NoEndMarker);
                    }
                    ReflectorError::NoEndMarker
                }
                Err(error) if error.is_expired() || error.is_too_large_resource_version() => {
                    if self.last_version_unavailable {
                        return Err(error);
                    }
                    // At the newest version, without delay.
                    self.last_version_unavailable = true;
                    continue;
                }
                Err(error) if error.is_passing() => error,
                Err(error) => {
                    self.no_watch_list |= matches!(error, ReflectorError::NoEndMarker);
                    return Err(error);
                }
            };
            self.back_off(error).await;
        }
    }

    async fn attempt(&mut self) -> Result<Attempt, ReflectorError> {
        self.monitor.metrics.watch_lists.inc();
        let version = match &self.last_version {
            Some(version) if !self.last_version_unavailable => version.clone(),
            _ => String::new(),
        };
        let request = WatchRequest {
            resource_version: version,
            send_initial_events: true,
            timeout: self.watch_timeout(),
        };
        let mut watch = self.open(request).await?;
        let mut gathered = Gathered::default();
        // The moment at which the stream went over from existing objects to changes.
        let mut live = None;
        let mut last = Instant::now();
        let mut warn = last + SLOW;
        loop {
            while let Some(frame) = watch.decoder.next()? {
                watch.events += 1;
                self.monitor.metrics.events.inc();
                if frame.event != EventType::Added {
                    live.get_or_insert_with(Instant::now);
                }
                if let Some(version) = self.gather(&frame, &mut gathered)? {
                    let objects = gathered.into_objects();
                    self.last_version_unavailable = false;
                    self.monitor.metrics.relisted(self.relist_cause);
                    self.replaced(objects, version).await;
                    watch.ordered = true;
                    return Ok(Attempt::Filled(watch));
                }
            }
            let mut deadline = last + self.config.stall;
            if let Some(live) = live {
                deadline = deadline.min(live + self.config.marker);
            }
            match timeout_at(deadline.min(warn), watch.stream.next()).await {
                Err(_) if Instant::now() >= deadline => return Err(ReflectorError::NoEndMarker),
                Err(_) => {
                    tracing::warn!("no bookmark that ends the initial events yet");
                    warn = Instant::now() + SLOW;
                }
                Ok(None) => return Ok(Attempt::Ended),
                Ok(Some(Err(error))) => {
                    self.monitor.metrics.broken_streams.inc();
                    tracing::debug!(%error, "watch list broke off");
                    return Ok(Attempt::Ended);
                }
                Ok(Some(Ok(chunk))) => {
                    self.received(&chunk);
                    watch.decoder.push(chunk);
                    last = Instant::now();
                    warn = last + SLOW;
                }
            }
        }
    }

    /// Applies an event to the collected objects. Returns the version if the event is the marker.
    fn gather(
        &self,
        frame: &WatchFrame,
        gathered: &mut Gathered,
    ) -> Result<Option<String>, ReflectorError> {
        match frame.event {
            EventType::Added | EventType::Modified => {
                if let Some(object) = self.object(&frame.object) {
                    gathered.insert(object);
                }
            }
            EventType::Deleted => {
                if let Some(object) = self.object(&frame.object) {
                    gathered.remove(object.key());
                }
            }
            EventType::Bookmark => {
                self.monitor.metrics.bookmarks.inc();
                if let Some(bookmark) = Bookmark::read(&frame.object)
                    && bookmark.ends_initial_events
                {
                    return Ok(Some(bookmark.version));
                }
            }
            EventType::Error => return Err(error_event(&frame.object)),
        }
        Ok(None)
    }
}

impl Gathered {
    fn insert(&mut self, object: Arc<StoredObject>) {
        let end = self.objects.len();
        let place = *self.places.entry(object.key().clone()).or_insert(end);
        match self.objects.get_mut(place) {
            Some(old) => *old = Some(object),
            None => self.objects.push(Some(object)),
        }
    }

    fn remove(&mut self, key: &Key) {
        let place = self.places.remove(key);
        if let Some(object) = place.and_then(|place| self.objects.get_mut(place)) {
            *object = None;
        }
    }

    fn into_objects(self) -> Vec<Arc<StoredObject>> {
        self.objects.into_iter().flatten().collect()
    }
}
