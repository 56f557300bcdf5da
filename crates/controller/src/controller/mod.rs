//! [`Controller`]: a queue, its sources and its workers.
//!
//! Invariants: a request is processed by at most one worker; a request that arrives meanwhile causes one more run;
//! failures are retried with growing delays. A worker that stops finishes its request and takes no more, and so does one of a
//! paused controller.
//!
//! | module | contents |
//! |---|---|
//! | `sources` | [`WatchHandle`]; sources that come and go |
//! | `work` | the processing of a request |

mod sources;
mod work;

use std::{sync::Arc, time::Duration};

use kube::core::ApiResource;
use kubewright_client::BoxError;
use kubewright_informer::{NotSynced, SharedInformer};
use kubewright_workqueue::WorkQueue;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::Instant,
};

pub use sources::WatchHandle;
use sources::{EndSources, Sources};
pub(crate) use work::panic_message;

use crate::{
    builder::ControllerBuilder,
    client::caches::Caches,
    context,
    manager::Stop,
    metrics::ControllerMetrics,
    reconcile::{DynReconciler, Request},
    run::Finished,
    source::{Enqueue, Source},
    status::{ControllerStatus, Journal, RECENT, SourceState},
};

/// A controller of a manager. Clones share it.
///
/// Built by a [`ControllerBuilder`]: [`Controller::for_`], [`Controller::builder`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request};
///
/// let manager = Manager::new(cluster.client());
/// let controller = Controller::for_::<ConfigMap>()
///     .max_concurrent_reconciles(4)
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// assert_eq!(controller.name(), "configmap");
/// // Reconciles an object without an event.
/// controller.trigger(Request::new("default", "colours"));
/// # });
/// ```
#[derive(Clone)]
pub struct Controller(Arc<Inner>);

/// The parts of a controller.
pub(crate) struct Parts {
    pub(crate) name: Arc<str>,
    /// The main kind, for logs.
    pub(crate) main: Option<ApiResource>,
    pub(crate) reconciler: Box<dyn DynReconciler>,
    pub(crate) workers: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sync_timeout: Duration,
    pub(crate) recover_panic: bool,
    pub(crate) needs_leader_election: bool,
    pub(crate) queue: WorkQueue<Request>,
    pub(crate) context: Arc<context::Shared>,
    pub(crate) caches: Caches,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) finished: Finished,
    pub(crate) pulse: Arc<Notify>,
}

struct Inner {
    parts: Parts,
    journal: Arc<Journal>,
    sources: Mutex<Sources>,
    paused: watch::Sender<bool>,
}

impl Controller {
    /// Builds a controller without watches. It needs a [name](ControllerBuilder::named).
    pub fn builder() -> ControllerBuilder {
        ControllerBuilder::new()
    }

    pub(crate) fn new(parts: Parts, sources: Vec<Source>) -> Self {
        let workers = i64::try_from(parts.workers).unwrap_or(i64::MAX);
        parts.metrics.max_concurrent.set(workers);
        let journal = Journal::new(parts.context.clock.clone());
        let controller = Self(Arc::new(Inner {
            parts,
            journal: Arc::new(journal),
            sources: Mutex::default(),
            paused: watch::Sender::new(false),
        }));
        for source in sources {
            controller.0.add(source);
        }
        controller
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.parts.name
    }

    /// Adds a source. It starts at once if the controller runs, and ends when the handle is dropped.
    pub fn watch(&self, source: impl Into<Source>) -> WatchHandle {
        WatchHandle {
            id: self.0.add(source.into()),
            controller: Arc::downgrade(&self.0),
        }
    }

    /// Requests a reconcile.
    pub fn trigger(&self, request: Request) {
        self.0.enqueue("trigger".into()).add(request);
    }

    /// Stops the start of reconciles until [`resume`](Self::resume). Running ones finish; requests wait in the queue, and those
    /// of the same key are merged.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Action, Context, Controller, Manager, Request};
    ///
    /// let manager = Manager::new(cluster.client());
    /// let controller = Controller::for_::<ConfigMap>()
    ///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
    ///     .unwrap();
    /// controller.pause();
    /// assert!(controller.is_paused() && controller.status().paused);
    /// controller.resume();
    /// # });
    /// ```
    pub fn pause(&self) {
        if !self.0.paused.send_replace(true) {
            tracing::info!(controller = self.name(), "paused");
        }
    }

    /// Continues after a [`pause`](Self::pause).
    pub fn resume(&self) {
        if self.0.paused.send_replace(false) {
            tracing::info!(controller = self.name(), "resumed");
        }
    }

    /// Reports whether the controller is paused.
    pub fn is_paused(&self) -> bool {
        *self.0.paused.borrow()
    }

    /// Returns the status.
    pub fn status(&self) -> ControllerStatus {
        self.brief_status(usize::MAX, RECENT)
    }

    /// Returns the status with a limited number of recent runs. If there are more than `keys` keys, only those that run, wait or
    /// are due later are included, and only as many.
    pub(crate) fn brief_status(&self, keys: usize, recent: usize) -> ControllerStatus {
        let inner = &self.0;
        let queue = inner.parts.queue.status();
        let (runs, failures, recent) = inner.journal.runs(recent);
        ControllerStatus {
            name: self.name().to_owned(),
            sources: inner.running().iter().map(|s| s.status()).collect(),
            queued: queue.queued,
            processing: queue.processing,
            delayed: queue.delayed,
            workers: inner.parts.workers,
            paused: self.is_paused(),
            runs,
            failures,
            keys: inner
                .journal
                .keys(keys, |request| inner.parts.queue.due(request)),
            recent,
        }
    }

    pub(crate) fn needs_leader_election(&self) -> bool {
        self.0.parts.needs_leader_election
    }

    /// Returns the main kind.
    pub(crate) fn main(&self) -> Option<&ApiResource> {
        self.0.parts.main.as_ref()
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

    /// Returns a description of the remaining work; `None` if there is none.
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
            let paused = if self.is_paused() { ", paused" } else { "" };
            return Some(format!(
                "{name}: {queued} queued, {processing} running{paused}{example}"
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

    /// Starts the sources, and waits until they have synced.
    pub(crate) async fn warm_up(&self) -> Result<(), NotSynced> {
        self.0.start_sources();
        self.0.wait_for_sources().await
    }

    /// Works until it is asked to stop, and then until running reconciles have ended. Dropping the future ends it at
    /// once. A panic ends it unless panics are recovered.
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
