//! [`Pace`]: rests between passes over large sets.

use std::{collections::HashMap, time::Duration};

use kubewright_controller::Request;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// The rest after a pass, for each pod that it looked at.
const REST: Duration = Duration::from_micros(15);

/// The shortest rest worth taking.
const LEAST: Duration = Duration::from_millis(1);

/// Rests between passes over large sets.
///
/// A pass looks at all pods of its set, and every pod causes several events. Without rests, the controller of a set that grows
/// to thousands of pods would look at all of them all the time. The events that arrive during a rest cause one pass.
#[derive(Default)]
pub(crate) struct Pace(Mutex<HashMap<Request, Instant>>);

impl Pace {
    /// Waits until the rest after the previous pass is over.
    pub(crate) async fn rest(&self, request: &Request) {
        let until = self.0.lock().remove(request);
        if let Some(until) = until {
            sleep_until(until).await;
        }
    }

    /// Notes the number of pods that a pass has looked at.
    pub(crate) fn looked_at(&self, request: &Request, pods: usize) {
        let rest = REST * u32::try_from(pods).unwrap_or(u32::MAX);
        if rest >= LEAST {
            self.0.lock().insert(request.clone(), Instant::now() + rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pass_over_many_pods_is_followed_by_a_rest() {
        let pace = Pace::default();
        let (large, small) = (Request::new("shop", "large"), Request::new("shop", "small"));
        let began = Instant::now();
        pace.looked_at(&large, 10_000);
        pace.looked_at(&small, 50);
        pace.rest(&small).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        pace.rest(&large).await;
        assert_eq!(began.elapsed(), REST * 10_000);
        pace.rest(&large).await;
        assert_eq!(began.elapsed(), REST * 10_000);
    }
}
