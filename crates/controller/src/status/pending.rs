//! [`Pending`]: the triggers of a run that has not started.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Trigger;

/// The number of triggers that are kept of a run: the first and the newest.
const TRIGGERS: usize = 8;

/// The triggers of a run that has not started.
pub(crate) struct Pending {
    /// The cause of the run: of several, the last that was due at once.
    pub(crate) trigger: Trigger,
    /// The first trigger and the newest.
    pub(crate) all: Vec<Trigger>,
    /// The number of further triggers.
    pub(crate) dropped: u64,
    /// The time of the first.
    pub(crate) since: Timestamp,
    from: Instant,
}

impl Pending {
    pub(super) fn new(trigger: Trigger) -> Self {
        Self {
            since: trigger.at,
            all: vec![trigger.clone()],
            trigger,
            dropped: 0,
            from: Instant::now(),
        }
    }

    /// Adds a trigger. A delayed run that something else makes due at once is forgotten.
    pub(super) fn merge(&mut self, trigger: Trigger) {
        if self.trigger.cause.is_delayed() {
            *self = Self::new(trigger);
            return;
        }
        if self.all.len() == TRIGGERS {
            self.all.remove(1);
            self.dropped += 1;
        }
        self.all.push(trigger.clone());
        self.trigger = trigger;
    }

    /// Returns how long the run has been due. That of a delayed one is not known, and counts as zero.
    pub(crate) fn waited(&self) -> Duration {
        match self.trigger.cause.is_delayed() {
            true => Duration::ZERO,
            false => self.from.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::TriggerCause, *};

    #[tokio::test]
    async fn the_first_trigger_and_the_newest_are_kept() {
        let trigger = |source: usize, cause| {
            Trigger::new(&source.to_string().into(), cause, Timestamp::UNIX_EPOCH)
        };
        let mut pending = Pending::new(trigger(99, TriggerCause::Backoff));
        for source in 0..20 {
            pending.merge(trigger(source, TriggerCause::Updated));
        }
        let sources: Vec<&str> = pending.all.iter().map(|it| &*it.source).collect();
        assert_eq!(sources, ["0", "13", "14", "15", "16", "17", "18", "19"]);
        assert_eq!(pending.dropped, 12);
        assert_eq!(&*pending.trigger.source, "19");
    }
}
