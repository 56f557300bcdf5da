//! [`LeaderElector`]: waits for the Lease, leads, and releases it.

mod attempt;

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Client, Resource};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

use self::attempt::{Attempt, note};
use super::{
    config::{ElectionConfig, ElectionConfigError},
    fence::{Fence, LeaderToken},
    health::LeaderHealth,
    lease_watch::LeaseWatch,
    lock::LeaseLock,
    record::{self, Observed},
};
use crate::{
    events::{EventType, Recorder},
    metrics::ElectionMetrics,
};

/// A candidate for a Lease. See the [module](super) for an overview and the crate for an example.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::leader_election::{ElectionConfig, LeaderElector, Outcome};
///
/// let elector = LeaderElector::new(client, ElectionConfig::new("shop", "default")).unwrap();
/// // The work begins when the Lease is held, and is dropped when it is lost.
/// let shutdown = std::future::pending();
/// let outcome = elector.run(shutdown, |_token| async { "done" }).await;
/// assert_eq!(outcome, Outcome::Finished("done"));
/// # });
/// ```
pub struct LeaderElector {
    config: ElectionConfig,
    lock: LeaseLock,
    fence: Fence,
    leadership: watch::Sender<Leadership>,
    recorder: Option<Recorder>,
    metrics: Option<ElectionMetrics>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The record, and when it changed.
    observed: Option<Observed>,
    /// The Lease as it was last read or written.
    lease: Option<Lease>,
    /// True if an attempt has started and not ended; stays set if it is dropped.
    trying: bool,
}

/// The current leader, as far as this candidate knows.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::leader_election::{ElectionConfig, LeaderElector, Leadership, Outcome};
///
/// let config = ElectionConfig::new("shop", "default").identity("one");
/// let elector = LeaderElector::new(client, config).unwrap();
/// let leadership = elector.leadership();
/// assert_eq!(*leadership.borrow(), Leadership::default());
/// let never = std::future::pending();
/// let outcome = elector.run(never, |_token| async move { leadership.borrow().clone() }).await;
/// let expected = Leadership { holder: "one".into(), leading: true };
/// assert_eq!(outcome, Outcome::Finished(expected));
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    /// The identity of the holder; empty if there is none, or none is known yet.
    pub holder: String,
    /// True if this candidate leads.
    pub leading: bool,
}

/// The end of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Shutdown came before this candidate led.
    NeverLed,
    /// The work ended while the Lease was held, by itself or at shutdown, with this result.
    Finished(T),
    /// The Lease was lost. Work that had not ended when it expired was dropped.
    Lost,
}

/// Closes the fence when a leadership ends for any reason.
struct Term<'a> {
    fence: &'a Fence,
    leadership: &'a watch::Sender<Leadership>,
    metrics: Option<&'a ElectionMetrics>,
    name: &'a str,
}

impl LeaderElector {
    /// Creates a candidate. `client` must not be guarded by this election.
    ///
    /// # Errors
    ///
    /// Fails if the settings are invalid.
    pub fn new(client: Client, config: ElectionConfig) -> Result<Self, ElectionConfigError> {
        config.validate()?;
        Ok(Self {
            lock: LeaseLock::new(client, &config),
            config,
            fence: Fence::closed(),
            leadership: watch::Sender::new(Leadership::default()),
            recorder: None,
            metrics: None,
            clock: Arc::new(Timestamp::now),
            observed: None,
            lease: None,
            trying: false,
        })
    }

