//! [`EventBroadcaster`]: the task that writes events.
//!
//! One write at a time: a server that cannot be reached holds up what follows, the queue fills, and what does not fit is
//! dropped and counted. Nothing grows without bound.

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
    recorder::{Clock, Occurrence, Recorder},
    series::{FINISH, REFRESH, SeriesCache, SeriesWrite},
    sink::{Sent, Write},
};

/// How long one try may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long what is queued has to get out at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Which API events are written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventApi {
    /// `events.k8s.io/v1`.
    #[default]
    Events,
    /// `v1`, as old programs do.
    Core,
}

/// How events are kept few and written.
#[derive(Clone)]
pub struct EventOptions {
    /// The API.
    pub api: EventApi,
    /// How many events may wait.
    pub queue: usize,
    /// When similar core events become one.
    pub aggregation: Aggregation,
    /// How many events a source may send about an object. `None`: as many as it likes, which is usual for
    /// `events.k8s.io/v1`; there it limits new events only, not those of a series.
    pub spam: Option<SpamLimit>,
    /// How many objects, groups and series are remembered.
    pub memory: usize,
    /// How often a write is tried.
    pub tries: u32,
    /// How long to wait between tries.
    pub pause: Duration,
    /// What time it is.
    pub clock: Clock,
}

/// What was done to events so far. Clones share the numbers. Register it to see them as metrics.
#[derive(Clone, Debug, Default)]
pub struct EventStats {
    /// Written.
    pub sent: Counter,
    /// Dropped since the queue was full.
    pub dropped: Counter,
    /// Left out since there were too many.
    pub throttled: Counter,
    /// Given up, or refused by the server.
    pub failed: Counter,
}

/// Takes what recorders say and writes it. Make recorders, then [`run`](Self::run) it.
pub struct EventBroadcaster {
    client: Client,
    options: EventOptions,
    stats: EventStats,
    queue: mpsc::Sender<Occurrence>,
    queued: mpsc::Receiver<Occurrence>,
}

/// By which rules events are kept few.
enum Rules {
    Core(Correlator),
    Events(SeriesCache, SpamFilter),
}

impl EventOptions {
    /// As client-go does it for that API.
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
    /// Writes to `events.k8s.io/v1`.
    pub fn new(client: Client) -> Self {
        Self::with_options(client, EventOptions::new(EventApi::Events))
    }

    /// Writes by these rules.
    pub fn with_options(client: Client, options: EventOptions) -> Self {
        let (queue, queued) = mpsc::channel(options.queue.max(1));
        Self {
            client,
            options,
            stats: EventStats::default(),
            queue,
            queued,
        }
    }

    /// A recorder for the controller of that name. Works before and while the broadcaster runs.
    pub fn recorder(&self, controller: &str) -> Recorder {
        Recorder::new(
            controller,
            self.queue.clone(),
            self.stats.clone(),
            self.options.clock.clone(),
        )
    }

    /// What was done so far.
    pub fn stats(&self) -> EventStats {
        self.stats.clone()
    }

    /// Writes events until shutdown, or until all recorders are gone. What is queued then is tried once, for ten seconds at
    /// most.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self {
            client,
            options,
            stats,
            queue,
            mut queued,
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
            let writes = tokio::select! {
                biased;
                () = &mut shutdown => break,
                occurrence = queued.recv() => match occurrence {
                    Some(occurrence) => writer.admit(&mut rules, &occurrence).into_iter().collect(),
                    None => return,
                },
                _ = refresh.tick() => rules.refresh(),
                _ = finish.tick() => rules.finish(Instant::now()),
            };
            for write in writes {
                if !writer.persist(&write, &mut shutdown).await {
                    // Asked to stop in the middle of it.
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

    /// Tries until it is written or given up. Says whether to go on.
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
                tracing::warn!("an event could not be written, it is given up: {error}");
                return true;
            }
            // At random, so that programs that lost the same server do not come back at once.
            let pause = if attempt == 1 {
                self.options.pause.mul_f64(rand::random::<f64>())
            } else {
                self.options
                    .pause
                    .mul_f64(1.0 + 0.25 * rand::random::<f64>())
            };
            tracing::debug!("an event could not be written, trying again in {pause:?}: {error}");
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

    /// Tries once. Gives the error if it is worth trying again.
    async fn once(&self, write: &Write) -> Option<String> {
        match timeout(WRITE_TIMEOUT, write.send(&self.client)).await {
            Ok(Sent::Done) => self.stats.sent.inc(),
            Ok(Sent::Refused(e)) => {
                self.stats.failed.inc();
                tracing::debug!("the server refused an event: {e}");
            }
            Ok(Sent::Failed(e)) => return Some(e.to_string()),
            Err(_) => return Some("no answer".to_owned()),
        }
        None
    }

    /// What is queued, once each.
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
            tracing::warn!("events were left unwritten at the end");
        }
    }
}

/// There are too many.
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
