//! Following a resource: resuming, bookmarks, silence, the ways in which a watch ends.

use std::cmp::Ordering;

use futures_util::StreamExt;
use kube::core::Status;
use kubewright_client::stream::{ByteStream, EventType, WatchDecoder, WatchFrame};
use tokio::time::{Duration, Instant};

use super::cycle::Reflector;
use super::error::ReflectorError;
use crate::delta::Delta;
use crate::lister_watcher::WatchRequest;
use crate::object::spans::Layout;
use crate::version::compare_resource_versions;

/// An open watch.
pub(super) struct OpenWatch {
    pub(super) stream: ByteStream,
    pub(super) decoder: WatchDecoder,
    pub(super) opened: Instant,
    pub(super) events: u64,
    /// True if events arrive in the order of versions. A watch without a version first sends the existing objects in
    /// any order.
    pub(super) ordered: bool,
}

/// The end of a watch.
enum End {
    /// The server closed it, or the connection broke: continue from the last version.
    Closed,
    /// By an error.
    Failed(ReflectorError),
}

/// A watch that ends sooner without an event counts as failed.
const SHORT: Duration = Duration::from_secs(1);

/// The number of short watches in a row after which there is a delay.
const SHORT_IN_A_ROW: u32 = 3;

/// Internal server errors that are this far apart are unrelated.
const INTERNAL_ERRORS_APART: Duration = Duration::from_secs(60);

impl Reflector {
    /// Follows the changes until everything has to be listed again.
    pub(super) async fn watch(&mut self, mut handed_over: Option<OpenWatch>) -> ReflectorError {
        let mut short = 0;
        loop {
            let mut watch = match handed_over.take() {
                Some(watch) => watch,
                None => match self.open_watch().await {
                    Ok(watch) => watch,
                    Err(error) if error.is_passing() => {
                        self.back_off(error).await;
                        continue;
                    }
                    Err(error) => return error,
                },
            };
            self.monitor.healthy(self.source);
            let end = self.follow(&mut watch).await;
            match end {
                End::Closed if watch.opened.elapsed() >= SHORT => short = 0,
                End::Closed if watch.events == 0 => return ReflectorError::VeryShortWatch,
                End::Closed => {
                    short += 1;
                    if short >= SHORT_IN_A_ROW {
                        self.back_off(ReflectorError::VeryShortWatch).await;
                    }
                }
                End::Failed(error) if error.is_too_many_requests() => self.back_off(error).await,
                End::Failed(error) if error.is_internal() && self.may_retry_internal() => {}
                End::Failed(error) => return error,
            }
        }
    }

    async fn open_watch(&mut self) -> Result<OpenWatch, ReflectorError> {
        let request = WatchRequest {
            resource_version: self.last_version.clone().unwrap_or_default(),
            send_initial_events: false,
            timeout: self.watch_timeout(),
        };
        self.open(request).await
    }

    pub(super) async fn open(&self, request: WatchRequest) -> Result<OpenWatch, ReflectorError> {
        self.monitor.metrics.watches.inc();
        let opened = Instant::now();
        let ordered = !matches!(&*request.resource_version, "" | "0");
        let watch = self.lister_watcher.watch(request);
        let stream = Self::within_stall(self.config.stall, watch).await?;
        Ok(OpenWatch {
            stream,
            decoder: WatchDecoder::default(),
            opened,
            events: 0,
            ordered,
        })
    }

    /// Reads a watch to its end, and pushes its events chunk by chunk.
    async fn follow(&mut self, watch: &mut OpenWatch) -> End {
        let mut deltas = Vec::new();
        loop {
            let end = self.take_all(watch, &mut deltas);
            self.queue.push_all(self.source, &mut deltas).await;
            if let Some(error) = end {
                return End::Failed(error);
            }
            match tokio::time::timeout(self.config.silence, watch.stream.next()).await {
                Err(_) => {
                    self.monitor.metrics.silent_watches.inc();
                    tracing::info!(silence = ?self.config.silence, "watch went silent");
                    return End::Closed;
                }
                Ok(None) => {
                    self.monitor.metrics.ended_watches.inc();
                    return End::Closed;
                }
                Ok(Some(Err(error))) => {
                    self.monitor.metrics.broken_streams.inc();
                    tracing::debug!(%error, "watch broke off");
                    return End::Closed;
                }
                Ok(Some(Ok(chunk))) => {
                    self.received(&chunk);
                    watch.decoder.push(chunk);
                }
            }
        }
    }

