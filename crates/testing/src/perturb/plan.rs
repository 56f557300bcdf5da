//! The perturbations and their positions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::RangeInclusive,
};

use kubewright_cluster::WebhookFault;

/// The maximum number of webhook calls that are disturbed in each way.
const MOST_CALLS: usize = 16;

/// A perturbation of a run.
///
/// Writes are counted from 1, over all clients of the program, without leases and events. Steps are the parts of the
/// story between its pauses, counted from 0. Webhook calls are counted from 1: those of the program's requests, and those of the
/// story's requests except conversions. A request of the story that fails because of a webhook is repeated at once, as a user
/// would do; the program has to repeat its own.
///
/// ```
/// use kubewright_testing::Perturbation;
///
/// let crash = Perturbation::Crash { after_write: 2 };
/// assert_eq!(crash.to_string(), "crash after write 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Perturbation {
    /// The program dies after a write: the write is done, but its response is lost. Zero means that it dies instead of
    /// the first write. It restarts at once with empty caches.
    Crash {
        /// The number of writes before the crash.
        after_write: usize,
    },
    /// The program is down during a step, and starts after it.
    Down {
        /// The step.
        step: usize,
    },
    /// Watches lag behind by a number of events. An event gets through when that many have followed it, or after some
    /// seconds without another.
    StaleCache {
        /// The number of events that are held back.
        events: usize,
    },
    /// The program misses the state after a step: its watches are silent during that step and the next, and then it
    /// lists again.
    Skipped {
        /// The step.
        step: usize,
    },
    /// The program loses its lease during a reconcile: after a write it can no longer renew, and gets no response until
    /// a second program leads. Any later write of the first one is a failure.
    LeaseLost {
        /// The number of writes before the loss.
        after_write: usize,
    },
    /// Every webhook call takes almost a second, the shortest timeout of a webhook. Used only if the undisturbed run calls
    /// webhooks.
    SlowWebhooks,
    /// The webhook is unreachable for one call. With the failure policy `Fail`, the request fails with 500; with `Ignore`, it
    /// succeeds without the webhook. A conversion fails.
    WebhookDown {
        /// The call.
        call: usize,
    },
    /// The response to one webhook call is not a review. The consequences are those of an unreachable webhook.
    WebhookWrong {
        /// The call.
        call: usize,
    },
    /// The webhook denies one request with 403, whatever its failure policy, or refuses one conversion.
    WebhookDenied {
        /// The call.
        call: usize,
    },
}

impl Perturbation {
    /// Returns the fault of a webhook call, and the number of the call.
    pub(super) fn webhook_fault(self) -> Option<(usize, WebhookFault)> {
        match self {
            Self::WebhookDown { call } => Some((call, WebhookFault::Down)),
            Self::WebhookWrong { call } => Some((call, WebhookFault::Wrong("{}".to_owned()))),
            Self::WebhookDenied { call } => {
                Some((call, WebhookFault::Denied("denied by the test".to_owned())))
            }
            _ => None,
        }
    }
}

/// The properties of an undisturbed run.
pub(super) struct Measures {
    pub(super) writes: usize,
    pub(super) pauses: usize,
    pub(super) webhook_calls: usize,
    /// The paths of the webhook calls that can fail, in order.
    pub(super) webhook_paths: Vec<String>,
    pub(super) stale_by: RangeInclusive<usize>,
    pub(super) election: bool,
    pub(super) at_most: usize,
}

impl Measures {
    /// Returns all perturbations.
    pub(super) fn plan(&self) -> Vec<Perturbation> {
        let mut plan = Vec::new();
        plan.extend(
            self.spread(0..=self.writes)
                .map(|after_write| Perturbation::Crash { after_write }),
        );
        plan.extend(
            self.spread(0..=self.pauses)
                .map(|step| Perturbation::Down { step }),
        );
        plan.extend(
            self.spread(self.stale_by.clone())
                .map(|events| Perturbation::StaleCache { events }),
        );
        if let Some(last) = self.pauses.checked_sub(1) {
            let steps = self.spread(0..=last);
            plan.extend(steps.map(|step| Perturbation::Skipped { step }));
        }
        if self.election {
            let writes = self.spread(1..=self.writes);
            plan.extend(writes.map(|after_write| Perturbation::LeaseLost { after_write }));
        }
        if self.webhook_calls > 0 {
            plan.push(Perturbation::SlowWebhooks);
        }
        let calls = self.calls();
        let at = |fault: fn(usize) -> Perturbation| calls.iter().map(move |call| fault(*call));
        plan.extend(at(|call| Perturbation::WebhookDown { call }));
        plan.extend(at(|call| Perturbation::WebhookWrong { call }));
        plan.extend(at(|call| Perturbation::WebhookDenied { call }));
        plan
    }

