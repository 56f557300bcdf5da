//! [`Record`]: what the run of the current task does.

use std::{sync::Arc, time::Duration};

use http::HeaderValue;
use jiff::Timestamp;
use kubewright_ledger::{LogLine, RunRequest};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::links::Links;
use crate::clock::SharedClock;

/// The number of requests that are kept of a run.
const REQUESTS: usize = 64;

/// The number of log lines that are kept of a run.
const LINES: usize = 64;

tokio::task_local! {
    static CURRENT: Arc<Record>;
}

/// The activity of a run. It is local to the task of the run: tasks that a reconciler spawns are not part of it.
pub(crate) struct Record {
    /// `manager/controller/number`.
    pub(crate) id: String,
    pub(crate) number: u64,
    header: Option<HeaderValue>,
    began: Instant,
    clock: SharedClock,
    state: Mutex<Noted>,
    pub(super) links: Links,
}

/// The requests and lines of a run.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) requests: Vec<RunRequest>,
    pub(crate) requests_dropped: u64,
    pub(crate) log: Vec<LogLine>,
    pub(crate) log_dropped: u64,
}

impl Record {
    pub(crate) fn new(
        manager: &str,
        controller: &str,
        number: u64,
        clock: SharedClock,
        links: Links,
    ) -> Arc<Self> {
        let id = format!("{manager}/{controller}/{number}");
        Arc::new(Self {
            // A name that is no header is not sent.
            header: HeaderValue::from_str(&id).ok(),
            id,
            number,
            began: Instant::now(),
            clock,
            state: Mutex::default(),
            links,
        })
    }

    /// Runs a future as this run.
    pub(crate) async fn within<F: Future>(self: Arc<Self>, run: F) -> F::Output {
        CURRENT.scope(self, run).await
    }

    /// Returns the run of the current task.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    pub(super) fn header(&self) -> Option<&HeaderValue> {
        self.header.as_ref()
    }

    /// Returns the time by the clock of the cluster.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn request(&self, request: RunRequest) {
        let mut state = self.state.lock();
        match state.requests.len() < REQUESTS {
            true => state.requests.push(request),
            false => state.requests_dropped += 1,
        }
    }

    pub(super) fn line(&self, line: impl FnOnce() -> LogLine) {
        let mut state = self.state.lock();
        match state.log.len() < LINES {
            true => state.log.push(line()),
            false => state.log_dropped += 1,
        }
    }

    /// Takes the recorded requests and log lines.
    pub(super) fn take(&self) -> Noted {
        std::mem::take(&mut *self.state.lock())
    }
}
