//! The informer of any kind, and the leases that keep it running.
//!
//! Every user of an informer holds a [`Lease`]: handles, listers, subscriptions, handlers. When the last one is
//! dropped, the watch ends. The running tasks hold none.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kube::core::ApiResource;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::config::{InformerConfig, Namespaces};
pub(crate) use super::processor::Processor;
use super::status::{self, NotSynced};
use crate::Scope;
use crate::delta::{self, Delta, DeltaQueue};
use crate::events::SubscribeOptions;
use crate::events::Subscription;
use crate::lister_watcher::{ListerWatcher, Projection};
use crate::metrics::MetricsSnapshot;
use crate::object::{Ingest, ObjectKind};
use crate::reflector::{Monitor, Reflector};
use crate::store::NAMESPACE_INDEX;
use crate::store::{IndexFn, Indexer};

/// One cache of one resource.
pub(crate) struct Core {
    pub(crate) kind: Arc<ObjectKind>,
    pub(crate) processor: Arc<Processor>,
    sources: Vec<Arc<dyn ListerWatcher>>,
    config: InformerConfig,
    queue: DeltaQueue,
    runtime: Handle,
    task: Mutex<Option<JoinHandle<()>>>,
    phase: watch::Sender<Phase>,
    /// Notified when a reader with a resync period comes or goes.
    resync_changed: Arc<tokio::sync::Notify>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Stopped,
}

/// Keeps an informer running.
pub(crate) struct Lease(Arc<Core>);

/// The maximum number of deltas that are applied at once.
const BATCH: usize = 1000;

impl Core {
    /// Creates an informer over these streams: one for all namespaces, or one for each.
    pub(crate) fn lease(
        resource: ApiResource,
        sources: Vec<Arc<dyn ListerWatcher>>,
        config: InformerConfig,
        runtime: Handle,
    ) -> Arc<Lease> {
        let namespaces = match &config.namespaces {
            Namespaces::These(names) if names.len() == sources.len() && names.len() > 1 => {
                names.iter().cloned().map(Some).collect()
            }
            _ => vec![None; sources.len()],
        };
        let indexer = Arc::new(Indexer::new());
        let _ = indexer.add_index(NAMESPACE_INDEX, IndexFn::namespace());
        let monitor = Monitor::new(sources.len(), config.on_error.clone());
        let queue = if config.coalesce_deltas {
            DeltaQueue::coalescing(delta::CAPACITY)
        } else {
            DeltaQueue::new(delta::CAPACITY)
        };
        Arc::new(Lease(Arc::new(Self {
            kind: ObjectKind::with_limits(resource, config.compression, config.decoded),
            processor: Arc::new(Processor::new(indexer, monitor, namespaces)),
            sources,
            queue,
            runtime,
            task: Mutex::new(None),
            phase: watch::Sender::new(Phase::New),
            resync_changed: Arc::default(),
            config,
        })))
    }

    /// Starts the informer if it has not started; once stopped it does not start again.
    pub(crate) fn start(&self) {
        let mut task = self.task.lock();
        let begun = self.phase.send_if_modified(|phase| {
            let new = *phase == Phase::New;
            if new {
                *phase = Phase::Running;
            }
            new
        });
        if !begun {
            return;
        }
        let mut ingest = Ingest::new(self.kind.clone())
            .keep_managed_fields(self.config.keep_managed_fields)
            .transform(self.config.transform.clone());
        if self.config.selection.projection == Projection::Metadata {
            ingest = ingest.wire_kind("PartialObjectMetadata");
        }
        let reflectors: FuturesUnordered<_> = self
            .sources
            .iter()
            .enumerate()
            .map(|(source, lister_watcher)| {
                Reflector::new(
                    lister_watcher.clone(),
                    ingest.clone(),
                    self.queue.clone(),
                    self.config.reflector.clone(),
                )
                .with_monitor(source, self.processor.monitor.clone())
                .with_known(self.processor.indexer.clone())
                .run()
            })
            .collect();
        if self.sources.is_empty() {
            // Without namespaces the cache is complete when empty.
            self.processor.apply(Vec::new());
        }
        let process = process(self.processor.clone(), self.queue.clone());
        let resync = resync(
            self.processor.clone(),
            self.queue.clone(),
            self.resync_changed.clone(),
        );
        *task = Some(self.runtime.spawn(async move {
            tokio::join!(reflectors.for_each(|()| async {}), process, resync);
        }));
    }

    /// Stops the informer permanently. Readers get the queued events, and then the end.
    pub(crate) fn stop(&self) {
        self.phase.send_replace(Phase::Stopped);
        if let Some(task) = self.task.lock().as_ref() {
            task.abort();
        }
        self.queue.close();
        self.processor.close();
    }