    /// Picks the first and the last call of each webhook, or a sample of them.
    fn calls(&self) -> Vec<usize> {
        let mut ends: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (path, call) in self.webhook_paths.iter().zip(1..) {
            ends.entry(path).or_insert((call, call)).1 = call;
        }
        let calls: BTreeSet<usize> = ends.into_values().flat_map(<[usize; 2]>::from).collect();
        let Some(last) = calls.len().checked_sub(1) else {
            return Vec::new();
        };
        let calls: Vec<usize> = calls.into_iter().collect();
        let picked = spread(0..=last, self.at_most.min(MOST_CALLS));
        picked.map(|i| calls[i]).collect()
    }

    fn spread(&self, range: RangeInclusive<usize>) -> impl Iterator<Item = usize> + use<> {
        spread(range, self.at_most)
    }
}

/// Picks at most `n` values of a range, including the first and the last.
fn spread(range: RangeInclusive<usize>, n: usize) -> impl Iterator<Item = usize> {
    let (first, count) = (*range.start(), range.count());
    let most = n.min(count);
    (0..most).map(move |i| match most {
        0 | 1 => first,
        _ => first + i * (count - 1) / (most - 1),
    })
}

impl fmt::Display for Perturbation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { after_write: 0 } => write!(f, "crash before the first write"),
            Self::Crash { after_write } => write!(f, "crash after write {after_write}"),
            Self::Down { step } => write!(f, "down during step {step}"),
            Self::StaleCache { events } => write!(f, "caches {events} events behind"),
            Self::Skipped { step } => write!(f, "state after step {step} missed"),
            Self::LeaseLost { after_write } => {
                write!(f, "lease lost after write {after_write}")
            }
            Self::SlowWebhooks => write!(f, "slow webhooks"),
            Self::WebhookDown { call } => write!(f, "webhook down at call {call}"),
            Self::WebhookWrong { call } => write!(f, "wrong answer to webhook call {call}"),
            Self::WebhookDenied { call } => write!(f, "denial at webhook call {call}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(writes: usize, at_most: usize) -> Measures {
        Measures {
            writes,
            pauses: 2,
            webhook_calls: 0,
            webhook_paths: Vec::new(),
            stale_by: 1..=3,
            election: true,
            at_most,
        }
    }

    #[test]
    fn every_position_between_two_writes_is_tried() {
        let plan = measures(3, 64).plan();
        for after_write in 0..=3 {
            assert!(plan.contains(&Perturbation::Crash { after_write }));
        }
        for step in 0..=2 {
            assert!(plan.contains(&Perturbation::Down { step }));
        }
        assert!(plan.contains(&Perturbation::Skipped { step: 1 }));
        assert!(!plan.contains(&Perturbation::Skipped { step: 2 }));
        assert!(!plan.contains(&Perturbation::LeaseLost { after_write: 0 }));
        assert_eq!(plan.len(), 4 + 3 + 3 + 2 + 3);
    }

    #[test]
    fn too_many_positions_are_sampled_with_first_and_last() {
        let plan = measures(1000, 5).plan();
        let crashes: Vec<usize> = plan
            .iter()
            .filter_map(|p| match p {
                Perturbation::Crash { after_write } => Some(*after_write),
                _ => None,
            })
            .collect();
        assert_eq!(crashes, [0, 250, 500, 750, 1000]);
    }

    #[test]
    fn webhooks_are_slowed_down_if_they_are_called() {
        let mut measures = measures(1, 64);
        assert!(!measures.plan().contains(&Perturbation::SlowWebhooks));
        measures.webhook_calls = 1;
        assert!(measures.plan().contains(&Perturbation::SlowWebhooks));
    }

    #[test]
    fn the_first_and_the_last_call_of_each_webhook_fail_in_each_way() {
        let mut measures = measures(1, 64);
        let paths = ["/mutate", "/validate", "/mutate", "/mutate", "/convert"];
        measures.webhook_paths = paths.map(str::to_owned).to_vec();
        assert_eq!(measures.calls(), [1, 2, 4, 5]);
        let plan = measures.plan();
        for call in [1, 2, 4, 5] {
            assert!(plan.contains(&Perturbation::WebhookDown { call }));
            assert!(plan.contains(&Perturbation::WebhookWrong { call }));
            assert!(plan.contains(&Perturbation::WebhookDenied { call }));
        }
        assert!(!plan.contains(&Perturbation::WebhookDown { call: 3 }));
    }

    #[test]
    fn many_webhooks_are_sampled() {
        let mut measures = measures(1, 64);
        measures.webhook_paths = (0..1000).map(|i| format!("/validate-{i}")).collect();
        let calls = measures.calls();
        assert_eq!(calls.len(), MOST_CALLS);
        assert_eq!((calls.first(), calls.last()), (Some(&1), Some(&1000)));
        measures.at_most = 2;
        assert_eq!(measures.calls(), [1, 1000]);
    }

    #[test]
    fn a_program_that_writes_nothing_is_perturbed_too() {
        let plan = measures(0, 64).plan();
        assert!(plan.contains(&Perturbation::Crash { after_write: 0 }));
        assert!(
            !plan
                .iter()
                .any(|p| matches!(p, Perturbation::LeaseLost { .. }))
        );
    }
}
