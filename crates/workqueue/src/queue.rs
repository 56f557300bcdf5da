//! [`WorkQueue`]: the lock around the queue's [state](crate::state), and the public operations.
//!
//! Every operation locks once, for a time that does not depend on how much is queued. No user code runs under the lock
//! except `Eq`, `Clone` and `Drop` of keys; wakers, limiters, metrics and the tenant function are called without it.

use std::{fmt, hash::BuildHasher, time::Duration};

use hashbrown::DefaultHashBuilder;

use crate::{
    AddOptions, Drain, Get, Item, Key, QueueMetrics, QueueSnapshot, QueueStatus, RateLimiter,
    TryGetError, WorkQueueBuilder,
    builder::TenantOf,
    clock::{self, Clock, Moment},
    state::{Add, Effects, Offer, State, Taken},
    sync::{Arc, Instant, Mutex, sleep_until},
};

/// The interval at which unfinished work is reported.
const UNFINISHED_WORK_PERIOD: Duration = Duration::from_millis(500);

/// A queue of distinct keys to process. Clones share the queue.
///
/// It holds every key at most once, so its size is bounded by the number of distinct keys: those queued, those being
/// processed, those delayed, and up to 256 finished ones, kept because most keys come again. Adding never waits.
///
/// ```
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add("default/web");
/// queue.add("default/web");
/// let item = queue.try_get().unwrap();
/// assert_eq!(*item, "default/web");
/// // Only one worker has a key at a time.
/// queue.add("default/web");
/// assert!(queue.try_get().is_err());
/// item.done();
/// assert!(queue.try_get().is_ok());
/// ```
pub struct WorkQueue<K> {
    pub(crate) shared: Arc<Shared<K>>,
}

/// The state that the clones of a queue, its workers and its items share.
pub(crate) struct Shared<K> {
    state: Mutex<State<K>>,
    clock: Clock,
    /// True if any part needs the time at every step.
    timed: bool,
    limiter: Arc<dyn RateLimiter<K>>,
    tenant: Option<TenantOf<K>>,
    metrics: Option<Arc<dyn QueueMetrics>>,
    hasher: DefaultHashBuilder,
}

/// The settings of a queue.
pub(crate) struct Parts<K> {
    pub(crate) limiter: Arc<dyn RateLimiter<K>>,
    pub(crate) tenant: Option<TenantOf<K>>,
    pub(crate) metrics: Option<Arc<dyn QueueMetrics>>,
    pub(crate) timed: bool,
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) state: State<K>,
}

impl<K: Key> WorkQueue<K> {
    /// Creates a queue without a name, with client-go's [limiter for
    /// controllers](crate::default_controller_rate_limiter).
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder.
    pub fn builder() -> WorkQueueBuilder<K> {
        WorkQueueBuilder::new()
    }

    /// Adds a key with priority 0, unless it is queued already.
    ///
    /// While a worker has the key, it is queued again once the worker is done, once for all adds. Adds after
    /// [`shut_down`](Self::shut_down) are ignored.
    #[inline]
    pub fn add(&self, key: K) {
        self.add_now(key, 0);
    }

    /// Adds a key with options: priority, delay, rate limit.
    pub fn add_with(&self, key: K, options: AddOptions) {
        let limit = options.rate_limited.then(|| self.shared.limiter.when(&key));
        let delay = match (options.after, limit) {
            (Some(after), Some(limit)) => Some(after.min(limit)),
            (after, limit) => after.or(limit),
        };
        let Some(delay) = delay else {
            self.add_now(key, options.priority);
            return;
        };
        let now = self.shared.clock.now();
        let add = self.shared.describe(&key, options.priority, now);
        let refused = self.shared.act(|state, effects| {
            if state.has_delays() {
                state.promote(now, effects);
            }
            state.add_after(key, add, delay, options.policy, effects);
            state.is_shutting_down()
        });
        if let Some(metrics) = self.shared.metrics.as_ref().filter(|_| !refused) {
            metrics.retried();
        }
    }

