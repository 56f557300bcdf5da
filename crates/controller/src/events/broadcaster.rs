//! [`EventBroadcaster`]: the task that writes events.
//!
//! One write at a time: while the server cannot be reached, the queue fills, and events that do not fit are dropped and
//! counted. Nothing grows without bound.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use jiff::Timestamp;
use kube::Client;
use kubewright_metrics::{Collect, Counter, MetricType, TextWriter};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep, timeout},
};

use super::{
    correlator::{Aggregation, Correlated, Correlator, SpamFilter, SpamLimit},
    pending::Pending,
    recorder::{Occurrence, Recorder},
    series::{FINISH, REFRESH, SeriesCache, SeriesWrite},
    sink::{Sent, Write},
};
use crate::clock::Clock;

/// The timeout of one attempt.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time for queued events at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The API that events are written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventApi {
    /// `events.k8s.io/v1`.
    #[default]
    Events,
    /// `v1`, as older programs do.
    Core,
}

/// The settings of an [`EventBroadcaster`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::events::{EventApi, EventBroadcaster, EventOptions, EventType};
///
/// let options = EventOptions { queue: 1, ..EventOptions::new(EventApi::Events) };
/// let broadcaster = EventBroadcaster::with_options(client, options);
/// let recorder = broadcaster.recorder("painter");
/// // There is room for one event only, and nothing takes it out yet.
/// for _ in 0..3 {
///     recorder.event(&ConfigMap::default(), EventType::Normal, "Painted", "the sky is blue");
/// }
/// assert_eq!(broadcaster.stats().dropped.get(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct EventOptions {
    /// The API.
    pub api: EventApi,
    /// The maximum number of queued events.
    pub queue: usize,
    /// The conditions under which similar core events are aggregated.
    pub aggregation: Aggregation,
    /// The budget of a source for each object. `None`, the default for `events.k8s.io/v1`, means no limit; there it
    /// limits new events only, not those of a series.
    pub spam: Option<SpamLimit>,
    /// The maximum number of objects, groups and series to remember.
    pub memory: usize,
    /// The maximum number of attempts of a write.
    pub tries: u32,
    /// The wait between attempts.
    pub pause: Duration,
    /// The clock.
    pub clock: Clock,
}

/// The counters of an [`EventBroadcaster`]. Clones share them. Register them to export them as metrics.
#[derive(Clone, Debug, Default)]
pub struct EventStats {
    /// Events written.
    pub sent: Counter,
    /// Events dropped because the queue was full.
    pub dropped: Counter,
    /// Events dropped because of the budget.
    pub throttled: Counter,
    /// Events given up, or rejected by the server.
    pub failed: Counter,
}

/// Writes the events of its recorders. Create recorders, then [`run`](Self::run) it.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::{ConfigMap, Event};
/// use kube::{Api, api::ListParams};
/// use kubewright_controller::events::{EventBroadcaster, EventType};
///
/// let broadcaster = EventBroadcaster::new(client.clone());
/// let recorder = broadcaster.recorder("painter");
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.namespace = Some("default".into());
/// recorder.event(&map, EventType::Normal, "Painted", "the sky is blue");
/// // Sends the queued events before it ends.
/// broadcaster.run(async {}).await;
/// let events: Api<Event> = Api::default_namespaced(client);
/// assert_eq!(events.list(&ListParams::default()).await.unwrap().items.len(), 1);
/// # });
/// ```
pub struct EventBroadcaster {
    client: Client,
    options: EventOptions,
    stats: EventStats,
    pending: Pending,
    queue: mpsc::Sender<Occurrence>,
    queued: mpsc::Receiver<Occurrence>,
}

/// The rules by which events are combined.
enum Rules {
    Core(Correlator),
    Events(SeriesCache, SpamFilter),
}

impl EventOptions {
    /// Returns client-go's settings for that API.
    pub fn new(api: EventApi) -> Self {
        Self {
            api,
            queue: 1000,
            aggregation: Aggregation::default(),
            spam: (api == EventApi::Core).then(SpamLimit::default),
            memory: 4096,
            tries: 12,
            pause: Duration::from_secs(10),
            clock: Arc::new(Timestamp::now),
        }
    }
}

