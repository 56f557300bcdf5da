//! Virtual time: [`TestClock`] is the cluster's clock, and [`Time`] advances it together with all timers.
//!
//! Controllers, queues, informers and elections wait by tokio's clock. When it is paused (`#[tokio::test(start_paused =
//! true)]`), it stands still while anything can run, and jumps to the next timer when nothing can: hours of backoff,
//! resync and leases take milliseconds. The cluster's clock follows it.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::{Clock, TokioClock};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::cluster::TestCluster;

/// The cluster's clock. It starts at the machine's time, follows tokio's clock, and can be moved by a test. Clones
/// share it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::time::Duration;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let before = cluster.time().now();
/// // This advances only the server's clock. Timers of the program are not affected.
/// cluster.clock().advance(Duration::from_secs(60));
/// assert!(cluster.time().now().duration_since(before).as_secs() >= 60);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct TestClock {
    base: TokioClock,
    offset: Arc<Mutex<SignedDuration>>,
}

/// Advances time for a cluster and the programs that run on it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::time::Duration;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let before = cluster.time().now();
/// cluster.time().advance(Duration::from_secs(3600)).await;
/// assert!(cluster.time().now().duration_since(before).as_hours() >= 1);
/// # });
/// ```
pub struct Time<'a>(&'a TestCluster);

impl TestClock {
    /// Advances only the cluster's clock.
    pub fn advance(&self, by: Duration) {
        let mut offset = self.offset.lock();
        *offset = offset.saturating_add(signed(by));
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let now = self.base.now();
        now.saturating_add(*self.offset.lock()).unwrap_or(now)
    }
}

impl<'a> Time<'a> {
    pub(crate) fn new(cluster: &'a TestCluster) -> Self {
        Self(cluster)
    }

    /// Returns the cluster's time.
    pub fn now(&self) -> Timestamp {
        self.0.clock().now()
    }

    /// Returns whether tokio's clock is paused.
    pub fn is_virtual(&self) -> bool {
        let (before, real) = (Instant::now(), std::time::Instant::now());
        while real.elapsed() < Duration::from_micros(1) {
            std::hint::spin_loop();
        }
        Instant::now() == before
    }

    /// Advances time: timers fire in order and on time.
    ///
    /// # Panics
    ///
    /// Panics if the clock is not paused.
    pub async fn advance(&self, by: Duration) {
        self.must_be_virtual();
        tokio::time::sleep(by).await;
    }

    /// Jumps forward, as if the machine had been suspended: timers that expired in the meantime fire late.
    ///
    /// # Panics
    ///
    /// Panics if the clock is not paused.
    pub async fn jump(&self, by: Duration) {
        self.must_be_virtual();
        tokio::time::advance(by).await;
    }

    /// Advances to the time at which the next delayed request of a manager is due, and returns the distance; `None` if
    /// no request is delayed. Timers outside queues do not count.
    ///
    /// # Panics
    ///
    /// Panics if the clock is not paused.
    pub async fn advance_to_next(&self) -> Option<Duration> {
        self.must_be_virtual();
        let managers = self.0.attached();
        let next = managers.iter().filter_map(|m| m.next_due()).min()?;
        let left = next.saturating_duration_since(Instant::now());
        tokio::time::sleep(left).await;
        Some(left)
    }

    fn must_be_virtual(&self) {
        assert!(
            self.is_virtual(),
            "the clock is not paused: use #[tokio::test(start_paused = true)]"
        );
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