    /// Waits for the task to end, after [`stop`](Self::stop).
    pub(crate) async fn stopped(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope {
            namespaces: Some(self.config.namespaces.clone()),
            selection: Some(self.config.selection.clone()),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.phase.borrow() == Phase::Stopped
    }

    pub(crate) fn is_running(&self) -> bool {
        *self.phase.borrow() == Phase::Running
    }

    /// Waits until the cache has been filled, the informer stops, or `most` has passed.
    pub(crate) async fn wait_for_sync(&self, most: Option<Duration>) -> Result<(), NotSynced> {
        let mut synced = self.processor.synced();
        let mut phase = self.phase.subscribe();
        let deadline = async {
            match most {
                Some(most) => tokio::time::sleep(most).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            result = synced.wait_for(|synced| *synced) => {
                if result.is_ok() {
                    return Ok(());
                }
            }
            _ = phase.wait_for(|phase| *phase == Phase::Stopped) => {}
            () = deadline => {}
        }
        Err(self.not_synced())
    }

    /// Waits until the cache has been filled or any error occurs.
    pub(crate) async fn sync_or_error(&self) -> Result<(), NotSynced> {
        let mut errors = self.processor.monitor.changes();
        tokio::select! {
            biased;
            result = self.wait_for_sync(None) => result,
            _ = errors.wait_for(|errors| errors.iter().any(Option::is_some)) => Err(self.not_synced()),
        }
    }

    pub(crate) async fn until_stopped(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
    }

    pub(crate) fn has_synced(&self) -> bool {
        *self.processor.synced().borrow()
    }

    pub(crate) fn metrics(&self) -> MetricsSnapshot {
        let cache = self.processor.indexer.snapshot();
        MetricsSnapshot {
            resource: status::name(&self.kind.resource),
            items: cache.len() as u64,
            bytes: cache.bytes() as u64,
            resource_version: cache.resource_version().map(str::to_owned),
            decode_failures: self.kind.decode_failures(),
            queued: self.queue.len() as u64,
            quiet_millis: self.processor.monitor.quiet_millis(),
            handlers: self
                .processor
                .subscribers()
                .iter()
                .map(|s| (s.name.clone(), s.depth(&self.processor)))
                .collect(),
            ..self.processor.monitor.metrics.snapshot()
        }
    }

    fn not_synced(&self) -> NotSynced {
        NotSynced {
            resource: self.kind.resource.clone(),
            reason: self.processor.monitor.error(),
            stopped: !self.is_running(),
        }
    }
}

impl Lease {
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    pub(crate) fn processor(&self) -> &Arc<Processor> {
        &self.0.processor
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Creates a reader.
    pub(crate) fn subscribe<K>(self: &Arc<Self>, options: SubscribeOptions) -> Subscription<K> {
        let resync = options.resync.is_some();
        let beginning = self.0.processor.subscribe(options);
        if self.0.is_stopped() {
            self.0.processor.close();
        }
        if resync {
            self.0.resync_changed.notify_one();
        }
        Subscription::new(
            beginning.state,
            self.clone(),
            beginning.replay,
            beginning.synced,
            beginning.cursor,
        )
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Applies the changes that the reflectors have seen.
async fn process(processor: Arc<Processor>, queue: DeltaQueue) {
    while let Some(batch) = queue.pop(BATCH).await {
        processor.apply(batch);
        processor.caught_up().await;
    }
}

/// Shows all objects again to the readers whose time has come.
async fn resync(processor: Arc<Processor>, queue: DeltaQueue, changed: Arc<tokio::sync::Notify>) {
    let mut due: Vec<(u64, Instant)> = Vec::new();
    loop {
        let now = Instant::now();
        let subscribers = processor.subscribers();
        let periods = || subscribers.iter().filter_map(|s| Some((s.id, s.resync?)));
        due.retain(|(id, _)| periods().any(|(other, _)| other == *id));
        for (id, period) in periods() {
            if !due.iter().any(|(other, _)| *other == id) {
                due.push((id, now + period));
            }
        }
        let mut to = Vec::new();
        for (id, at) in &mut due {
            if let Some((_, period)) = periods().find(|(other, _)| other == id)
                && *at <= now
            {
                to.push(*id);
                *at = now + period;
            }
        }
        if !to.is_empty() {
            queue.push(0, Delta::Sync { subscribers: to }).await;
        }
        let next = due.iter().map(|(_, at)| *at).min();
        tokio::select! {
            () = changed.notified() => {}
            () = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            } => {}
        }
    }
}
