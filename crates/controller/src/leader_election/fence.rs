//! [`Fence`] and [`LeaderToken`]: protection of a leader's writes.
//!
//! A fence is open while the Lease is held and its renew deadline has not passed on the monotonic clock. It closes by
//! the clock alone, without any task running.

use std::{sync::Arc, time::Duration};

use kube::Client;
use kubewright_client::policy::ClientService;
use thiserror::Error;
use tokio::{sync::watch, time::Instant};
use tower::Layer;

use super::guard::FenceLayer;

/// Permits writes while a candidate leads. Clones share it.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::leader_election::{ElectionConfig, LeaderElector};
///
/// let elector = LeaderElector::new(client, ElectionConfig::new("shop", "default")).unwrap();
/// // Closed until the Lease is held.
/// assert!(!elector.fence().is_open());
/// assert!(elector.fence().check().is_err());
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Fence {
    shared: Arc<Shared>,
    /// Bound to one term, or to the current one.
    term: Option<u64>,
}

/// The token of a leader's work: a stop signal, and a fence for its term.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::leader_election::{ElectionConfig, LeaderElector, Outcome};
///
/// let election = LeaderElector::new(client, ElectionConfig::new("shop", "default")).unwrap();
/// let never = std::future::pending();
/// let outcome = election.run(never, |token| async move { token.fence().is_open() }).await;
/// assert_eq!(outcome, Outcome::Finished(true));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct LeaderToken {
    fence: Fence,
    stop: watch::Receiver<bool>,
}

/// A write was rejected or given up because the Lease is not held.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "not the leader: the lease is not held or its renew deadline is over, the write was not sent"
)]
pub struct NotLeader;

#[derive(Debug)]
struct Shared {
    held: watch::Sender<Held>,
    /// The number of guarded writes in progress.
    writes: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The number of the leadership.
    term: u64,
    open: bool,
    /// No write is sent after this time. `None` means no limit.
    deadline: Option<Instant>,
    /// Others may lead after this time. `None` means never.
    expires: Option<Instant>,
    /// The start of the last successful renewal.
    pub(super) renewed: Option<Instant>,
}

/// Counts a write in progress.
pub(super) struct Write(Arc<Shared>);

/// Reports whether a request failed because the fence was closed.
pub fn is_not_leader(error: &kube::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<NotLeader>() {
            return true;
        }
        cause = error.source();
    }
    false
}

impl Fence {
    /// Creates a fence that never closes, for programs without an election.
    pub fn open() -> Self {
        Self::with(true)
    }

    pub(super) fn closed() -> Self {
        Self::with(false)
    }

    fn with(open: bool) -> Self {
        let held = Held {
            term: 0,
            open,
            deadline: None,
            expires: None,
            renewed: None,
        };
        Self {
            shared: Arc::new(Shared {
                held: watch::Sender::new(held),
                writes: watch::Sender::new(0),
            }),
            term: None,
        }
    }

    /// Returns a client whose writes fail with [`NotLeader`] unless the fence is open. Reads pass.
    ///
    /// Guard a client before other layers are added: a write that waits for a rate limit or a retry is then checked
    /// when it is really sent.
    pub fn guard(&self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let valid_until = *client.valid_until();
        let service = FenceLayer::new(self.clone()).layer(ClientService::new(client));
        Client::new(service, namespace).with_valid_until(valid_until)
    }

    /// Checks whether a write may be sent now.
    ///
    /// # Errors
    ///
    /// Fails if the Lease is not held.
    pub fn check(&self) -> Result<(), NotLeader> {
        let held = *self.shared.held.borrow();
        let mine = self.term.is_none_or(|term| term == held.term);
        let in_time = held.deadline.is_none_or(|at| Instant::now() < at);
        if held.open && mine && in_time {
            Ok(())
        } else {
            Err(NotLeader)
        }
    }

    /// Reports whether a write may be sent now.
    pub fn is_open(&self) -> bool {
        self.check().is_ok()
    }

