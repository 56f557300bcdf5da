//! [`Journal`]: the recent runs and keys of a controller, bounded by [`KEYS`].

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{KEYS, KeyStatus, RunStatus, Trigger, TriggerCause, pending::Pending};
use crate::{clock::SharedClock, reconcile::Request};

/// The recent runs and keys of a controller.
#[derive(Default)]
pub(crate) struct Journal {
    clock: SharedClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The triggers of keys that have not started.
    pending: HashMap<Request, Pending>,
    /// The number of keys that wait for a retry.
    backoff: usize,
    /// The finished runs in order, without gaps: the last is number `runs`.
    ended: VecDeque<Run>,
    /// The number of the last remembered run of a key.
    keys: HashMap<Request, u64>,
    runs: u64,
    failures: u64,
    running: HashMap<Request, Instant>,
    last_end: Option<Instant>,
}

/// A finished run.
struct Run {
    request: Request,
    trigger: Option<Trigger>,
    result: String,
    failed: bool,
    ended: Timestamp,
    took: Duration,
}

impl State {
    /// Returns the number of the oldest remembered run.
    fn first(&self) -> u64 {
        self.runs + 1 - self.ended.len() as u64
    }

    /// Returns the last run of the request.
    fn last(&self, request: &Request) -> Option<&Run> {
        let number = self.keys.get(request)?;
        self.ended.get((number - self.first()) as usize)
    }
}

impl Journal {
    /// Returns an empty journal with times of this clock.
    pub(crate) fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    /// Returns the time by the clock of the cluster.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Notes that the request is about to be queued. Of a trigger that is due at once and one that is due later, the
    /// first is the cause of the next run.
    pub(crate) fn triggered(&self, request: &Request, trigger: Trigger) {
        let mut state = self.state.lock();
        let is_due = |pending: &Pending| !pending.trigger.cause.is_delayed();
        let delayed = trigger.cause.is_delayed();
        if delayed && state.pending.get(request).is_some_and(is_due) {
            return;
        }
        let backoff = trigger.cause == TriggerCause::Backoff;
        let was_backoff = match state.pending.get_mut(request) {
            Some(pending) => {
                let was_backoff = pending.trigger.cause == TriggerCause::Backoff;
                pending.merge(trigger);
                was_backoff
            }
            None => {
                state.pending.insert(request.clone(), Pending::new(trigger));
                false
            }
        };
        state.backoff = state.backoff + usize::from(backoff) - usize::from(was_backoff);
    }

    /// Notes that the request starts.
    pub(crate) fn begin(&self, request: &Request) -> Option<Pending> {
        let mut state = self.state.lock();
        let pending = state.pending.remove(request);
        if matches!(&pending, Some(pending) if pending.trigger.cause == TriggerCause::Backoff) {
            state.backoff -= 1;
        }
        state.running.insert(request.clone(), Instant::now());
        pending
    }

    /// Notes that the request has run.
    pub(crate) fn end(
        &self,
        request: &Request,
        trigger: Option<Trigger>,
        result: String,
        failed: bool,
        took: Duration,
    ) {
        let mut state = self.state.lock();
        state.runs += 1;
        state.failures += u64::from(failed);
        state.running.remove(request);
        state.last_end = Some(Instant::now());
        state.ended.push_back(Run {
            request: request.clone(),
            trigger,
            result,
            failed,
            ended: self.now(),
            took,
        });
        let number = state.runs;
        state.keys.insert(request.clone(), number);
        while state.ended.len() > 2 * KEYS || state.keys.len() > KEYS {
            let number = state.first();
            let Some(run) = state.ended.pop_front() else {
                break;
            };
            if state.keys.get(&run.request) == Some(&number) {
                state.keys.remove(&run.request);
            }
        }
    }

    /// Returns the number of requests that wait for a retry.
    pub(crate) fn backing_off(&self) -> usize {
        self.state.lock().backoff
    }