    /// Adds a key after a delay; at once if it is zero.
    ///
    /// Of several delayed adds of a key the earliest counts; see [`add_with`](Self::add_with) for other policies. A
    /// shutdown drops delayed keys.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_with(key, AddOptions::new().after(delay));
    }

    /// Adds a key after the limiter's delay.
    pub fn add_rate_limited(&self, key: K) {
        self.add_with(key, AddOptions::new().rate_limited());
    }

    /// Cancels the delayed add of a key, and reports whether there was one. A key that is queued already stays queued.
    pub fn cancel_delayed(&self, key: &K) -> bool {
        let hash = self.shared.hash(key);
        let now = self.shared.clock.now();
        self.shared.act(|state, effects| {
            // Keys that are due by now are queued, whether or not a worker has looked.
            while state.promote(now, effects) {}
            state.cancel(hash, key, effects)
        })
    }

    /// Returns when the delayed add of a key is due.
    pub fn due(&self, key: &K) -> Option<Instant> {
        let hash = self.shared.hash(key);
        let due = self.shared.state.lock().due(hash, key)?;
        Some(self.shared.clock.instant(due))
    }

    /// Clears the key's attempts in the limiter. The key still has to be finished.
    pub fn forget(&self, key: &K) {
        self.shared.limiter.forget(key);
    }

    /// Returns the number of attempts that the limiter has counted for a key.
    pub fn num_requeues(&self, key: &K) -> usize {
        self.shared.limiter.num_requeues(key)
    }

    /// Waits for a key to process; `None` after a shutdown once nothing is queued.
    ///
    /// No other worker gets the key until the [`Item`] is dropped. The item borrows the queue;
    /// [`into_owned`](Item::into_owned) converts it into one that can be sent to another task. The future is
    /// cancel-safe.
    #[inline]
    pub fn get(&self) -> Get<'_, K> {
        Get::new(&self.shared)
    }

    /// Returns a key to process if one is available.
    ///
    /// # Errors
    ///
    /// Fails if nothing is queued, or if the queue has been shut down.
    #[inline]
    pub fn try_get(&self) -> Result<Item<'_, K>, TryGetError> {
        let shared = &self.shared;
        let offer = shared.act(|state, effects| {
            let now = shared.time(state);
            if state.has_delays() {
                state.promote(now, effects);
            }
            state.offer(now, effects)
        });
        match offer {
            Offer::Item(taken) => Ok(shared.item(taken)),
            Offer::Nothing => Err(TryGetError::Empty),
            Offer::Closed => Err(TryGetError::ShutDown),
        }
    }

    /// Returns the number of keys that can be handed out now, without those being processed or delayed.
    pub fn len(&self) -> usize {
        self.status().queued
    }

    /// Reports whether no key can be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current numbers of the queue.
    pub fn status(&self) -> QueueStatus {
        self.shared.promote_all();
        let counts = self.shared.state.lock().counts();
        QueueStatus {
            queued: counts.ready,
            processing: counts.processing,
            to_run_again: counts.again,
            delayed: counts.delayed,
            next_due: counts.next_due.map(|due| self.shared.clock.instant(due)),
            waiting_workers: counts.waiting,
        }
    }

    /// Rejects further adds and drops the delayed keys. Workers still get the queued keys, and then `None`.
    ///
    /// Ends a [drain](Self::shut_down_with_drain) that others wait for.
    pub fn shut_down(&self) {
        self.shared.shut_down(false);
    }

    /// [Shuts down](Self::shut_down) and waits until all queued keys have been processed, including those that are to
    /// run again.
    ///
    /// The shutdown starts with the call; the future only waits. Until it ends, a worker that asks for a key waits for
    /// those that are to run again. Without workers, only another [`shut_down`](Self::shut_down) ends the wait.
    pub fn shut_down_with_drain(&self) -> Drain<'_, K> {
        self.shared.shut_down(true);
        Drain::new(&self.shared)
    }

    /// Reports whether a shutdown has started.
    pub fn shutting_down(&self) -> bool {
        self.shared.state.lock().is_shutting_down()
    }

    /// Returns the metrics of a queue that has a [name](WorkQueueBuilder::name).
    pub fn snapshot(&self) -> Option<QueueSnapshot> {
        self.shared.promote_all();
        let now = self.shared.clock.now();
        let state = self.shared.state.lock();
        let recorder = state.recorder.as_deref()?;
        let oldest = state.oldest_start();
        Some(recorder.snapshot(state.counts(), state.by_priority(), oldest, now))
    }

    /// Reports unfinished work to the [metrics](WorkQueueBuilder::metrics) every 500 ms until the queue is shut down.
    /// Run it in a task of its own; a [`snapshot`](Self::snapshot) does not need it.
    pub async fn report_unfinished_work(&self) {
        let Some(metrics) = &self.shared.metrics else {
            return;
        };
        loop {
            sleep_until(Instant::now() + UNFINISHED_WORK_PERIOD).await;
            let now = self.shared.clock.now();
            let (total, longest) = {
                let state = self.shared.state.lock();
                if state.is_shutting_down() {
                    return;
                }
                let processing = state.counts().processing;
                let recorder = state.recorder.as_deref();
                let total = recorder.map(|recorder| recorder.unfinished(processing, now));
                let longest = state.oldest_start().map(|start| clock::between(start, now));
                (total.unwrap_or_default(), longest.unwrap_or_default())
            };
            metrics.unfinished_work(total, longest);
        }
    }

    pub(crate) fn from_parts(parts: Parts<K>) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(parts.state),
                clock: Clock::start(),
                timed: parts.timed,
                limiter: parts.limiter,
                tenant: parts.tenant,
                metrics: parts.metrics,
                hasher: parts.hasher,
            }),
        }
    }

    #[inline]
    fn add_now(&self, key: K, priority: i32) {
        let shared = &self.shared;
        let mut add = shared.describe(&key, priority, 0);
        shared.act(|state, effects| {
            add.now = shared.time(state);
            if state.has_delays() {
                state.promote(add.now, effects);
            }
            state.add(key, add, effects);
        });
    }
}