impl EventBroadcaster {
    /// Creates a broadcaster that writes to `events.k8s.io/v1`.
    pub fn new(client: Client) -> Self {
        Self::with_options(client, EventOptions::new(EventApi::Events))
    }

    /// Creates a broadcaster with these settings.
    pub fn with_options(client: Client, options: EventOptions) -> Self {
        Self::new_with(client, options, EventStats::default(), Pending::default())
    }

    pub(super) fn new_with(
        client: Client,
        options: EventOptions,
        stats: EventStats,
        pending: Pending,
    ) -> Self {
        let (queue, queued) = mpsc::channel(options.queue.max(1));
        Self {
            client,
            options,
            stats,
            pending,
            queue,
            queued,
        }
    }

    /// Returns a recorder for the controller of that name. It works before and while the broadcaster runs.
    pub fn recorder(&self, controller: &str) -> Recorder {
        Recorder::new(
            controller,
            self.queue.clone(),
            self.stats.clone(),
            self.options.clock.clone(),
            self.pending.clone(),
        )
    }

    /// Returns the counters.
    pub fn stats(&self) -> EventStats {
        self.stats.clone()
    }

    /// Writes events until shutdown, or until all recorders are dropped. Queued events are then tried once, for at most
    /// ten seconds.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self {
            client,
            options,
            stats,
            queue,
            mut queued,
            ..
        } = self;
        drop(queue);
        let mut shutdown = pin!(shutdown.fuse());
        let mut rules = Rules::new(&options);
        let (mut refresh, mut finish) = (ticks(REFRESH), ticks(FINISH));
        let writer = Writer {
            client,
            options,
            stats,
        };
        loop {
            // The event is pending until its writes are done.
            let (writes, _pending) = tokio::select! {
                biased;
                () = &mut shutdown => break,
                occurrence = queued.recv() => match occurrence {
                    Some(occurrence) => {
                        let write = writer.admit(&mut rules, &occurrence);
                        (write.into_iter().collect(), occurrence.pending)
                    }
                    None => return,
                },
                _ = refresh.tick() => (rules.refresh(), None),
                _ = finish.tick() => (rules.finish(Instant::now()), None),
            };
            for write in writes {
                if !writer.persist(&write, &mut shutdown).await {
                    // Shutdown during a write.
                    return writer.drain(&mut rules, queued).await;
                }
            }
        }
        writer.drain(&mut rules, queued).await;
    }
}

struct Writer {
    client: Client,
    options: EventOptions,
    stats: EventStats,
}

impl Writer {
    fn admit(&self, rules: &mut Rules, occurrence: &Occurrence) -> Option<Write> {
        match rules.correlate(occurrence, Instant::now()) {
            Ok(write) => write,
            Err(Throttled) => {
                self.stats.throttled.inc();
                None
            }
        }
    }

    /// Tries until the event is written or given up. Reports whether to continue.
    async fn persist(
        &self,
        write: &Write,
        shutdown: &mut (impl Future<Output = ()> + Unpin),
    ) -> bool {
        for attempt in 1..=self.options.tries {
            let Some(error) = self.once(write).await else {
                return true;
            };
            if attempt == self.options.tries {
                self.stats.failed.inc();
                tracing::warn!(%error, "giving up an event");
                return true;
            }
            // At random, so that programs that lost the same server do not all return at once.
            let pause = if attempt == 1 {
                self.options.pause.mul_f64(rand::random::<f64>())
            } else {
                self.options
                    .pause
                    .mul_f64(1.0 + 0.25 * rand::random::<f64>())
            };
            tracing::debug!(%error, ?pause, "cannot write an event; retrying");
            tokio::select! {
                () = &mut *shutdown => {
                    self.stats.failed.inc();
                    return false;
                }
                () = sleep(pause) => {}
            }
        }
        true
    }