    pub(super) fn received(&self, chunk: &[u8]) {
        let metrics = &self.monitor.metrics;
        metrics.received_bytes.add(chunk.len() as u64);
        self.monitor.sign_of_life();
    }

    /// Converts the events that have arrived completely.
    fn take_all(
        &mut self,
        watch: &mut OpenWatch,
        deltas: &mut Vec<Delta>,
    ) -> Option<ReflectorError> {
        loop {
            let frame = match watch.decoder.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => return None,
                Err(error) => return Some(error.into()),
            };
            watch.events += 1;
            self.monitor.metrics.events.inc();
            watch.ordered |= frame.event != EventType::Added;
            if let Err(error) = self.take(frame, watch.ordered, deltas) {
                return Some(error);
            }
        }
    }

    fn take(
        &mut self,
        frame: WatchFrame,
        ordered: bool,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ReflectorError> {
        let make = match frame.event {
            EventType::Added => Delta::Added,
            EventType::Modified => Delta::Updated,
            EventType::Deleted => Delta::Deleted,
            EventType::Bookmark => {
                self.monitor.metrics.bookmarks.inc();
                if let Some(Bookmark { version, .. }) = Bookmark::read(&frame.object) {
                    self.check_direction(&version)?;
                    self.reached(&version);
                    deltas.push(Delta::Bookmark {
                        resource_version: version,
                    });
                }
                return Ok(());
            }
            EventType::Error => return Err(error_event(&frame.object)),
        };
        // An object that cannot be cached does not advance the version either.
        if let Some(object) = self.object(&frame.object) {
            if ordered && !object.resource_version().is_empty() {
                self.reached(object.resource_version());
            }
            deltas.push(make(object));
        }
        Ok(())
    }

    /// A watch at a version that the server does not have is silent rather than rejected; only its bookmarks reveal
    /// that.
    fn check_direction(&mut self, version: &str) -> Result<(), ReflectorError> {
        match &self.last_version {
            Some(seen) if compare_resource_versions(version, seen) == Some(Ordering::Less) => {
                self.last_version_unavailable = true;
                Err(ReflectorError::WentBackwards {
                    seen: seen.clone(),
                    got: version.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Reports whether an internal server error at the end of a watch is still within the window in which it causes no
    /// list.
    fn may_retry_internal(&mut self) -> bool {
        let most = self.config.internal_error_retry;
        if most.is_zero() {
            return false;
        }
        let now = Instant::now();
        let began = match self.internal_errors {
            Some((began, last)) if now - last < INTERNAL_ERRORS_APART => began,
            _ => now,
        };
        let retry = now - began <= most;
        self.internal_errors = retry.then_some((began, now));
        retry
    }
}

/// The contents of a bookmark.
pub(super) struct Bookmark {
    pub(super) version: String,
    /// True if it marks the end of the initial events.
    pub(super) ends_initial_events: bool,
}

impl Bookmark {
    pub(super) fn read(json: &[u8]) -> Option<Self> {
        const MARK: &[u8] = b"k8s.io/initial-events-end";
        use kubewright_client::stream::scan::{ObjectReader, text};
        let layout = Layout::read(json, true).ok()?;
        let version = text(layout.spans.resource_version.within(json, &layout))?;
        if version.is_empty() {
            return None;
        }
        let mut ends_initial_events = false;
        let annotations = layout.spans.annotations.within(json, &layout);
        if let Ok(mut reader) = ObjectReader::new(annotations, 0) {
            while let Ok(Some(key)) = reader.next_key() {
                let Ok(value) = reader.skip() else {
                    break;
                };
                ends_initial_events |= key == MARK && &annotations[value] == b"\"true\"";
            }
        }
        Some(Self {
            version: version.into_owned(),
            ends_initial_events,
        })
    }
}

/// Returns the error in an event of type ERROR.
pub(super) fn error_event(json: &[u8]) -> ReflectorError {
    let status = serde_json::from_slice::<Status>(json).unwrap_or_else(|error| {
        Status::failure(&format!("an undecodable status: {error}"), "InternalError").with_code(500)
    });
    ReflectorError::Refused {
        status: Box::new(status),
        retry_after: None,
    }
}
