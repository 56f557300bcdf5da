//! [`Action`]: the result of a successful reconcile.

use std::time::Duration;

/// The result of a successful reconcile.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::Action;
///
/// # fn ready() -> bool { true }
/// let action = Action::requeue_if(!ready(), Duration::from_secs(30));
/// assert_eq!(action, Action::done());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Action {
    pub(crate) next: Next,
    pub(crate) priority: Option<i32>,
}

/// The time of the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Done,
    Requeue,
    After(Duration),
}

impl Action {
    /// Finishes; the object is reconciled again on the next event.
    pub fn done() -> Self {
        Self::default()
    }

    /// Reconciles again with growing delays: after 5 ms, 10 ms, 20 ms and so on.
    pub fn requeue() -> Self {
        Self {
            next: Next::Requeue,
            priority: None,
        }
    }

    /// Reconciles again after that time, or sooner on an event.
    pub fn requeue_after(after: Duration) -> Self {
        Self {
            next: Next::After(after),
            priority: None,
        }
    }

    /// Reconciles again after that time if the condition holds; otherwise finishes.
    pub fn requeue_if(condition: bool, after: Duration) -> Self {
        match condition {
            true => Self::requeue_after(after),
            false => Self::done(),
        }
    }

    /// Sets the priority of the next run. Defaults to the current one.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }
}
