//! The metrics that a queue with a name keeps under its own lock.

use std::{sync::Arc, time::Duration};

use kubewright_metrics::LocalHistogram;

use super::{DURATION_SECONDS, QueueSnapshot};
use crate::{
    clock::{self, Moment},
    state::Counts,
};

/// The metrics of one queue.
#[derive(Debug)]
pub(crate) struct Recorder {
    name: Arc<str>,
    pub(crate) adds: u64,
    pub(crate) retries: u64,
    queue_duration: LocalHistogram,
    work_duration: LocalHistogram,
    /// The sum of the moments at which current work started.
    starts: u128,
}

impl Recorder {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            adds: 0,
            retries: 0,
            queue_duration: LocalHistogram::new(&DURATION_SECONDS),
            work_duration: LocalHistogram::new(&DURATION_SECONDS),
            starts: 0,
        }
    }

    pub(crate) fn started(&mut self, (added, now): (Moment, Moment)) {
        self.queue_duration
            .observe_duration(clock::between(added, now));
        self.starts += u128::from(now);
    }

    pub(crate) fn finished(&mut self, started: Moment, now: Moment) {
        self.work_duration
            .observe_duration(clock::between(started, now));
        self.starts = self.starts.saturating_sub(u128::from(started));
    }

    /// Returns the time that current work has taken so far.
    pub(crate) fn unfinished(&self, processing: usize, now: Moment) -> Duration {
        let nanos = (u128::from(now) * processing as u128).saturating_sub(self.starts);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(crate) fn snapshot(
        &self,
        counts: Counts,
        by_priority: Vec<(i32, usize)>,
        oldest_start: Option<Moment>,
        now: Moment,
    ) -> QueueSnapshot {
        QueueSnapshot {
            name: self.name.as_ref().to_owned(),
            labels: Vec::new(),
            depth: counts.ready + counts.again,
            depth_by_priority: by_priority,
            adds: self.adds,
            retries: self.retries,
            queue_duration: self.queue_duration.clone(),
            work_duration: self.work_duration.clone(),
            unfinished_work: self.unfinished(counts.processing, now),
            longest_running_processor: oldest_start
                .map_or(Duration::ZERO, |start| clock::between(start, now)),
        }
    }
}
