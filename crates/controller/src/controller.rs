//! [`Controller`]: a queue, its sources and its workers.
//!
//! Invariants: a request is with one worker at most; what is asked for while it runs runs once more; a failure comes back
//! later each time. A worker that stops finishes what it has and takes nothing more.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::FutureExt;
use kubewright_informer::{NotSynced, SharedInformer};
use kubewright_workqueue::{AddOptions, WorkQueue};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    builder::Builder,
    client::{Client, caches::Caches},
    manager::Stop,
    metrics::{ControllerMetrics, ReconcileResult},
    reconcile::{Action, Context, Error, ErrorKind, Next, Reconciler, Request},
    source::{Enqueue, Running, Source, is_unknown_kind},
    status::{ControllerStatus, Journal, SourceState, TriggerCause},
};

/// A controller of a manager. Clones are the same one.
///
/// Made by a [`Builder`]: [`Controller::for_`], [`Controller::builder`].
#[derive(Clone)]
pub struct Controller(Arc<Inner>);

/// A watch that was added to a running controller. Dropped, it ends; what it asked for stays asked for.
#[must_use = "the watch ends when this is dropped"]
pub struct WatchHandle {
    controller: Weak<Inner>,
    id: u64,
}

/// What a controller is made of.
pub(crate) struct Parts {
    pub(crate) name: Arc<str>,
    pub(crate) reconciler: Arc<dyn Reconciler>,
    pub(crate) workers: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sync_timeout: Duration,
    pub(crate) queue: WorkQueue<Request>,
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) pulse: Arc<Notify>,
}

struct Inner {
    parts: Parts,
    journal: Arc<Journal>,
    sources: Mutex<Sources>,
}

#[derive(Default)]
struct Sources {
    next: u64,
    phase: Phase,
    all: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    New,
    Started,
    Stopped,
}

struct Slot {
    id: u64,
    running: Arc<Running>,
    /// Not started yet.
    source: Option<Source>,
    task: Option<AbortHandle>,
}

/// Counts a worker as active.
struct Active<'a>(&'a ControllerMetrics);

impl Controller {
    /// A controller that watches nothing yet. It needs a [name](Builder::named).
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(parts: Parts, sources: Vec<Source>) -> Self {
        let workers = i64::try_from(parts.workers).unwrap_or(i64::MAX);
        parts.metrics.max_concurrent.set(workers);
        let controller = Self(Arc::new(Inner {
            parts,
            journal: Arc::default(),
            sources: Mutex::default(),
        }));
        for source in sources {
            controller.0.add(source);
        }
        controller
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.parts.name
    }

    /// Adds a source. If the controller runs, it starts at once; it ends when the handle is dropped.
    pub fn watch(&self, source: impl Into<Source>) -> WatchHandle {
        WatchHandle {
            id: self.0.add(source.into()),
            controller: Arc::downgrade(&self.0),
        }
    }

    /// Asks for a request.
    pub fn trigger(&self, request: Request) {
        self.0.enqueue("trigger".into()).add(request);
    }

    /// How it fares.
    pub fn status(&self) -> ControllerStatus {
        let inner = &self.0;
        let queue = inner.parts.queue.status();
        ControllerStatus {
            name: self.name().to_owned(),
            sources: inner.running().iter().map(|s| s.status()).collect(),
            queued: queue.queued,
            processing: queue.processing,
            delayed: queue.delayed,
            workers: inner.parts.workers,
            keys: inner.journal.keys(|request| inner.parts.queue.due(request)),
        }
    }

    pub(crate) fn queue(&self) -> &WorkQueue<Request> {
        &self.0.parts.queue
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn informers(&self) -> Vec<SharedInformer<()>> {
        let running = self.0.running();
        running
            .iter()
            .filter_map(|source| source.informer.clone())
            .collect()
    }

    /// Why there is something left to do; nothing if there is nothing.
    pub(crate) fn unsettled(&self) -> Option<String> {
        let name = self.name();
        for source in self.0.running() {
            let state = source.state();
            if matches!(state, SourceState::New | SourceState::Syncing) {
                return Some(format!("{name}: the source {} is {state:?}", source.name));
            }
        }
        if let Some(source) = self.0.running().iter().find(|source| !source.is_drained()) {
            return Some(format!("{name}: events of {} wait", source.name));
        }
        let queue = self.queue().status();
        if !queue.is_idle() || queue.to_run_again > 0 {
            let (queued, processing) = (queue.queued, queue.processing);
            return Some(format!("{name}: {queued} queued, {processing} running"));
        }
        let backing_off = self.journal().backing_off();
        (backing_off > 0).then(|| format!("{name}: {backing_off} to be tried again"))
    }

    /// Starts the sources, and waits until they have shown everything there was.
    pub(crate) async fn warm_up(&self) -> Result<(), NotSynced> {
        self.0.start_sources();
        self.0.wait_for_sources().await
    }

    /// Works until it is told to stop, and then until what is under way has ended. Dropped, it ends at once.
    pub(crate) async fn run(&self, stop: Stop) -> Result<(), NotSynced> {
        let _ends = EndSources(&self.0);
        tokio::select! {
            biased;
            () = stop.stopping() => return Ok(()),
            warm = self.warm_up() => warm?,
        }
        tracing::info!(
            controller = self.name(),
            workers = self.0.parts.workers,
            "starts"
        );
        let mut workers = JoinSet::new();
        for _ in 0..self.0.parts.workers {
            workers.spawn(self.0.clone().work(stop.clone()));
        }
        stop.stopping().await;
        self.0.stop_sources();
        while workers.join_next().await.is_some() {}
        self.0.parts.queue.shut_down();
        Ok(())
    }
}

impl WatchHandle {
    /// Ends the watch.
    pub fn stop(self) {}