    /// Waits until the fence is closed, by the elector or by the clock.
    pub async fn wait_closed(&self) {
        let mut changes = self.shared.held.subscribe();
        loop {
            let held = *changes.borrow_and_update();
            if self.check().is_err() {
                return;
            }
            tokio::select! {
                () = sleep_until(held.deadline) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Returns the current term, for requests that outlive it.
    pub(super) fn current(&self) -> Self {
        let term = self.term.unwrap_or(self.shared.held.borrow().term);
        Self {
            shared: self.shared.clone(),
            term: Some(term),
        }
    }

    /// Waits until others may lead.
    pub(super) async fn wait_expired(&self) {
        let mut changes = self.shared.held.subscribe();
        loop {
            let held = *changes.borrow_and_update();
            let mine = self.term.is_none_or(|term| term == held.term);
            if !mine || held.expires.is_some_and(|at| at <= Instant::now()) {
                return;
            }
            tokio::select! {
                () = sleep_until(held.expires) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Starts a write.
    pub(super) fn enter(&self) -> Write {
        self.shared.writes.send_modify(|count| *count += 1);
        Write(self.shared.clone())
    }

    /// Waits until no guarded write is in progress.
    pub(super) async fn wait_quiet(&self) {
        let mut writes = self.shared.writes.subscribe();
        // The sender lives as long as this fence.
        let _ = writes.wait_for(|count| *count == 0).await;
    }

    /// Starts a leadership, with a renewal that started then.
    pub(super) fn begin(&self, renewed: Instant, deadline: Duration, expiry: Duration) -> Self {
        self.shared.held.send_modify(|held| {
            *held = Held {
                term: held.term + 1,
                open: true,
                deadline: Some(renewed + deadline),
                expires: Some(renewed + expiry),
                renewed: Some(renewed),
            };
        });
        self.current()
    }

    /// Notes a renewal by a request that started then.
    pub(super) fn extend(&self, renewed: Instant, deadline: Duration, expiry: Duration) {
        self.shared.held.send_modify(|held| {
            held.deadline = Some(renewed + deadline);
            held.expires = Some(renewed + expiry);
            held.renewed = Some(renewed);
        });
    }

    /// Ends the leadership. Writes in progress may finish until the Lease expires.
    pub(super) fn close(&self) {
        self.shared.held.send_modify(|held| held.open = false);
    }

    pub(super) fn held(&self) -> Held {
        *self.shared.held.borrow()
    }
}

impl Held {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        self.0.writes.send_modify(|count| *count -= 1);
    }
}

impl LeaderToken {
    pub(super) fn new(fence: Fence, stop: watch::Receiver<bool>) -> Self {
        Self { fence, stop }
    }

    /// Returns the fence of this leadership. It stays closed in later ones.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Returns a client that writes during this leadership only. See [`Fence::guard`].
    pub fn guard(&self, client: Client) -> Client {
        self.fence.guard(client)
    }

    /// Reports whether the work should end, because of a shutdown or a lost Lease.
    pub fn is_stopping(&self) -> bool {
        *self.stop.borrow() || self.stop.has_changed().is_err()
    }

    /// Waits until the work should end. After a shutdown the work may still write until it has ended; after a lost
    /// Lease it may not.
    pub async fn stopping(&self) {
        // A dropped sender means the end as well.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);
    const EXPIRY: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn a_fence_closes_by_the_clock_alone() {
        let fence = Fence::closed();
        assert!(!fence.is_open());
        let term = fence.begin(Instant::now(), DEADLINE, EXPIRY);
        assert!(fence.is_open() && term.is_open());
        tokio::time::advance(DEADLINE - Duration::from_millis(1)).await;
        assert!(fence.is_open());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(fence.check(), Err(NotLeader));
        term.wait_closed().await;
    }

    #[tokio::test(start_paused = true)]
    async fn fences_of_earlier_terms_stay_closed() {
        let fence = Fence::closed();
        let first = fence.begin(Instant::now(), DEADLINE, EXPIRY);
        fence.close();
        let second = fence.begin(Instant::now(), DEADLINE, EXPIRY);
        assert!(fence.is_open() && second.is_open());
        assert!(!first.is_open());
        first.wait_expired().await;
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_follows_renewals() {
        let fence = Fence::closed();
        let start = Instant::now();
        let term = fence.begin(start, DEADLINE, EXPIRY);
        let waiting = tokio::spawn(async move {
            term.wait_closed().await;
            Instant::now()
        });
        tokio::time::sleep(Duration::from_secs(8)).await;
        fence.extend(Instant::now(), DEADLINE, EXPIRY);
        assert_eq!(waiting.await.unwrap(), start + Duration::from_secs(18));
    }

    #[tokio::test(start_paused = true)]
    async fn a_fence_of_a_program_without_election_is_always_open() {
        let fence = Fence::open();
        tokio::time::advance(Duration::from_secs(1_000_000)).await;
        assert!(fence.is_open());
    }
}
