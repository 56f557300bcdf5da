//! Waiting: polling, backoff, and waiting for the state or the deletion of an object.
//!
//! Time is tokio's. Waiting for an object watches it; nothing is polled.
//!
//! | item | purpose |
//! |---|---|
//! | [`poll_until`] | asks at fixed intervals |
//! | [`exponential_backoff`] | asks at growing intervals |
//! | [`wait_for`], [`wait_for_deletion`], [`wait_for_status_condition`] | watch an object |

use std::time::Duration;

use kube::core::Status;
use kubewright_client::ErrorExt;
use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

pub(crate) mod backoff;
pub(crate) mod object;

pub use backoff::{Backoff, exponential_backoff};
pub use object::{wait_for, wait_for_deletion, wait_for_status_condition};

/// The error of a wait.
///
/// ```
/// use kube::core::Status;
/// use kubewright_controller::{ErrorExt, wait::WaitError};
///
/// let status = Status::failure("pods is forbidden", "Forbidden").with_code(403);
/// let error = WaitError::Failed(kube::Error::Api(Box::new(status)));
/// assert!(error.is_forbidden());
/// assert!(!WaitError::<kube::Error>::Timeout.is_forbidden());
/// ```
#[derive(Debug, Error, PartialEq)]
pub enum WaitError<E> {
    /// The time is over.
    #[error("timed out waiting for the condition")]
    Timeout,
    /// Waiting failed.
    #[error(transparent)]
    Failed(#[from] E),
}

impl<E: ErrorExt> ErrorExt for WaitError<E> {
    fn api_status(&self) -> Option<&Status> {
        match self {
            Self::Timeout => None,
            Self::Failed(error) => error.api_status(),
        }
    }
}

/// Calls `ask` at once and then at every interval, until it returns something.
///
/// # Errors
///
/// Fails with the first error of `ask`, or with a timeout.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use std::{convert::Infallible, time::Duration};
/// use kubewright_controller::wait::poll_until;
///
/// let mut asked = 0;
/// let done = poll_until(Duration::from_millis(1), Duration::from_secs(5), async || {
///     asked += 1;
///     Ok::<_, Infallible>((asked == 3).then_some("third time lucky"))
/// });
/// assert_eq!(done.await, Ok("third time lucky"));
/// # });
/// ```
pub async fn poll_until<T, E>(
    interval: Duration,
    limit: Duration,
    mut ask: impl AsyncFnMut() -> Result<Option<T>, E>,
) -> Result<T, WaitError<E>> {
    let period = interval.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let polling = async {
        loop {
            if let Some(done) = ask().await? {
                return Ok(done);
            }
            ticks.tick().await;
        }
    };
    timeout(limit, polling)
        .await
        .unwrap_or(Err(WaitError::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn polling_asks_at_once_and_ends_in_time() {
        let start = Instant::now();
        let mut at = Vec::new();
        let second = Duration::from_secs(1);
        let polled = poll_until(second, 3 * second + second / 2, async || {
            at.push(start.elapsed().as_secs());
            Ok::<Option<()>, &str>(None)
        });
        assert_eq!(polled.await, Err(WaitError::Timeout));
        assert_eq!(at, [0, 1, 2, 3]);
        assert_eq!(start.elapsed(), 3 * second + second / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_ends_the_polling() {
        let polled = poll_until(Duration::from_secs(1), Duration::from_secs(9), async || {
            Err::<Option<()>, _>("broken")
        });
        assert_eq!(polled.await, Err(WaitError::Failed("broken")));
    }
}
