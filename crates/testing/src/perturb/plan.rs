//! The perturbations and their positions.

use std::{fmt, ops::RangeInclusive};

/// A perturbation of a run.
///
/// Writes are counted from 1, over all clients of the program, without leases and events. Steps are the parts of the
/// story between its pauses, counted from 0.
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
}

/// The properties of an undisturbed run.
pub(super) struct Measures {
    pub(super) writes: usize,
    pub(super) pauses: usize,
    pub(super) webhook_calls: usize,
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
        plan
    }

    /// Picks at most `n` values of a range, including the first and the last.
    fn spread(&self, range: RangeInclusive<usize>) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (*range.start(), range.count());
        let most = self.at_most.min(count);
        (0..most).map(move |i| match most {
            0 | 1 => first,
            _ => first + i * (count - 1) / (most - 1),
        })
    }
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