    /// Leaves the watch to the controller: it ends with it.
    pub fn detach(mut self) {
        self.controller = Weak::new();
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        if let Some(controller) = self.controller.upgrade() {
            controller.remove(self.id);
        }
    }
}

/// Ends the sources of a controller that was dropped in its work.
struct EndSources<'a>(&'a Inner);

impl Drop for EndSources<'_> {
    fn drop(&mut self) {
        self.0.stop_sources();
    }
}

impl Inner {
    fn add(self: &Arc<Self>, source: Source) -> u64 {
        let parts = &self.parts;
        let mut sources = self.sources.lock();
        let id = sources.next;
        sources.next += 1;
        let subscriber = format!("{}#{id}", parts.name);
        let running = source.prepare(subscriber, &parts.caches, &parts.pulse);
        let mut slot = Slot {
            id,
            running: Arc::new(running),
            source: Some(source),
            task: None,
        };
        match sources.phase {
            Phase::New => {}
            Phase::Started => self.start(&mut slot),
            Phase::Stopped => slot.running.ended(),
        }
        sources.all.push(slot);
        id
    }

    fn remove(&self, id: u64) {
        let mut sources = self.sources.lock();
        if let Some(at) = sources.all.iter().position(|slot| slot.id == id) {
            let slot = sources.all.swap_remove(at);
            slot.end();
        }
        drop(sources);
        self.parts.pulse.notify_waiters();
    }

    fn start(&self, slot: &mut Slot) {
        let Some(source) = slot.source.take() else {
            return;
        };
        let enqueue = self.enqueue(slot.running.name.clone());
        let task = tokio::spawn(slot.running.clone().run(source, enqueue));
        slot.task = Some(task.abort_handle());
    }

    fn start_sources(&self) {
        let mut sources = self.sources.lock();
        if sources.phase != Phase::New {
            return;
        }
        sources.phase = Phase::Started;
        for slot in &mut sources.all {
            self.start(slot);
        }
    }

    fn stop_sources(&self) {
        let mut sources = self.sources.lock();
        sources.phase = Phase::Stopped;
        sources.all.iter().for_each(Slot::end);
    }

    fn running(&self) -> Vec<Arc<Running>> {
        let sources = self.sources.lock();
        sources
            .all
            .iter()
            .map(|slot| slot.running.clone())
            .collect()
    }

