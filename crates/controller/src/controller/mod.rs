//! [`Controller`]: a queue, its sources and its workers.
//!
//! Invariants: a request is with one worker at most; what is asked for while it runs runs once more; a failure comes back
//! later each time. A worker that stops finishes what it has and takes nothing more.
//!
//! | module | what it holds |
//! |---|---|
//! | `sources` | [`WatchHandle`]; sources that come and go |
//! | `work` | what a worker does with a request |

mod sources;
mod work;

use std::{sync::Arc, time::Duration};

use kubewright_informer::{NotSynced, SharedInformer};
use kubewright_workqueue::WorkQueue;
use parking_lot::Mutex;
use tokio::{sync::Notify, task::JoinSet, time::Instant};

pub use sources::WatchHandle;
use sources::{EndSources, Sources};
pub(crate) use work::panic_message;

use crate::{
    builder::Builder,
    client::{Client, caches::Caches},
    manager::Stop,
    metrics::ControllerMetrics,
    reconcile::{BoxError, Reconciler, Request},
    source::{Enqueue, Source},
    status::{ControllerStatus, Journal, SourceState},
};

/// A controller of a manager. Clones are the same one.
///
/// Made by a [`Builder`]: [`Controller::for_`], [`Controller::builder`].
#[derive(Clone)]
pub struct Controller(Arc<Inner>);

/// What a controller is made of.
pub(crate) struct Parts {
    pub(crate) name: Arc<str>,
    pub(crate) reconciler: Arc<dyn Reconciler>,
    pub(crate) workers: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sync_timeout: Duration,
    pub(crate) recover_panic: bool,
    pub(crate) needs_leader_election: bool,
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
        let (runs, failures, recent) = inner.journal.runs();
        ControllerStatus {
            name: self.name().to_owned(),
            sources: inner.running().iter().map(|s| s.status()).collect(),
            queued: queue.queued,
            processing: queue.processing,
            delayed: queue.delayed,
            workers: inner.parts.workers,
            runs,
            failures,
            keys: inner.journal.keys(|request| inner.parts.queue.due(request)),
            recent,
        }
    }

    pub(crate) fn needs_leader_election(&self) -> bool {
        self.0.parts.needs_leader_election
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
            .filter_map(|source| source.informer())
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
            let example = self.journal().example();
            return Some(format!(
                "{name}: {queued} queued, {processing} running{example}"
            ));
        }
        if queue.next_due.is_some_and(|at| at <= Instant::now()) {
            return Some(format!("{name}: a request is due"));
        }
        let backing_off = self.journal().backing_off();
        (backing_off > 0).then(|| {
            let example = self.journal().example();
            format!("{name}: {backing_off} to be tried again{example}")
        })
    }

    /// Starts the sources, and waits until they have shown everything there was.
    pub(crate) async fn warm_up(&self) -> Result<(), NotSynced> {
        self.0.start_sources();
        self.0.wait_for_sources().await
    }

    /// Works until it is told to stop, and then until what is under way has ended. Dropped, it ends at once. A panic ends it
    /// if it is not to be contained.
    pub(crate) async fn run(&self, stop: Stop) -> Result<(), BoxError> {
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
        tokio::select! {
            biased;
            () = stop.stopping() => {}
            Some(Ok(Err(panic))) = workers.join_next() => return Err(panic.into()),
        }
        self.0.stop_sources();
        while workers.join_next().await.is_some() {}
        self.0.parts.queue.shut_down();
        Ok(())
    }
}

impl Inner {
    fn enqueue(&self, source: Arc<str>) -> Enqueue {
        Enqueue::new(source, self.parts.queue.clone(), self.journal.clone())
    }
}
