//! Waiting: polling, backoff, and for an object to be in a state or gone.
//!
//! Time is tokio's. Waiting for an object watches it; nothing is polled.
//!
//! | module | what it holds |
//! |---|---|
//! | [`backoff`] | [`Backoff`]: steps that grow |
//! | [`object`] | [`wait_for`], [`wait_for_deletion`], [`wait_for_status_condition`] |

use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

pub mod backoff;
pub mod object;

pub use backoff::{Backoff, exponential_backoff};
pub use object::{wait_for, wait_for_deletion, wait_for_status_condition};

/// Why waiting ended without success.
#[derive(Debug, Error, PartialEq)]
pub enum WaitError<E> {
    /// It took too long.
    #[error("timed out waiting for the condition")]
    Timeout,
    /// It cannot come any more.
    #[error(transparent)]
    Failed(#[from] E),
}

/// Asks at once and then at every interval, until there is something or the time is over. An error ends it.
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
