//! The reflector's loop: fill, watch, wait, repeat.

use std::sync::Arc;

use futures_util::StreamExt;
use kubewright_client::stream::{ByteStream, OpenError};
use tokio::time::{Duration, Instant};

use super::backoff::Backoff;
use super::config::ReflectorConfig;
use super::error::ReflectorError;
use super::monitor::Monitor;
use crate::delta::DeltaQueue;
use crate::lister_watcher::ListerWatcher;
use crate::metrics::RelistCause;
use crate::object::{Ingest, StoredObject};
use crate::store::Indexer;

/// Keeps up with one resource and pushes its changes to a [`DeltaQueue`].
///
/// A [`SharedInformer`](crate::SharedInformer) runs one for each of its streams; use it directly to feed another
/// store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{
///     Compression, Delta, DeltaQueue, Ingest, ObjectKind, Reflector, ReflectorConfig,
///     replay::{Replay, Response},
/// };
///
/// let list = r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}"#;
/// let source = Replay::new().without_watch_list().list(Response::bytes(list));
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let queue = DeltaQueue::new(1000);
/// let config = ReflectorConfig::default();
/// let reflector = Reflector::new(Arc::new(source), Ingest::new(kind), queue.clone(), config);
/// let task = tokio::spawn(reflector.run());
/// let deltas = queue.pop(1).await.unwrap();
/// assert!(matches!(&deltas[0].delta, Delta::Replaced { objects, .. } if objects.len() == 1));
/// task.abort();
/// # });
/// ```
pub struct Reflector {
    pub(super) source: usize,
    pub(super) lister_watcher: Arc<dyn ListerWatcher>,
    pub(super) config: ReflectorConfig,
    pub(super) ingest: Ingest,
    pub(super) queue: DeltaQueue,
    pub(super) monitor: Arc<Monitor>,
    /// Objects that are cached already are not copied again.
    pub(super) known: Option<Arc<Indexer>>,
    pub(super) backoff: Backoff,
    /// The resource version to continue from.
    pub(super) last_version: Option<String>,
    /// True if the server does not have that version, or no longer.
    pub(super) last_version_unavailable: bool,
    /// True if a list of anything at hand came in pages, so that the server has no cache for this resource.
    pub(super) paginated: bool,
    /// True if the server does not mark the end of the initial events.
    pub(super) no_watch_list: bool,
    pub(super) relist_cause: RelistCause,
    /// The times of the first and the last internal server error.
    pub(super) internal_errors: Option<(Instant, Instant)>,
}

impl Reflector {
    /// Creates a reflector that has seen nothing yet.
    pub fn new(
        lister_watcher: Arc<dyn ListerWatcher>,
        ingest: Ingest,
        queue: DeltaQueue,
        config: ReflectorConfig,
    ) -> Self {
        Self {
            source: 0,
            backoff: Backoff::new(config.backoff),
            lister_watcher,
            config,
            ingest,
            queue,
            monitor: Monitor::new(1, None),
            known: None,
            last_version: None,
            last_version_unavailable: false,
            paginated: false,
            no_watch_list: false,
            relist_cause: RelistCause::Initial,
            internal_errors: None,
        }
    }

    /// Marks its deltas as coming from that stream, and reports to `monitor`.
    #[must_use]
    pub(crate) fn with_monitor(mut self, source: usize, monitor: Arc<Monitor>) -> Self {
        self.source = source;
        self.monitor = monitor;
        self
    }

    /// Shares the objects that the cache has already.
    #[must_use]
    pub fn with_known(mut self, known: Arc<Indexer>) -> Self {
        self.known = Some(known);
        self
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            let error = self.fill_and_watch().await;
            self.relist_cause = error.relist_cause();
            let wait = self.next_delay(&error);
            self.monitor.failed(self.source, error);
            tokio::time::sleep(wait).await;
        }
    }

    /// Runs one cycle, which ends only by an error, after which everything is listed again.
    async fn fill_and_watch(&mut self) -> ReflectorError {
        let mut stream = None;
        if self.config.watch_list
            && !self.no_watch_list
            && self.lister_watcher.supports_watch_list()
        {
            match self.watch_list().await {
                Ok(open) => stream = Some(open),
                Err(error) => {
                    tracing::debug!(%error, "watch list failed; falling back to a list");
                    self.monitor.metrics.watch_list_fallbacks.inc();
                }
            }
        }
        if stream.is_none()
            && let Err(error) = self.list().await
        {
            return error;
        }
        self.watch(stream).await
    }

    /// Waits before retrying. The error is visible to tasks that wait for the cache.
    pub(super) async fn back_off(&mut self, error: ReflectorError) {
        let wait = self.next_delay(&error);
        self.monitor.failed(self.source, error);
        tokio::time::sleep(wait).await;
    }

    fn next_delay(&mut self, error: &ReflectorError) -> Duration {
        self.monitor.metrics.backoffs.inc();
        let delay = self.backoff.delay();
        delay.max(error.retry_after().unwrap_or_default())
    }

    /// Returns the duration of the next watch.
    pub(super) fn watch_timeout(&mut self) -> Duration {
        let least = self
            .config
            .watch_timeout
            .max(super::config::MIN_WATCH_TIMEOUT);
        self.backoff.spread(least)
    }

    /// Converts an object from the stream; `None` if it cannot be cached, which is reported.
    pub(super) fn object(&self, json: &[u8]) -> Option<Arc<StoredObject>> {
        let object = match &self.known {
            Some(known) => self.ingest.object_unless_known(json, &**known),
            None => self.ingest.object(json),
        };
        object
            .map_err(|rejected| self.monitor.rejected(rejected))
            .ok()
    }

    /// Notes a resource version of the server.
    pub(super) fn reached(&mut self, version: &str) {
        if let Some(last) = &mut self.last_version {
            last.clear();
            last.push_str(version);
        } else {
            self.last_version = Some(version.to_owned());
        }
    }

    /// Opens a stream, with a time limit.
    pub(super) async fn within_stall<T>(
        stall: Duration,
        answer: impl Future<Output = Result<T, OpenError>>,
    ) -> Result<T, ReflectorError> {
        match tokio::time::timeout(stall, answer).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(ReflectorError::Stalled(stall)),
        }
    }

    /// Returns the next chunk of a list; `None` at its end.
    pub(super) async fn chunk(
        &self,
        stream: &mut ByteStream,
    ) -> Result<Option<bytes::Bytes>, ReflectorError> {
        let stall = self.config.stall;
        match tokio::time::timeout(stall, stream.next()).await {
            Err(_) => Err(ReflectorError::Stalled(stall)),
            Ok(None) => Ok(None),
            Ok(Some(Ok(chunk))) => {
                let metrics = &self.monitor.metrics;
                metrics.received_bytes.add(chunk.len() as u64);
                Ok(Some(chunk))
            }
            Ok(Some(Err(error))) => Err(ReflectorError::Transport {
                error,
                connection_refused: false,
            }),
        }
    }
}