    /// Waits until all sources have shown everything there was. Kinds that the server does not know are not waited for
    /// here: their source goes on trying.
    async fn wait_for_sources(&self) -> Result<(), NotSynced> {
        let deadline = Instant::now() + self.parts.sync_timeout;
        for source in self.running() {
            loop {
                let pulse = self.parts.pulse.notified();
                let mut pulse = std::pin::pin!(pulse);
                pulse.as_mut().enable();
                let stopped = source
                    .informer
                    .as_ref()
                    .is_some_and(SharedInformer::is_stopped);
                if stopped
                    || matches!(
                        source.state(),
                        SourceState::Synced | SourceState::WaitingForKind | SourceState::Ended
                    )
                {
                    break;
                }
                let filled = async {
                    match &source.informer {
                        Some(informer) if !informer.has_synced() => informer.sync_or_error().await,
                        _ => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = pulse => {}
                    outcome = filled => if outcome.is_err() {
                        if source.error().is_none_or(|e| is_unknown_kind(&e)) {
                            tracing::info!(
                                controller = %self.parts.name,
                                source = %source.name,
                                "the kind is not served yet: it is waited for"
                            );
                            continue;
                        }
                        // It may pass: until the deadline.
                        tokio::time::sleep(PAUSE.min(deadline - Instant::now())).await;
                    },
                    () = tokio::time::sleep_until(deadline) => {}
                }
                if Instant::now() >= deadline {
                    if let Some(informer) = &source.informer {
                        informer.wait_for_sync(Duration::ZERO).await?;
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    fn enqueue(&self, source: Arc<str>) -> Enqueue {
        Enqueue::new(source, self.parts.queue.clone(), self.journal.clone())
    }

    async fn work(self: Arc<Self>, stop: Stop) {
        let queue = self.parts.queue.clone();
        let mut stopping = std::pin::pin!(stop.stopping());
        loop {
            let item = tokio::select! {
                biased;
                () = &mut stopping => return,
                item = queue.get() => item,
            };
            let Some(item) = item else {
                return;
            };
            self.reconcile(item.key(), item.priority(), &stop).await;
            drop(item);
            self.parts.pulse.notify_waiters();
        }
    }

    async fn reconcile(&self, request: &Request, priority: i32, stop: &Stop) {
        let parts = &self.parts;
        let _active = Active::new(&parts.metrics);
        let trigger = self.journal.begin(request);
        let context = Context {
            client: parts.client.clone(),
            id: Uuid::new_v4(),
            attempt: parts.queue.num_requeues(request),
            trigger: trigger.clone(),
            stop: stop.clone(),
        };
        let span = tracing::info_span!(
            "reconcile",
            controller = %parts.name,
            namespace = request.namespace(),
            name = request.name(),
            reconcile_id = %context.id,
        );
        let began = Instant::now();
        let outcome = self
            .attempt(context, request)
            .instrument(span.clone())
            .await;
        let took = began.elapsed();
        parts.metrics.time.observe_duration(took);
        let result = span.in_scope(|| self.conclude(request, priority, outcome));
        self.journal.end(request, trigger, result, took);
    }

    /// Runs the reconciler. Whatever goes wrong in it is an error.
    async fn attempt(&self, context: Context, request: &Request) -> Result<Action, Error> {
        let parts = &self.parts;
        let run = async { parts.reconciler.reconcile(context, request.clone()).await };
        let run = AssertUnwindSafe(run).catch_unwind();
        let outcome = match parts.timeout {
            Some(most) => match tokio::time::timeout(most, run).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    parts.metrics.timeouts.inc();
                    let what = format!("the reconcile took longer than {most:?}");
                    return Err(Error::new(ErrorKind::TimedOut, what));
                }
            },
            None => run.await,
        };
        outcome.unwrap_or_else(|panic| {
            parts.metrics.panics.inc();
            let what = format!("panic: {}", panic_message(&*panic));
            Err(Error::new(ErrorKind::Panicked, what))
        })
    }

    /// Counts, and asks for the next run. What is said of it.
    fn conclude(&self, request: &Request, priority: i32, outcome: Result<Action, Error>) -> String {
        let Parts { metrics, queue, .. } = &self.parts;
        let again = |cause, options: AddOptions| {
            self.enqueue("controller".into())
                .put(request.clone(), cause, options);
        };
        let action = match outcome {
            Ok(action) => action,
            Err(error) => {
                metrics.errors.inc();
                metrics.results(ReconcileResult::Error).inc();
                if error.kind() == ErrorKind::Terminal {
                    metrics.terminal_errors.inc();
                    queue.forget(request);
                    tracing::error!(%error, "failed for good");
                    return format!("terminal error: {error}");
                }
                if error.is_conflict() {
                    tracing::debug!(%error, "another wrote meanwhile");
                } else {
                    tracing::warn!(%error, attempt = queue.num_requeues(request), "failed");
                }
                let options = AddOptions::new().priority(priority).rate_limited();
                again(TriggerCause::Backoff, options);
                return format!("error: {error}");
            }
        };
        let options = AddOptions::new().priority(action.priority.unwrap_or(priority));
        let (result, said) = match action.next {
            Next::Done => {
                queue.forget(request);
                (ReconcileResult::Success, "done")
            }
            Next::Requeue => {
                again(TriggerCause::Requeue, options.rate_limited());
                (ReconcileResult::Requeue, "requeue")
            }
            Next::After(after) => {
                queue.forget(request);
                again(TriggerCause::Requeue, options.after(after));
                (ReconcileResult::RequeueAfter, "requeueAfter")
            }
        };
        metrics.results(result).inc();
        said.to_owned()
    }
}

/// How long to leave a watch alone that fails, before it is looked at again.
const PAUSE: Duration = Duration::from_millis(100);

impl Slot {
    fn end(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.running.ended();
    }
}

impl<'a> Active<'a> {
    fn new(metrics: &'a ControllerMetrics) -> Self {
        metrics.active_workers.inc();
        Self(metrics)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active_workers.dec();
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