impl<K: Key> Shared<K> {
    /// Runs an action under the lock, and its effects after releasing it.
    #[inline]
    pub(crate) fn act<R>(&self, action: impl FnOnce(&mut State<K>, &mut Effects<K>) -> R) -> R {
        let mut effects = Effects::none();
        let result = action(&mut self.state.lock(), &mut effects);
        if let Some(metrics) = self.metrics.as_ref().filter(|_| effects.adds > 0) {
            metrics.added(effects.adds);
        }
        effects.apply();
        result
    }

    /// Returns the time, or 0 if nothing needs it.
    #[inline]
    pub(crate) fn time(&self, state: &State<K>) -> Moment {
        if self.timed || state.has_delays() {
            self.clock.now()
        } else {
            0
        }
    }

    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.clock.instant(moment)
    }

    #[inline]
    pub(crate) fn item<'a>(self: &'a Arc<Self>, taken: Taken<K>) -> Item<'a, K> {
        if let Some(metrics) = &self.metrics {
            metrics.started(clock::between(taken.queued.0, taken.queued.1));
        }
        Item::new(self, taken)
    }

    /// Finishes an item.
    #[inline]
    pub(crate) fn done(&self, slot: u32) {
        let now = if self.timed { self.clock.now() } else { 0 };
        let started = self.act(|state, effects| state.done(slot, now, effects));
        if let Some(metrics) = &self.metrics {
            metrics.finished(clock::between(started, now));
        }
    }

    /// Queues everything that is due by now, without holding the lock for long.
    fn promote_all(&self) {
        let now = self.clock.now();
        while self.act(|state, effects| state.has_delays() && state.promote(now, effects)) {}
    }

    fn shut_down(&self, drain: bool) {
        self.promote_all();
        self.act(|state, effects| state.shut_down(drain, effects));
    }

    #[inline]
    fn describe(&self, key: &K, priority: i32, now: Moment) -> Add {
        Add {
            hash: self.hash(key),
            tenant: self.tenant.as_ref().map_or(0, |tenant| tenant(key).0),
            priority,
            now,
        }
    }

    #[inline]
    fn hash(&self, key: &K) -> u32 {
        let hash = self.hasher.hash_one(key);
        (hash ^ (hash >> 32)) as u32
    }
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Key> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("WorkQueue").field(&self.status()).finish()
    }
}
