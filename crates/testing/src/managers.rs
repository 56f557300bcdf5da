//! Managers on a test cluster: [`TestCluster::run`] runs one, [`TestCluster::settled`] waits until all of them are
//! idle.
//!
//! Settled means: every cache shows the state of the server, no event waits for a handler, no request is queued, running or due,
//! and no failed request waits for its retry. Requests that a reconciler has scheduled for later do not count: see
//! [`Time::advance_to_next`](crate::Time::advance_to_next). Of the candidates for a lease, those that do not lead count only with
//! their controllers that need no lease, as long as another manager of the cluster leads.

use std::{sync::Arc, time::Duration};

use kubewright_apiserver::Clock;
use kubewright_controller::{Manager, ManagerError, Unsettled};
use parking_lot::Mutex;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{cluster::TestCluster, endless::Runs};

/// The time limit of [`TestCluster::settled`], by tokio's clock.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A manager in its own task. Dropping it kills the manager without a graceful shutdown.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_controller::Manager;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let running = cluster.run(&Manager::new(cluster.client()));
/// cluster.settled().await.unwrap();
/// running.stop().await.unwrap();
/// # });
/// ```
#[must_use = "the manager is killed when this is dropped"]
pub struct RunningManager {
    manager: Manager,
    task: JoinHandle<Result<(), ManagerError>>,
    stop: Option<oneshot::Sender<()>>,
}

/// The managers that a cluster waits for.
#[derive(Clone, Default)]
pub(crate) struct Attached(Arc<Mutex<Vec<Manager>>>);

impl TestCluster {
    /// Runs a manager in its own task, and [attaches](Self::attach) it.
    pub fn run(&self, manager: &Manager) -> RunningManager {
        self.attach(manager);
        RunningManager::start(manager)
    }

    /// Makes [`settled`](Self::settled) wait for a manager that runs elsewhere, until the manager ends. The cluster's clock
    /// then sets the times of conditions and events of its controllers.
    pub fn attach(&self, manager: &Manager) {
        self.adopt(manager);
        self.managers.0.lock().push(manager.clone());
        self.reporters.add(manager);
    }

    /// Sets the clock of a manager's conditions and events to the cluster's, and notifies the manager of changed kinds.
    pub(crate) fn adopt(&self, manager: &Manager) {
        let clock = self.clock().clone();
        manager.set_clock(Arc::new(move || clock.now()));
        let changes = self.changes();
        manager.set_change_counter(Arc::new(move |resource| changes.of(&resource.plural)));
    }

    /// Waits until all attached managers have caught up with the cluster and are idle, for at most [`SETTLE_TIMEOUT`]. The
    /// error describes the remaining work. A controller that writes forever is detected after a thousand writes of one object,
    /// and is named in the error, with the timeline of the object.
    ///
    /// # Errors
    ///
    /// Fails with a description of the remaining work.
    pub async fn settled(&self) -> Result<(), Unsettled> {
        self.settled_within(SETTLE_TIMEOUT).await
    }

    /// Waits like [`settled`](Self::settled), with a time limit.
    ///
    /// # Errors
    ///
    /// Fails with a description of the remaining work.
    pub async fn settled_within(&self, most: Duration) -> Result<(), Unsettled> {
        let managers = self.attached();
        let (writes, runs) = (self.writes.start(), Runs::of(&managers));
        tokio::select! {
            biased;
            () = writes.too_many() => {
                let reason = writes.describe(&runs, &managers);
                let timeline = self.ledger().end_of_timeline(writes.object()).await;
                Err(Unsettled { reason: reason + &timeline })
            }
            denied = self.watched.until_denied() => Err(denied),
            settled = self.until_settled(most) => settled,
            // A virtual clock stands still while there is work to do.
            () = machine_time(most.max(SETTLE_TIMEOUT)) => {
                let busy = async {
                    for manager in &self.attached() {
                        manager.is_settled().await?;
                    }
                    Ok::<(), Unsettled>(())
                };
                let reason = match busy.await {
                    Err(unsettled) => unsettled.reason,
                    Ok(()) => "the cluster keeps changing".to_owned(),
                };
                Err(Unsettled { reason })
            }
        }
    }

    async fn until_settled(&self, most: Duration) -> Result<(), Unsettled> {
        let deadline = Instant::now() + most;
        loop {
            let managers = self.attached();
            let left = deadline.saturating_duration_since(Instant::now());
            for manager in &managers {
                tokio::select! {
                    biased;
                    () = manager.ended() => {}
                    settled = manager.settled(left) => settled?,
                }
            }
            if let Some(candidate) = waits_to_lead(&managers) {
                let led = tokio::time::timeout(left, candidate.elected()).await;
                if led.is_ok() {
                    continue;
                }
                return Err(Unsettled {
                    reason: "a manager waits for leadership, and no other leads".to_owned(),
                });
            }
            // They became idle one after the other. Check all of them at once, with no write in between.
            let before = self.revision().await;
            let mut busy = None;
            for manager in &managers {
                busy = busy.or(manager.is_settled().await.err());
            }
            let moved = self.revision().await != before;
            match busy {
                None if !moved => return Ok(()),
                _ if Instant::now() < deadline => tokio::task::yield_now().await,
                Some(unsettled) => return Err(unsettled),
                None => {
                    return Err(Unsettled {
                        reason: "the cluster keeps changing".to_owned(),
                    });
                }
            }
        }
    }

    /// Returns the managers that run, or are about to run, on the cluster.
    pub(crate) fn attached(&self) -> Vec<Manager> {
        let mut managers = self.managers.0.lock();
        managers.retain(|manager| !manager.has_ended());
        managers.clone()
    }
}

/// Sleeps by the machine's clock, whether or not tokio's is paused.
async fn machine_time(most: Duration) {
    let (tell, told) = oneshot::channel::<()>();
    let (_ends, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(most) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // The receiver may be gone.
            let _ = tell.send(());
        }
    });
    if told.await.is_err() {
        std::future::pending().await
    }
}

/// Returns whether a candidate waits for a lease that no other manager here holds.
fn waits_to_lead(managers: &[Manager]) -> Option<&Manager> {
    let mut candidates = managers.iter().filter(|m| m.takes_part_in_election());
    if candidates.clone().any(Manager::is_leading) {
        return None;
    }
    candidates.next()
}

impl RunningManager {
    fn start(manager: &Manager) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = manager.clone();
        let task = tokio::spawn(async move {
            let shutdown = async {
                // A message and a dropped sender both mean shutdown.
                let _ = stopped.await;
            };
            running.run(shutdown).await
        });
        Self {
            manager: manager.clone(),
            task,
            stop: Some(stop),
        }
    }

    /// Returns the manager.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Stops the manager gracefully.
    ///
    /// # Errors
    ///
    /// Fails if the manager ended with an error.
    pub async fn stop(mut self) -> Result<(), ManagerError> {
        self.stop.take();
        self.ended().await
    }

    /// Waits until the manager ends on its own.
    ///
    /// # Errors
    ///
    /// Fails if the manager ended with an error.
    ///
    /// # Panics
    ///
    /// Panics if the manager panicked.
    pub async fn ended(mut self) -> Result<(), ManagerError> {
        match (&mut self.task).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Ok(()),
        }
    }

    /// Kills the manager as a crash would: without a graceful shutdown, and with its lease held until it expires.
    pub fn kill(self) {}
}

impl Drop for RunningManager {
    fn drop(&mut self) {
        self.task.abort();
    }
}
