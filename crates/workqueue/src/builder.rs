//! How a queue is made that differs from the usual one.

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

/// Every how many turns a lower priority has one, unless said otherwise.
const AGEING: u32 = 10;

/// Makes a [`WorkQueue`].
#[must_use]
pub struct Builder<K> {
    name: Option<Arc<str>>,
    provider: Option<Arc<dyn MetricsProvider>>,
    limiter: Option<Arc<dyn RateLimiter<K>>>,
    tenant: Option<TenantOf<K>>,
    rules: Rules,
}

/// Who a key belongs to, where tenants take turns: the name of one, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenant(pub(crate) u64);

pub(crate) type TenantOf<K> = Arc<dyn Fn(&K) -> Tenant + Send + Sync>;

impl Tenant {
    /// The tenant of that name. In the unlikely case that two names have the same hash, they share their turns.
    pub fn named(name: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The tenant of that number.
    pub fn number(number: u64) -> Self {
        Self(number)
    }
}

impl<K: Key> Builder<K> {
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

    /// Names the queue. Only a queue with a name has [metrics](crate::metrics).
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into()).filter(|name: &Arc<str>| !name.is_empty());
        self
    }

    /// Has the metrics told as they happen. Without a [name](Self::name) there are none.
    pub fn metrics(mut self, provider: impl MetricsProvider + 'static) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Whom [`add_rate_limited`](WorkQueue::add_rate_limited) asks; otherwise
    /// [client-go's default](default_controller_rate_limiter).
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<K> + 'static) -> Self {
        self.limiter = Some(Arc::new(limiter));
        self
    }

    /// Within a priority, tenants take turns, so that one with many keys does not hold up the others.
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

    /// While several priorities wait, every how many turns one goes to a lower priority, so that none starves; otherwise
    /// every tenth. The lower ones take these turns one after the other.
    pub fn ageing(mut self, every: NonZeroU32) -> Self {
        self.rules.ageing = every.get();
        self
    }

    /// A lower priority has its turn only when nothing higher waits. It may starve.
    pub fn strict_priorities(mut self) -> Self {
        self.rules.ageing = 0;
        self
    }

    /// One run answers for all adds: an add for now takes the place of a delayed one of the same key, and a delayed one
    /// counts for nothing while the key is queued. The highest priority of them is kept.
    ///
    /// Otherwise, as in client-go, a delayed add always leads to a run at or after its time, also when the key ran
    /// meanwhile.
    pub fn merge_delayed(mut self) -> Self {
        self.rules.supersede = true;
        self
    }

    /// The queue.
    pub fn build(self) -> WorkQueue<K> {
        let told = match (&self.name, &self.provider) {
            (Some(name), Some(provider)) => Some(provider.queue(name)),
            _ => None,
        };
        let recorder = self.name.map(|name| Box::new(Recorder::new(name)));
        WorkQueue::from_parts(Parts {
            limiter: self
                .limiter
                .unwrap_or_else(|| Arc::new(default_controller_rate_limiter())),
            tenant: self.tenant,
            told,
            timed: recorder.is_some(),
            hasher: DefaultHashBuilder::default(),
            state: State::new(self.rules, recorder),
        })
    }
}

impl<K> fmt::Debug for Builder<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
