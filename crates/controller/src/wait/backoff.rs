//! [`Backoff`]: growing delays, with the semantics of apimachinery's `wait.Backoff`.

use std::time::Duration;

use tokio::time::sleep;

use super::WaitError;

/// The delays between attempts.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::wait::Backoff;
///
/// let mut backoff = Backoff {
///     duration: Duration::from_millis(10),
///     factor: 2.0,
///     jitter: 0.0,
///     steps: 3,
///     cap: None,
/// };
/// assert_eq!(backoff.step(), Duration::from_millis(10));
/// assert_eq!(backoff.step(), Duration::from_millis(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The next delay.
    pub duration: Duration,
    /// The factor that each delay is multiplied with. Zero keeps the delay.
    pub factor: f64,
    /// The maximum jitter, as a fraction of the delay.
    pub jitter: f64,
    /// The number of steps. After the last one the delay does not grow any more.
    pub steps: u32,
    /// The maximum delay, without jitter. Reaching it ends the steps.
    pub cap: Option<Duration>,
}

/// Calls `ask` until it returns something, at most as often as there are steps, with growing delays.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::time::Duration;
/// use kubewright_controller::wait::{Backoff, exponential_backoff};
///
/// let backoff = Backoff {
///     duration: Duration::from_millis(100),
///     factor: 2.0,
///     jitter: 0.0,
///     steps: 5,
///     cap: None,
/// };
/// let mut attempts = 0;
/// let third = exponential_backoff(backoff, async || {
///     attempts += 1;
///     Ok::<_, std::io::Error>((attempts == 3).then_some(attempts))
/// });
/// assert_eq!(third.await.unwrap(), 3);
/// # });
/// ```
///
/// # Errors
///
/// Fails with the first error of `ask`, or with a timeout after the last step.
pub async fn exponential_backoff<T, E>(
    mut backoff: Backoff,
    mut ask: impl AsyncFnMut() -> Result<Option<T>, E>,
) -> Result<T, WaitError<E>> {
    while backoff.steps > 0 {
        if let Some(done) = ask().await? {
            return Ok(done);
        }
        if backoff.steps == 1 {
            break;
        }
        sleep(backoff.step()).await;
    }
    Err(WaitError::Timeout)
}

impl Backoff {
    /// Returns the next delay, and uses up one step.
    pub fn step(&mut self) -> Duration {
        let step = jittered(self.duration, self.jitter);
        if self.steps == 0 {
            return step;
        }
        self.steps -= 1;
        if self.factor != 0.0 {
            let next = self.duration.as_secs_f64() * self.factor;
            let next = Duration::try_from_secs_f64(next).unwrap_or(Duration::MAX);
            match self.cap.filter(|cap| !cap.is_zero() && next > *cap) {
                Some(cap) => {
                    self.duration = cap;
                    self.steps = 0;
                }
                None => self.duration = next,
            }
        }
        step
    }
}

fn jittered(duration: Duration, factor: f64) -> Duration {
    if factor <= 0.0 {
        return duration;
    }
    let seconds = duration.as_secs_f64() * (1.0 + rand::random::<f64>() * factor);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn backoff(steps: u32, cap: Option<u64>) -> Backoff {
        Backoff {
            duration: Duration::from_secs(1),
            factor: 2.0,
            jitter: 0.0,
            steps,
            cap: cap.map(Duration::from_secs),
        }
    }

    fn steps(mut backoff: Backoff, n: usize) -> Vec<u64> {
        (0..n).map(|_| backoff.step().as_secs()).collect()
    }

    #[test]
    fn steps_grow_until_there_are_none_left() {
        assert_eq!(steps(backoff(3, None), 5), [1, 2, 4, 8, 8]);
        assert_eq!(steps(backoff(10, Some(5)), 5), [1, 2, 4, 5, 5]);
        let still = Backoff {
            factor: 0.0,
            ..backoff(2, None)
        };
        assert_eq!(steps(still, 3), [1, 1, 1]);
    }

    #[test]
    fn reaching_the_cap_ends_the_steps() {
        let mut capped = backoff(10, Some(3));
        capped.step();
        capped.step();
        assert_eq!(capped.steps, 0);
    }

    #[test]
    fn jitter_only_adds() {
        let mut spread = Backoff {
            jitter: 0.5,
            factor: 1.0,
            ..backoff(1000, None)
        };
        for _ in 0..1000 {
            let step = spread.step().as_secs_f64();
            assert!((1.0..1.5).contains(&step), "{step}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_are_as_many_as_steps() {
        let start = Instant::now();
        let mut tries = 0;
        let tried = exponential_backoff(backoff(4, None), async || {
            tries += 1;
            Ok::<Option<()>, &str>(None)
        });
        assert_eq!(tried.await, Err(WaitError::Timeout));
        assert_eq!((tries, start.elapsed().as_secs()), (4, 1 + 2 + 4));
    }
}
