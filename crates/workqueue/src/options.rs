//! [`AddOptions`]: priority, delay and rate limit of an add.

use std::time::Duration;

/// The options of an add.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{AddOptions, DelayPolicy, WorkQueue};
///
/// let queue = WorkQueue::new();
/// // Later, behind everything of normal priority.
/// queue.add_with("pod-1", AddOptions::new().priority(-100).after(Duration::from_secs(60)));
/// // Sooner after all; replaces the add before.
/// queue.add_with(
///     "pod-1",
///     AddOptions::new().after(Duration::from_secs(1)).policy(DelayPolicy::Replace),
/// );
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct AddOptions {
    pub(crate) priority: i32,
    pub(crate) after: Option<Duration>,
    pub(crate) rate_limited: bool,
    pub(crate) policy: DelayPolicy,
}

/// Decides which of two delayed adds of the same key counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayPolicy {
    /// The one that is due first, as in client-go. The higher priority is kept.
    #[default]
    Earliest,
    /// The one that is due last. The higher priority is kept.
    Latest,
    /// The new one, with its priority.
    Replace,
}

impl AddOptions {
    /// Creates the options of an immediate add with priority 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the priority; higher goes first. A key that is queued already keeps the higher one, at the end of that
    /// level.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Delays the add.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = Some(delay);
        self
    }

    /// Delays the add by the limiter's delay. If [`after`](Self::after) is set as well, the shorter delay counts.
    pub fn rate_limited(mut self) -> Self {
        self.rate_limited = true;
        self
    }

    /// Sets what happens to a delayed add of the same key that is not due yet.
    pub fn policy(mut self, policy: DelayPolicy) -> Self {
        self.policy = policy;
        self
    }
}
