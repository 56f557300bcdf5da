//! The sources of a controller: added, started, waited for and ended, also while it works.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use kubewright_informer::{NotSynced, SharedInformer};
use tokio::{task::AbortHandle, time::Instant};

use super::Inner;
use crate::{
    source::{Running, Source, is_unknown_kind},
    status::SourceState,
};

/// A watch that was added to a running controller. Dropping it ends the watch; its requests stay in the queue.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Controller, Handler, Manager, Request, Watch};
///
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// let secrets = controller.watch(Watch::of::<Secret>(Handler::for_object()));
/// assert_eq!(controller.status().sources[1].name, "secrets");
/// secrets.stop();
/// assert_eq!(controller.status().sources.len(), 1);
/// # });
/// ```
#[must_use = "the watch ends when this is dropped"]
pub struct WatchHandle {
    pub(super) controller: Weak<Inner>,
    pub(super) id: u64,
}

#[derive(Default)]
pub(super) struct Sources {
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
    /// `None` once started.
    source: Option<Source>,
    task: Option<AbortHandle>,
}

/// The interval at which a failing watch is checked.
const PAUSE: Duration = Duration::from_millis(100);

impl WatchHandle {
    /// Ends the watch.
    pub fn stop(self) {}

    /// Leaves the watch to the controller, so that it ends with the controller.
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
/// Ends the sources of a controller that is dropped while it works.
pub(super) struct EndSources<'a>(pub(super) &'a Inner);

impl Drop for EndSources<'_> {
    fn drop(&mut self) {
        self.0.stop_sources();
    }
}

impl Inner {
    pub(super) fn add(self: &Arc<Self>, source: Source) -> u64 {
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

    pub(super) fn remove(&self, id: u64) {
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
        let client = self.parts.context.client.clone();
        let task = tokio::spawn(slot.running.clone().run(source, enqueue, client));
        slot.task = Some(task.abort_handle());
    }

    pub(super) fn start_sources(&self) {
        let mut sources = self.sources.lock();
        if sources.phase != Phase::New {
            return;
        }
        sources.phase = Phase::Started;
        for slot in &mut sources.all {
            self.start(slot);
        }
    }

    pub(super) fn stop_sources(&self) {
        let mut sources = self.sources.lock();
        sources.phase = Phase::Stopped;
        sources.all.iter().for_each(Slot::end);
    }

    pub(super) fn running(&self) -> Vec<Arc<Running>> {
        let sources = self.sources.lock();
        sources
            .all
            .iter()
            .map(|slot| slot.running.clone())
            .collect()
    }

    /// Waits until all sources have synced. Kinds that the server does not know are not waited for here: their sources
    /// keep trying.
    pub(super) async fn wait_for_sources(&self) -> Result<(), NotSynced> {
        let deadline = Instant::now() + self.parts.sync_timeout;
        for source in self.running() {
            loop {
                let pulse = self.parts.pulse.notified();
                let mut pulse = std::pin::pin!(pulse);
                pulse.as_mut().enable();
                let informer = source.informer();
                let stopped = informer.as_ref().is_some_and(SharedInformer::is_stopped);
                if stopped
                    || matches!(
                        source.state(),
                        SourceState::Synced | SourceState::WaitingForKind | SourceState::Ended
                    )
                {
                    break;
                }
                let filled = async {
                    match &informer {
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
                                "kind not served yet; waiting for it"
                            );
                            continue;
                        }
                        // The error may be transient: wait until the deadline.
                        tokio::time::sleep(PAUSE.min(deadline - Instant::now())).await;
                    },
                    () = tokio::time::sleep_until(deadline) => {}
                }
                if Instant::now() >= deadline {
                    if let Some(informer) = &informer {
                        informer.wait_for_sync(Duration::ZERO).await?;
                    }
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Slot {
    fn end(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.running.ended();
    }
}
