//! [`WorkQueueBuilder`]: a queue with settings that differ from the default.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroU32,
    sync::Arc,
};

use hashbrown::DefaultHashBuilder;

use crate::{
    Key, MetricsProvider, RateLimiter, WorkQueue, default_controller_rate_limiter,
    metrics::Recorder,
    queue::Parts,
    state::{Rules, State},
};

/// The default of [`WorkQueueBuilder::ageing`].
const AGEING: u32 = 10;

/// Builds a [`WorkQueue`].
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{ItemExponentialFailureRateLimiter, Tenant, WorkQueue};
///
/// let queue: WorkQueue<(String, String)> = WorkQueue::builder()
///     .name("web")
///     .rate_limiter(ItemExponentialFailureRateLimiter::new(
///         Duration::from_millis(5),
///         Duration::from_secs(60),
///     ))
///     // Namespaces take turns.
///     .fair_by(|(namespace, _): &(String, String)| Tenant::named(namespace))
///     .build();
/// assert!(queue.is_empty());
/// ```
#[must_use]
pub struct WorkQueueBuilder<K> {
    name: Option<Arc<str>>,
    provider: Option<Arc<dyn MetricsProvider>>,
    limiter: Option<Arc<dyn RateLimiter<K>>>,
    tenant: Option<TenantOf<K>>,
    rules: Rules,
}

/// The tenant that a key belongs to, where tenants take turns.
///
/// ```
/// use kubewright_workqueue::{Tenant, WorkQueue};
///
/// assert_eq!(Tenant::named("shop"), Tenant::named("shop"));
///
/// // Each hundred is a tenant.
/// let queue = WorkQueue::builder().fair_by(|key: &u64| Tenant::number(key / 100)).build();
/// for key in [100, 101, 200] {
///     queue.add(key);
/// }
/// let order: Vec<_> = std::iter::from_fn(|| Some(*queue.try_get().ok()?)).collect();
/// assert_eq!(order, [100, 200, 101]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenant(pub(crate) u64);

pub(crate) type TenantOf<K> = Arc<dyn Fn(&K) -> Tenant + Send + Sync>;

impl Tenant {
    /// Returns the tenant of that name. Two names whose hashes collide share their turns.
    pub fn named(name: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the tenant of that number.
    pub fn number(number: u64) -> Self {
        Self(number)
    }
}

impl<K: Key> WorkQueueBuilder<K> {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            provider: None,
            limiter: None,
            tenant: None,
            rules: Rules {
                fair: false,
                ageing: AGEING,
                supersede: false,
            },
        }
    }

    /// Sets the name of the queue. Only a queue with a name has metrics.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into()).filter(|name: &Arc<str>| !name.is_empty());
        self
    }

    /// Sets a provider whose metrics are updated as things happen. Has no effect without a [name](Self::name).
    pub fn metrics(mut self, provider: impl MetricsProvider + 'static) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Sets the limiter of [`add_rate_limited`](WorkQueue::add_rate_limited). Defaults to
    /// [client-go's](default_controller_rate_limiter).
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<K> + 'static) -> Self {
        self.limiter = Some(Arc::new(limiter));
        self
    }

    /// Makes tenants take turns within a priority, so that one with many keys does not hold up the others.
    ///
    /// ```
    /// use kubewright_workqueue::{Tenant, WorkQueue};
    ///
    /// let queue = WorkQueue::builder()
    ///     .fair_by(|(namespace, _name): &(&str, &str)| Tenant::named(namespace))
    ///     .build();
    /// queue.add(("busy", "1"));
    /// queue.add(("busy", "2"));
    /// queue.add(("calm", "1"));
    /// let order: Vec<_> = std::iter::from_fn(|| Some(*queue.try_get().ok()?)).collect();
    /// assert_eq!(order, [("busy", "1"), ("calm", "1"), ("busy", "2")]);
    /// ```
    pub fn fair_by(mut self, tenant: impl Fn(&K) -> Tenant + Send + Sync + 'static) -> Self {
        self.tenant = Some(Arc::new(tenant));
        self.rules.fair = true;
        self
    }

    /// Sets how often a lower priority gets a turn while higher ones wait, so that none starves. Defaults to every
    /// tenth turn. Lower priorities share these turns in rotation.
    pub fn ageing(mut self, every: NonZeroU32) -> Self {
        self.rules.ageing = every.get();
        self
    }

    /// Gives lower priorities a turn only when nothing higher waits, so that they may starve.
    pub fn strict_priorities(mut self) -> Self {
        self.rules.ageing = 0;
        self
    }

    /// Merges delayed and immediate adds of one key into one run: an immediate add replaces a delayed one, and a
    /// delayed add is ignored while the key is queued. The highest priority is kept.
    ///
    /// By default, as in client-go, a delayed add always leads to a run at or after its time, even if the key ran
    /// meanwhile.
    pub fn merge_delayed(mut self) -> Self {
        self.rules.supersede = true;
        self
    }

    /// Builds the queue.
    pub fn build(self) -> WorkQueue<K> {
        let metrics = match (&self.name, &self.provider) {
            (Some(name), Some(provider)) => Some(provider.queue(name)),
            _ => None,
        };
        let recorder = self.name.map(|name| Box::new(Recorder::new(name)));
        WorkQueue::from_parts(Parts {
            limiter: self
                .limiter
                .unwrap_or_else(|| Arc::new(default_controller_rate_limiter())),
            tenant: self.tenant,
            metrics,
            timed: recorder.is_some(),
            hasher: DefaultHashBuilder::default(),
            state: State::new(self.rules, recorder),
        })
    }
}

impl<K> fmt::Debug for WorkQueueBuilder<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WorkQueueBuilder")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
