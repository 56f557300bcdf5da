//! [`Finished`]: the runs of a manager that have ended, with bounds.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::core::ApiResource;
use kubewright_ledger::Run;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{links::Links, record::Record};
use crate::{
    clock::SharedClock,
    metrics::ControllerMetrics,
    reconcile::{ReconcileId, Request},
    status::{Pending, Trigger},
};

/// The number of runs that are kept for readers.
const MAX_RUNS: usize = 2000;

/// The memory that they may take.
const MAX_BYTES: usize = 16 << 20;

/// The memory of the runs that are returned at once, so that a report has less than the 4 MiB that a server takes.
const MAX_REPORT: usize = 1 << 20;

/// The longest result that is kept, in characters.
const MAX_RESULT: usize = 4096;

/// The runs of a manager that have ended. Clones share them.
#[derive(Clone)]
pub(crate) struct Finished(Arc<Shared>);

struct Shared {
    manager: String,
    clock: SharedClock,
    state: Mutex<State>,
    links: Links,
}

#[derive(Default)]
struct State {
    runs: VecDeque<(Arc<Run>, usize)>,
    last: u64,
    bytes: usize,
    /// The number of runs that have begun.
    begun: u64,
}

/// The end of a run.
pub(crate) struct Outcome<'a> {
    pub(crate) controller: &'a str,
    pub(crate) main: Option<&'a ApiResource>,
    pub(crate) request: &'a Request,
    pub(crate) id: ReconcileId,
    pub(crate) attempt: usize,
    pub(crate) pending: Option<Pending>,
    pub(crate) start: Timestamp,
    pub(crate) queued_for: Duration,
    pub(crate) took: Duration,
    pub(crate) result: &'a str,
    pub(crate) failed: bool,
    pub(crate) metrics: &'a ControllerMetrics,
}

impl Finished {
    /// Creates an empty list for a manager of that name.
    pub(crate) fn new(name: &str, clock: SharedClock) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        Self(Arc::new(Shared {
            manager: format!("{name}-{}", &id[..6]),
            clock,
            state: Mutex::default(),
            links: Links::default(),
        }))
    }

    /// Returns the id of the manager.
    pub(crate) fn manager(&self) -> &str {
        &self.0.manager
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Begins the record of a run.
    pub(crate) fn begin(&self, controller: &str) -> Arc<Record> {
        let number = {
            let mut state = self.0.state.lock();
            state.begun += 1;
            state.begun
        };
        let shared = &self.0;
        let (clock, links) = (shared.clock.clone(), shared.links.clone());
        Record::new(&shared.manager, controller, number, clock, links)
    }

    /// Links the span of a run to those of the runs whose writes triggered it.
    pub(crate) fn link(&self, span: &tracing::Span, pending: &Pending) {
        self.0.links.link(span, pending);
    }

    /// Adds a run that has ended.
    pub(crate) fn end(&self, record: &Record, outcome: Outcome<'_>) {
        let noted = record.take();
        let (triggers, triggers_dropped, queued) = match outcome.pending {
            Some(pending) => {
                let triggers = pending.all.iter().map(Trigger::to_ledger).collect();
                (triggers, pending.dropped, Some(pending.since))
            }
            None => (Vec::new(), 0, None),
        };
        let run = Run {
            number: 0,
            id: record.id.clone(),
            manager: self.0.manager.clone(),
            controller: outcome.controller.to_owned(),
            run: record.number,
            group: outcome.main.map_or_else(String::new, |it| it.group.clone()),
            resource: outcome
                .main
                .map_or_else(String::new, |it| it.plural.clone()),
            key: outcome.request.to_string(),
            reconcile_id: outcome.id.to_string(),
            attempt: outcome.attempt,
            queued,
            start: outcome.start,
            end: self.now(),
            queue_seconds: outcome.queued_for.as_secs_f64(),
            duration_seconds: outcome.took.as_secs_f64(),
            result: outcome.result.chars().take(MAX_RESULT).collect(),
            failed: outcome.failed,
            triggers,
            triggers_dropped,
            requests: noted.requests,
            requests_dropped: noted.requests_dropped,
            log: noted.log,
            log_dropped: noted.log_dropped,
        };
        outcome.metrics.ran(&run);
        self.push(run);
    }

    fn push(&self, mut run: Run) {
        let size = run.size();
        let mut state = self.0.state.lock();
        state.last += 1;
        run.number = state.last;
        state.bytes += size;
        state.runs.push_back((Arc::new(run), size));
        while state.runs.len() > MAX_RUNS || (state.bytes > MAX_BYTES && state.runs.len() > 1) {
            let Some((_, size)) = state.runs.pop_front() else {
                break;
            };
            state.bytes -= size;
        }
    }

    /// Returns the number of the last run; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.0.state.lock().last
    }

    /// Returns the runs with a greater number, oldest first.
    pub(crate) fn after(&self, number: u64, most: usize) -> Vec<Run> {
        let state = self.0.state.lock();
        let mut bytes = 0;
        let newer = state.runs.iter().filter(|(run, _)| run.number > number);
        let fitting = newer.take(most).take_while(|(_, size)| {
            let is_first = bytes == 0;
            bytes += size;
            is_first || bytes <= MAX_REPORT
        });
        fitting.map(|(run, _)| (**run).clone()).collect()
    }
}