    /// Records changes of leadership as events about the Lease.
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Sets the metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: ElectionMetrics) -> Self {
        metrics.set_leading(&self.config.name, false);
        self.metrics = Some(metrics);
        self
    }

    /// Sets the clock for the times in the Lease. Nothing depends on it.
    #[must_use]
    pub fn wall_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the fence that is open while this candidate leads. Clients may be guarded by it before the election
    /// starts.
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Returns a receiver of the current leader.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Returns a health check with that tolerance beyond the lease duration.
    pub fn health(&self, tolerance: Duration) -> LeaderHealth {
        LeaderHealth::new(self.fence.clone(), &self.config, tolerance)
    }

    /// Returns the settings.
    pub fn config(&self) -> &ElectionConfig {
        &self.config
    }

    /// Waits for the Lease, runs the work while it is held, and releases it when the work has ended.
    ///
    /// At `shutdown` the work is notified through its [`LeaderToken`] and continues, with the Lease renewed, until it
    /// has ended. If the Lease is lost, the fence closes at once, the work is notified, and what has not ended when the
    /// Lease expires is dropped. Tasks that the work spawned are not ended; the fence stops their writes.
    pub async fn run<F, W>(
        mut self,
        shutdown: impl Future<Output = ()>,
        lead: F,
    ) -> Outcome<W::Output>
    where
        F: FnOnce(LeaderToken) -> W,
        W: Future,
    {
        let mut shutdown = pin!(shutdown);
        let mut lease_watch =
            LeaseWatch::new(self.lock.api().clone(), self.lock.name(), self.config.watch);
        let acquired = tokio::select! {
            biased;
            () = &mut shutdown => None,
            at = self.acquire(&mut lease_watch) => Some(at),
        };
        let Some(renewed) = acquired else {
            // A request in progress may have taken the Lease.
            if self.config.release_on_cancel && self.trying {
                self.release().await;
            }
            return Outcome::NeverLed;
        };
        lease_watch.reset();

        let deadline = self.config.renew_deadline;
        let fence = self
            .fence
            .begin(renewed, deadline, self.config.recorded_duration());
        let (stop, stopped) = watch::channel(false);
        let (election_fence, leadership) = (self.fence.clone(), self.leadership.clone());
        let (metrics, name) = (self.metrics.clone(), self.config.name.clone());
        let term = Term::begin(
            &election_fence,
            &leadership,
            metrics.as_ref(),
            &name,
            &self.config,
        );
        self.record("became leader");
        tracing::info!(
            lease = name,
            identity = self.config.identity,
            "became leader"
        );

        let mut work = Box::pin(lead(LeaderToken::new(fence, stopped)));
        let finished = {
            let mut renewing = pin!(self.renew(&mut lease_watch, renewed));
            let mut asked = false;
            loop {
                tokio::select! {
                    biased;
                    () = &mut renewing => break None,
                    output = &mut work => break Some(output),
                    () = &mut shutdown, if !asked => {
                        asked = true;
                        stop.send_replace(true);
                    }
                }
            }
        };
        drop(term);
        stop.send_replace(true);
        let outcome = match finished {
            Some(output) => Outcome::Finished(output),
            None => {
                tracing::warn!(lease = name, "lost the lease");
                tokio::select! {
                    biased;
                    () = self.fence.wait_expired() => {}
                    _ = &mut work => {}
                }
                Outcome::Lost
            }
        };
        drop(work);
        // A candidate that lost the Lease does not touch it any more; it expires by itself.
        if self.config.release_on_cancel && !matches!(outcome, Outcome::Lost) {
            tokio::select! {
                biased;
                () = self.fence.wait_expired() => {}
                () = self.fence.wait_quiet() => self.release().await,
            }
        }
        self.record("stopped leading");
        tracing::info!(
            lease = name,
            identity = self.config.identity,
            "stopped leading"
        );
        outcome
    }

    /// Waits until the Lease is taken. Returns when the successful request started.
    async fn acquire(&mut self, lease_watch: &mut LeaseWatch) -> Instant {
        loop {
            let began = Instant::now();
            if self.acquire_or_renew().await == Attempt::Held {
                return began;
            }
            let retry = Instant::now() + self.config.candidate_pause();
            // As soon as it can be taken, if that is known.
            let expires = self.observed.as_ref().map(Observed::expires);
            let wake = expires
                .filter(|at| *at > Instant::now())
                .map_or(retry, |at| at.min(retry));
            let (observed, leadership) = (&mut self.observed, &self.leadership);
            let freed = lease_watch.until(|spec| {
                let Some(spec) = spec else { return true };
                note(observed, leadership, spec);
                record::holder(spec).is_empty()
            });
            tokio::select! {
                () = freed => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Renews until that fails. The deadline counts from the start of the last successful renewal.
    async fn renew(&mut self, lease_watch: &mut LeaseWatch, acquired: Instant) {
        let (limit, expiry) = (self.config.renew_deadline, self.config.recorded_duration());
        let mut renewed = acquired;
        let mut tried = acquired;
        loop {
            let deadline = renewed + limit;
            let identity = &self.config.identity;
            let disturbed =
                lease_watch.until(|spec| spec.is_none_or(|spec| record::holder(spec) != identity));
            tokio::select! {
                () = sleep_until((tried + self.config.retry_period).min(deadline)) => {}
                () = disturbed => {}
            }
            tried = Instant::now();
            if tried >= deadline {
                return;
            }
            match timeout_at(deadline, self.acquire_or_renew()).await {
                Ok(Attempt::Held) => {
                    renewed = tried;
                    self.fence.extend(renewed, limit, expiry);
                }
                Ok(Attempt::Taken) => return,
                Ok(Attempt::Failed) | Err(_) => {}
            }
        }
    }

    fn record(&self, what: &str) {
        if let (Some(recorder), Some(lease)) = (&self.recorder, &self.lease) {
            let note = format!("{} {what}", self.config.identity);
            let about = lease.object_ref(&());
            recorder.event_about(about, EventType::Normal, "LeaderElection", note);
        }
    }
}

impl<'a> Term<'a> {
    fn begin(
        fence: &'a Fence,
        leadership: &'a watch::Sender<Leadership>,
        metrics: Option<&'a ElectionMetrics>,
        name: &'a str,
        config: &ElectionConfig,
    ) -> Self {
        leadership.send_replace(Leadership {
            holder: config.identity.clone(),
            leading: true,
        });
        if let Some(metrics) = metrics {
            metrics.set_leading(name, true);
        }
        Self {
            fence,
            leadership,
            metrics,
            name,
        }
    }
}

impl Drop for Term<'_> {
    fn drop(&mut self) {
        self.fence.close();
        self.leadership.send_modify(|now| now.leading = false);
        if let Some(metrics) = self.metrics {
            metrics.set_leading(self.name, false);
        }
    }
}

impl fmt::Debug for LeaderElector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElector")
            .field("config", &self.config)
            .field("leadership", &*self.leadership.borrow())
            .finish_non_exhaustive()
    }
}
