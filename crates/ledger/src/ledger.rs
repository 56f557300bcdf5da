//! [`Ledger`]: the requests of a server and the runs of its clients' controllers.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    Denial,
    interned::Interned,
    request::{Caller, CallerId, Entry, KindId, OwnedCaller, OwnedKind, Request, RequestKind},
    ring::{Bounds, Page, PageQuery, Ring},
    run::{ManagerReport, Run},
    runs::Runs,
};

/// The limits of the ring of requests.
const REQUESTS: usize = 100_000;
const REQUEST_BYTES: usize = 32 << 20;

/// The limits of the ring of denied requests.
const DENIALS: usize = 10_000;
const DENIAL_BYTES: usize = 4 << 20;

/// The requests of a server and the runs of its clients' controllers, within limits. Clones share them.
///
/// See the [crate documentation](crate) for an example.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    requests: Ring<Entry>,
    denials: Ring<Entry>,
    runs: Runs,
    callers: Interned<OwnedCaller>,
    kinds: Interned<OwnedKind>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Creates an empty ledger.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            requests: Ring::new(REQUESTS, REQUEST_BYTES),
            denials: Ring::new(DENIALS, DENIAL_BYTES),
            runs: Runs::default(),
            callers: Interned::default(),
            kinds: Interned::default(),
        }))
    }

    /// Returns the shared form of a caller.
    pub fn caller(&self, caller: Caller<'_>) -> CallerId {
        CallerId(self.0.callers.get(&caller, || caller.into()))
    }

    /// Returns the shared form of a verb and a resource.
    pub fn kind(&self, kind: RequestKind<'_>) -> KindId {
        KindId(self.0.kinds.get(&kind, || kind.into()))
    }

    /// Records a write request. If it was denied, it is also recorded as a denial.
    pub fn record(&self, entry: Entry) {
        if entry.refusal.is_some() {
            self.refuse(entry.clone());
        }
        let size = entry.size();
        self.0.requests.push(entry, size);
    }

    /// Records a denied read.
    pub fn refuse(&self, entry: Entry) {
        let size = entry.size();
        self.0.denials.push(entry, size);
    }

    /// Returns a page of the requests that match `select`.
    pub fn requests(&self, query: &PageQuery, select: impl Fn(&Entry) -> bool) -> Page<Request> {
        let (bounds, all) = self.0.requests.all();
        let chosen = all.iter().filter(|(_, entry)| select(entry));
        let chosen = chosen.map(|(number, entry)| (*number, entry));
        Page::of(bounds, query, chosen, |number, entry| {
            entry.to_request(number)
        })
    }

    /// Returns a page of the denied requests that match `select`.
    pub fn denials(&self, query: &PageQuery, select: impl Fn(&Entry) -> bool) -> Page<Denial> {
        let (bounds, all) = self.0.denials.all();
        let chosen = all.iter().filter(|(_, entry)| select(entry));
        let chosen = chosen.map(|(number, entry)| (*number, entry));
        Page::of(bounds, query, chosen, |number, entry| {
            Denial::of(number, entry)
        })
    }

    /// Returns all requests with their numbers, oldest first.
    pub fn entries(&self) -> Vec<(u64, Arc<Entry>)> {
        self.0.requests.all().1
    }

    /// Returns the request that committed a revision, and its number.
    pub fn writer(&self, revision: u64) -> Option<(u64, Arc<Entry>)> {
        let entries = self.entries();
        let wrote = |entry: &Entry| entry.commits().any(|commit| commit.revision == revision);
        entries.into_iter().rev().find(|(_, entry)| wrote(entry))
    }

    /// Records the report of a manager.
    pub fn report(&self, report: ManagerReport, now: Timestamp) {
        self.0.runs.report(report, now);
    }

    /// Returns all runs, in the order in which they were reported.
    pub fn runs(&self) -> Vec<Arc<Run>> {
        self.0.runs.all().1
    }

    /// Returns a page of the runs that match `select`.
    pub fn runs_page(&self, query: &PageQuery, select: impl Fn(&Run) -> bool) -> Page<Arc<Run>> {
        let (bounds, all) = self.0.runs.all();
        let chosen = all.into_iter().filter(|run| select(run));
        let chosen = chosen.map(|run| (run.number, run));
        Page::of(bounds, query, chosen, |_, run| run)
    }

    /// Returns the managers that reported in the last 10 seconds, with the times of their reports.
    pub fn managers(&self, now: Timestamp) -> Vec<(Timestamp, Arc<ManagerReport>)> {
        self.0.runs.managers(now)
    }

    /// Reports whether no run of a controller has been dropped.
    pub fn has_all_runs_of(&self, manager: &str, controller: &str) -> bool {
        !self
            .0
            .runs
            .is_incomplete(&format!("{manager}/{controller}"))
    }

    /// Returns the sizes of the rings of requests, denied requests and runs.
    pub fn bounds(&self) -> [Bounds; 3] {
        let Shared {
            requests,
            denials,
            runs,
            ..
        } = &*self.0;
        [requests.bounds(), denials.bounds(), runs.bounds()]
    }
}
