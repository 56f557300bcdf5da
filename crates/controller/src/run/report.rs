//! Reports of a manager to a server with a ledger.

use std::time::Duration;

use http::Request;
use kubewright_ledger::ManagerReport;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    Controller,
    manager::{Group, Manager, ManagerError, Stop},
};

/// The interval of reports.
const INTERVAL: Duration = Duration::from_millis(500);

/// The interval of reports while nothing is going on. The ledger forgets a manager after ten seconds.
const QUIET_INTERVAL: Duration = Duration::from_secs(4);

/// The maximum number of runs in a report.
const MAX_RUNS: usize = 500;

/// The path of reports.
const PATH: &str = "/kubewright/v1/runs";

/// The maximum number of keys of a controller in a report.
const MAX_KEYS: usize = 200;

impl Manager {
    /// Returns the status of the controllers, and the runs that ended after the one with that number: what
    /// `/debug/kubewright/v1/runs?after=` serves.
    pub fn ledger_report(&self, after: u64) -> ManagerReport {
        let controllers = self.controllers();
        let controllers = controllers.iter().map(|controller| {
            // The report has the recent runs anyway.
            let mut status = json!(controller.brief_status(MAX_KEYS, 0));
            if let Some(main) = controller.main() {
                status["group"] = json!(main.group);
                status["resource"] = json!(main.plural);
            }
            status
        });
        ManagerReport {
            manager: self.finished().manager().to_owned(),
            leading: self.is_leading(),
            namespaces: self.namespaces().unwrap_or_default(),
            caches: self.debug_caches(),
            controllers: controllers.collect(),
            runs: self.finished().after(after, MAX_RUNS),
        }
    }

    /// Adds a task that reports runs and status to the server while the manager runs, if the server says that it has a ledger.
    /// Other servers are sent nothing.
    ///
    /// # Errors
    ///
    /// Fails if the manager has ended.
    pub fn report_runs(&self) -> Result<(), ManagerError> {
        let reporting = self.clone();
        self.add(Group::Others, "ledger", move |stop| async move {
            reporting.report_until(stop).await;
            Ok(())
        })
    }

    async fn report_until(&self, stop: Stop) {
        let mut after = 0;
        // The time of the last report, if nothing was going on.
        let mut quiet_since: Option<Instant> = None;
        let mut paused = Vec::new();
        loop {
            tokio::select! {
                () = stop.stopping() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let paused_now = self.paused();
            let is_quiet = self.is_quiet(after) && paused_now == paused;
            let is_known = quiet_since.is_some_and(|at| at.elapsed() < QUIET_INTERVAL);
            if !self.tracking().has_ledger() || (is_quiet && is_known) {
                continue;
            }
            let report = self.ledger_report(after);
            let last = report.runs.last().map_or(after, |run| run.number);
            match self.send(&report).await {
                Ok(()) => {
                    after = last;
                    paused = paused_now;
                    quiet_since = is_quiet.then(Instant::now);
                }
                Err(error) => tracing::debug!(%error, "could not report runs"),
            }
        }
    }

    /// Reports whether no run has ended after the one with that number, and none is running or waiting.
    fn is_quiet(&self, after: u64) -> bool {
        let is_idle = |controller: &Controller| {
            let queue = controller.queue().status();
            queue.queued == 0 && queue.processing == 0
        };
        self.finished().last() == after && self.controllers().iter().all(is_idle)
    }

    /// Returns which controllers are paused.
    fn paused(&self) -> Vec<bool> {
        self.controllers()
            .iter()
            .map(Controller::is_paused)
            .collect()
    }

    async fn send(&self, report: &ManagerReport) -> Result<(), kube::Error> {
        let body = serde_json::to_vec(report).map_err(kube::Error::SerdeError)?;
        let request = Request::post(PATH)
            .header("content-type", "application/json")
            .body(body)
            .map_err(kube::Error::HttpError)?;
        self.client().live().request_text(request).await.map(drop)
    }
}