    /// Returns the number of remembered keys whose last run failed.
    pub(crate) fn failing(&self) -> usize {
        let state = self.state.lock();
        let first = state.first();
        let runs = state.keys.values().map(|number| (number - first) as usize);
        runs.filter(|&at| state.ended.get(at).is_some_and(|run| run.failed))
            .count()
    }

    /// Returns one of the requests that run or wait, with its last result: ` (default/a: error: …)`.
    pub(crate) fn example(&self) -> String {
        let state = self.state.lock();
        let Some(request) = state.running.keys().chain(state.pending.keys()).min() else {
            return String::new();
        };
        match state.last(request) {
            Some(run) => format!(" ({request}: {})", run.result),
            None => format!(" ({request})"),
        }
    }

    /// Returns when a request last ended.
    pub(crate) fn last_end(&self) -> Option<Instant> {
        self.state.lock().last_end
    }

    /// Returns the longest running request, and since when it runs.
    pub(crate) fn longest_running(&self) -> Option<(Request, Instant)> {
        let state = self.state.lock();
        let oldest = state.running.iter().min_by_key(|(_, since)| **since);
        oldest.map(|(request, since)| (request.clone(), *since))
    }

    /// Returns the keys, sorted; at most [`KEYS`] of those that wait. If there are more than `most`, returns only keys that run,
    /// wait or are due later, and only as many.
    pub(crate) fn keys(
        &self,
        most: usize,
        due: impl Fn(&Request) -> Option<Instant>,
    ) -> Vec<KeyStatus> {
        let now = Instant::now();
        let state = self.state.lock();
        let is_open = |request: &&Request| {
            state.running.contains_key(*request)
                || state.pending.contains_key(*request)
                || due(request).is_some()
        };
        let waiting = state.pending.keys().take(KEYS);
        let requests = state.keys.keys().chain(waiting).chain(state.running.keys());
        let mut requests: Vec<&Request> = match state.keys.len() > most {
            // Of the many keys that have ended, none is sorted or copied.
            true => requests.filter(is_open).collect(),
            false => requests.collect(),
        };
        requests.sort_unstable();
        requests.dedup();
        if requests.len() > most {
            requests.retain(is_open);
            requests.truncate(most);
        }
        let key = |request: &Request| {
            let run = state.last(request);
            KeyStatus {
                key: request.to_string(),
                last_trigger: run.and_then(|run| run.trigger.clone()),
                pending_trigger: state.pending.get(request).map(|it| it.trigger.clone()),
                last_result: run.map(|run| run.result.clone()),
                last_end: run.map(|run| run.ended),
                duration_seconds: run.map(|run| run.took.as_secs_f64()),
                running: state.running.contains_key(request),
                due_in_seconds: due(request)
                    .map(|at| at.saturating_duration_since(now).as_secs_f64()),
            }
        };
        requests.into_iter().map(key).collect()
    }

