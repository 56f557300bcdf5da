//! What can be said with an add, beyond the key.

use std::time::Duration;

/// How a key is added.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{AddOptions, DelayPolicy, WorkQueue};
///
/// let queue = WorkQueue::new();
/// // Later, behind everything of normal priority.
/// queue.add_with("pod-1", AddOptions::new().priority(-100).after(Duration::from_secs(60)));
/// // No, sooner; and whatever was said before does not count.
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

/// Which of two delayed adds of the same key counts.
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
    /// Now, with priority 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Higher goes first. A key that is queued already keeps the higher of both, at the end of that level.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Not before that time has passed.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = Some(delay);
        self
    }

    /// Not before the limiter's delay has passed. With [`after`](Self::after) as well, the shorter of both counts.
    pub fn rate_limited(mut self) -> Self {
        self.rate_limited = true;
        self
    }

    /// What to do with a delayed add of the same key that is not due yet.
    pub fn policy(mut self, policy: DelayPolicy) -> Self {
        self.policy = policy;
        self
    }
}
