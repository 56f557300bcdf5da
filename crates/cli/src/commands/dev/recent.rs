//! The recent events of the live view. Repetitions of a failure are one entry.

use std::{collections::VecDeque, time::Duration};

use super::event::DevEvent;

/// The number of events that are kept.
const KEPT: usize = 500;

/// An event, and how often it happened.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The time of the last occurrence.
    pub(super) at: Duration,
    pub(super) event: DevEvent,
    pub(super) count: u64,
}

/// The recent events, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(VecDeque<Entry>);

impl Recent {
    /// Adds an event. The same failure of the same key, and the same outcome in succession, are counted instead. Returns
    /// how often it happened.
    pub(super) fn push(&mut self, at: Duration, event: DevEvent) -> u64 {
        let found = match event.is_failure() {
            true => self.0.iter().rposition(|entry| entry.event.repeats(&event)),
            false => {
                let last = self.0.back();
                let repeats = last.is_some_and(|entry| entry.event.repeats(&event));
                repeats.then(|| self.0.len() - 1)
            }
        };
        let before = found.and_then(|at| self.0.remove(at));
        let count = before.map_or(0, |entry| entry.count) + 1;
        self.0.push_back(Entry { at, event, count });
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
        count
    }

    /// Returns the events, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(key: &str, result: &str, failed: bool) -> DevEvent {
        DevEvent::Reconcile {
            controller: "captain".into(),
            key: key.into(),
            trigger: "retry".into(),
            result: result.into(),
            seconds: 0.001,
            failed,
        }
    }

    #[test]
    fn one_failure_is_one_entry_however_often_it_is_retried() {
        let mut recent = Recent::default();
        let second = Duration::from_secs(1);
        recent.push(second, run("default/a", "error: no", true));
        recent.push(second, run("default/b", "done", false));
        let again = recent.push(2 * second, run("default/a", "error: no", true));
        recent.push(3 * second, run("default/a", "error: still no", true));
        assert_eq!(again, 2);
        let entries: Vec<(u64, u64)> = recent
            .newest_first()
            .map(|entry| (entry.at.as_secs(), entry.count))
            .collect();
        assert_eq!(entries, [(3, 1), (2, 2), (1, 1)]);
    }

    #[test]
    fn successes_are_counted_only_in_succession() {
        let mut recent = Recent::default();
        for key in ["default/a", "default/a", "default/b", "default/a"] {
            recent.push(Duration::ZERO, run(key, "done", false));
        }
        let counts: Vec<u64> = recent.newest_first().map(|entry| entry.count).collect();
        assert_eq!(counts, [1, 1, 2]);
    }
}