    /// Returns the number of runs, the number of failures, and at most `most` recent runs.
    pub(crate) fn runs(&self, most: usize) -> (u64, u64, Vec<RunStatus>) {
        let state = self.state.lock();
        let left_out = state.ended.len().saturating_sub(most);
        let numbers = state.first() + left_out as u64..;
        let recent = numbers.zip(state.ended.iter().skip(left_out));
        let recent = recent.map(|(number, run)| RunStatus {
            number,
            key: run.request.to_string(),
            trigger: run.trigger.clone(),
            result: run.result.clone(),
            failed: run.failed,
            end: run.ended,
            duration_seconds: run.took.as_secs_f64(),
        });
        (state.runs, state.failures, recent.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::RECENT, *};

    fn ran(journal: &Journal, name: &str) {
        let request = Request::cluster_scoped(name);
        let trigger = journal.begin(&request).map(|it| it.trigger);
        journal.end(&request, trigger, "done".into(), false, Duration::ZERO);
    }

    #[test]
    fn old_runs_are_forgotten() {
        let journal = Journal::default();
        for i in 0..KEYS + 10 {
            ran(&journal, &format!("k{i:05}"));
            ran(&journal, "k00000");
        }
        let keys = journal.keys(usize::MAX, |_| None);
        assert_eq!(keys.len(), KEYS);
        assert_eq!(keys[0].key, "k00000");
        assert_ne!(keys[1].key, "k00001");
        assert_eq!(keys[1].last_result.as_deref(), Some("done"));
    }

    #[test]
    fn of_many_keys_only_those_with_something_to_do_are_returned() {
        let journal = Journal::default();
        for i in 0..10 {
            ran(&journal, &format!("k{i}"));
        }
        assert_eq!(journal.keys(10, |_| None).len(), 10);
        let source: Arc<str> = "test".into();
        let trigger = Trigger::new(&source, TriggerCause::Updated, Timestamp::UNIX_EPOCH);
        journal.triggered(&Request::cluster_scoped("k3"), trigger);
        journal.begin(&Request::cluster_scoped("new"));
        let due = |request: &Request| (request.name() == "k1").then(Instant::now);
        let names = |most: usize| {
            let keys = journal.keys(most, due);
            keys.into_iter().map(|key| key.key).collect::<Vec<_>>()
        };
        assert_eq!(names(10), ["k1", "k3", "new"]);
        assert_eq!(names(9), ["k1", "k3", "new"]);
        assert_eq!(names(2), ["k1", "k3"]);
    }

    #[test]
    fn runs_are_counted_and_the_last_is_listed() {
        let journal = Journal::default();
        assert_eq!(journal.runs(RECENT).0, 0);
        let request = Request::cluster_scoped("bad");
        journal.end(&request, None, "error: no".into(), true, Duration::ZERO);
        for i in 1..2 * KEYS + 10 {
            ran(&journal, &format!("k{i:05}"));
        }
        let (runs, failures, recent) = journal.runs(RECENT);
        assert_eq!((runs, failures), (2 * KEYS as u64 + 10, 1));
        assert_eq!(recent.len(), RECENT);
        assert_eq!(recent[0].number, runs - RECENT as u64 + 1);
        let last = &recent[RECENT - 1];
        assert_eq!((last.number, last.key.as_str()), (runs, "k02009"));
    }

    #[test]
    fn an_event_during_a_run_is_the_cause_of_the_next_one() {
        let journal = Journal::default();
        let request = Request::cluster_scoped("a");
        let source: Arc<str> = "test".into();
        let trigger =
            |cause| journal.triggered(&request, Trigger::new(&source, cause, journal.now()));
        let cause = || journal.begin(&request).unwrap().trigger.cause;
        journal.begin(&request);
        trigger(TriggerCause::Updated);
        // The run ends, and the reconciler asks to be called again later.
        trigger(TriggerCause::Requeue);
        assert_eq!(cause(), TriggerCause::Updated);
        trigger(TriggerCause::Requeue);
        assert_eq!(cause(), TriggerCause::Requeue);
        trigger(TriggerCause::Requeue);
        trigger(TriggerCause::Updated);
        assert_eq!(cause(), TriggerCause::Updated);
    }

    #[test]
    fn a_failure_waits_until_it_runs_again_or_something_else_asks() {
        let journal = Journal::default();
        let request = Request::cluster_scoped("a");
        let source: Arc<str> = "test".into();
        let trigger =
            |cause| journal.triggered(&request, Trigger::new(&source, cause, journal.now()));
        trigger(TriggerCause::Backoff);
        trigger(TriggerCause::Backoff);
        assert_eq!(journal.backing_off(), 1);
        trigger(TriggerCause::Updated);
        assert_eq!(journal.backing_off(), 0);
        trigger(TriggerCause::Backoff);
        journal.begin(&request);
        assert_eq!(journal.backing_off(), 0);
    }
}
