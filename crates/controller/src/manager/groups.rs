//! [`Groups`]: the runnables of a manager, in groups that start and stop one after the other.
//!
//! A runnable that is added to a running group starts at once; one that is added to a stopped group is rejected. An
//! error of a runnable is sent to the manager; an end without an error is ignored.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    ManagerError,
    stop::{Stop, Stopper},
};
use kubewright_client::BoxError;

use crate::controller::panic_message;

/// Determines when a runnable is started and stopped.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_controller::{Group, Manager};
/// # let cluster = kubewright_testing::TestCluster::start().await;
///
/// let manager = Manager::new(cluster.client());
/// // Runs on every replica, whether or not it leads.
/// manager.add(Group::Others, "cache of images", |stop| async move {
///     stop.stopping().await;
///     Ok(())
/// })?;
/// # Ok::<_, kubewright_controller::ManagerError>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Started first and stopped last: health, metrics, debugging.
    HttpServers,
    /// Started before the caches, since a list may need a conversion.
    Webhooks,
    /// Filled before anything reads them.
    Caches,
    /// Runs whether or not this process leads.
    Others,
    /// Runs to its end before this process tries to lead.
    WarmUp,
    /// Runs while this process leads.
    LeaderElection,
}

/// A runnable, which runs until it is asked to stop.
pub(crate) type Runnable = Box<dyn FnOnce(Stop) -> BoxFuture<'static, Result<(), BoxError>> + Send>;

pub(crate) struct Groups {
    groups: Mutex<BTreeMap<Group, State>>,
    errors: mpsc::UnboundedSender<ManagerError>,
}

struct State {
    phase: Phase,
    stopper: Stopper,
    waiting: Vec<(String, Runnable)>,
    tasks: JoinSet<()>,
    /// The runnables that have not ended.
    running: Arc<Mutex<BTreeMap<u64, String>>>,
    next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Started,
    Stopped,
}

/// Removes a runnable from the list however it ends.
struct Listed(Arc<Mutex<BTreeMap<u64, String>>>, u64);

impl Groups {
    pub(crate) fn new(errors: mpsc::UnboundedSender<ManagerError>) -> Self {
        Self {
            groups: Mutex::default(),
            errors,
        }
    }

    pub(crate) fn add(
        &self,
        group: Group,
        name: String,
        run: Runnable,
    ) -> Result<(), ManagerError> {
        let mut groups = self.groups.lock();
        let state = groups.entry(group).or_insert_with(State::new);
        match state.phase {
            Phase::New => state.waiting.push((name, run)),
            Phase::Started => state.spawn(name, run, &self.errors),
            Phase::Stopped => return Err(ManagerError::Stopped(name)),
        }
        Ok(())
    }

    /// Starts a group, unless it has been stopped.
    pub(crate) fn start(&self, group: Group) {
        let mut groups = self.groups.lock();
        let state = groups.entry(group).or_insert_with(State::new);
        if state.phase != Phase::New {
            return;
        }
        state.phase = Phase::Started;
        for (name, run) in std::mem::take(&mut state.waiting) {
            state.spawn(name, run, &self.errors);
        }
    }

    /// Asks a group to stop, and rejects further runnables.
    pub(crate) fn signal(&self, group: Group) {
        let mut groups = self.groups.lock();
        let state = groups.entry(group).or_insert_with(State::new);
        state.phase = Phase::Stopped;
        let never_started = std::mem::take(&mut state.waiting);
        state.stopper.stop();
        drop(groups);
        // Dropping a runnable may call the manager.
        drop(never_started);
    }

    /// Asks a group to stop, and waits for it.
    pub(crate) async fn stop(&self, group: Group) {
        self.signal(group);
        self.finished(group).await;
    }

    /// Waits until everything that was started in a group has ended.
    pub(crate) async fn finished(&self, group: Group) {
        let tasks = {
            let mut groups = self.groups.lock();
            groups
                .get_mut(&group)
                .map(|state| std::mem::take(&mut state.tasks))
        };
        if let Some(mut tasks) = tasks {
            while tasks.join_next().await.is_some() {}
        }
    }

    /// Aborts the tasks that have not ended.
    pub(crate) fn abort(&self) {
        let mut ended = Vec::new();
        for state in self.groups.lock().values_mut() {
            state.phase = Phase::Stopped;
            state.stopper.stop();
            let never_started = std::mem::take(&mut state.waiting);
            ended.push((never_started, std::mem::take(&mut state.tasks)));
        }
        // Dropping ends them, and may call the manager.
        drop(ended);
    }

    /// Returns the runnables that have not ended.
    pub(crate) fn running(&self) -> Vec<String> {
        let groups = self.groups.lock();
        let names = groups
            .values()
            .map(|state| state.running.lock().values().cloned().collect());
        names.collect::<Vec<Vec<String>>>().concat()
    }
}

impl State {
    fn new() -> Self {
        Self {
            phase: Phase::New,
            stopper: Stopper::new(),
            waiting: Vec::new(),
            tasks: JoinSet::new(),
            running: Arc::default(),
            next: 0,
        }
    }

    fn spawn(&mut self, name: String, run: Runnable, errors: &mpsc::UnboundedSender<ManagerError>) {
        self.next += 1;
        self.running.lock().insert(self.next, name.clone());
        let listed = Listed(self.running.clone(), self.next);
        let (stop, errors) = (self.stopper.signal(), errors.clone());
        self.tasks.spawn(async move {
            let _listed = listed;
            let error = match AssertUnwindSafe(async { run(stop).await })
                .catch_unwind()
                .await
            {
                Ok(Ok(())) => return,
                Ok(Err(cause)) => cause,
                Err(panic) => format!("panic: {}", panic_message(&*panic)).into(),
            };
            // Nobody receives it after the end.
            let _ = errors.send(ManagerError::Runnable { name, cause: error });
        });
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