    /// Tries once. Returns the error if a retry makes sense.
    async fn once(&self, write: &Write) -> Option<String> {
        match timeout(WRITE_TIMEOUT, write.send(&self.client)).await {
            Ok(Sent::Done) => self.stats.sent.inc(),
            Ok(Sent::Refused(e)) => {
                self.stats.failed.inc();
                tracing::debug!(error = %e, "the server rejected an event");
            }
            Ok(Sent::Failed(e)) => return Some(e.to_string()),
            Err(_) => return Some("no response".to_owned()),
        }
        None
    }

    /// Tries the queued events once each.
    async fn drain(&self, rules: &mut Rules, mut queued: mpsc::Receiver<Occurrence>) {
        queued.close();
        let draining = async {
            while let Some(occurrence) = queued.recv().await {
                if let Some(write) = self.admit(rules, &occurrence)
                    && self.once(&write).await.is_some()
                {
                    self.stats.failed.inc();
                }
            }
        };
        if timeout(SHUTDOWN_TIMEOUT, draining).await.is_err() {
            tracing::warn!("events were left unwritten at shutdown");
        }
    }
}

/// The budget is exhausted.
struct Throttled;

impl Rules {
    fn new(options: &EventOptions) -> Self {
        let (spam, memory) = (options.spam, options.memory);
        match options.api {
            EventApi::Core => Self::Core(Correlator::new(options.aggregation, spam, memory)),
            EventApi::Events => {
                Self::Events(SeriesCache::new(memory), SpamFilter::new(spam, memory))
            }
        }
    }

    fn correlate(
        &mut self,
        occurrence: &Occurrence,
        now: Instant,
    ) -> Result<Option<Write>, Throttled> {
        match self {
            Self::Core(correlator) => match correlator.correlate(occurrence, now) {
                Correlated::Create(event) => Ok(Some(Write::CreateCore(event))),
                Correlated::Patch(event) => Ok(Some(Write::PatchCore(event))),
                Correlated::Throttled => Err(Throttled),
            },
            Self::Events(cache, spam) => match cache.observe(occurrence, now) {
                Some(SeriesWrite::Create(_)) if !spam.admits(occurrence, now) => {
                    cache.forget(occurrence);
                    Err(Throttled)
                }
                Some(SeriesWrite::Create(event)) => Ok(Some(Write::Create(event))),
                Some(SeriesWrite::Patch(event)) => Ok(Some(Write::PatchSeries(event))),
                None => Ok(None),
            },
        }
    }

    fn refresh(&mut self) -> Vec<Write> {
        match self {
            Self::Core(_) => Vec::new(),
            Self::Events(cache, _) => patches(cache.refresh()),
        }
    }

    fn finish(&mut self, now: Instant) -> Vec<Write> {
        match self {
            Self::Core(_) => Vec::new(),
            Self::Events(cache, _) => patches(cache.finish(now)),
        }
    }
}

fn patches(events: Vec<k8s_openapi::api::events::v1::Event>) -> Vec<Write> {
    let patch = |event| Write::PatchSeries(Box::new(event));
    events.into_iter().map(patch).collect()
}

fn ticks(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Collect for EventStats {
    fn collect(&self, out: &mut TextWriter) {
        for (name, help, counter) in [
            ("event_recorder_sent_total", "Events written", &self.sent),
            (
                "event_recorder_dropped_total",
                "Events dropped since the queue was full",
                &self.dropped,
            ),
            (
                "event_recorder_throttled_total",
                "Events left out since there were too many",
                &self.throttled,
            ),
            (
                "event_recorder_failed_total",
                "Events given up or refused by the server",
                &self.failed,
            ),
        ] {
            out.heading(name, help, MetricType::Counter);
            out.sample(name, [], counter.get() as f64);
        }
    }
}

impl fmt::Debug for EventOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventOptions")
            .field("api", &self.api)
            .field("queue", &self.queue)
            .field("spam", &self.spam)
            .finish_non_exhaustive()
    }
}
