//! [`Runs`]: the runs that managers reported, and their status.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::{
    ring::Bounds,
    run::{ManagerReport, Run},
};

/// The maximum number of runs of a key.
const RUNS_OF_KEY: usize = 50;

/// The maximum memory usage of all runs.
const MAX_BYTES: usize = 64 << 20;

/// The maximum number of managers.
const MAX_MANAGERS: usize = 64;

/// The age of a report after which its manager is considered gone.
const GONE_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// The runs that managers reported, and their status.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The runs in order of arrival, with their sizes.
    runs: VecDeque<(Arc<Run>, usize)>,
    /// The ids of `runs`.
    known: HashSet<String>,
    /// The number of runs of each controller and key.
    of_keys: HashMap<(String, String), usize>,
    /// The number of the newest run.
    last: u64,
    bytes: usize,
    /// The controllers of which runs have been dropped.
    incomplete: HashSet<String>,
    managers: HashMap<String, (Timestamp, Arc<ManagerReport>)>,
}

impl Runs {
    /// Records a report. Runs that are already known are ignored.
    pub(crate) fn report(&self, mut report: ManagerReport, now: Timestamp) {
        let runs = std::mem::take(&mut report.runs);
        let mut state = self.0.lock();
        for run in runs {
            state.add(run);
        }
        let managers = &mut state.managers;
        managers.insert(report.manager.clone(), (now, Arc::new(report)));
        if managers.len() > MAX_MANAGERS {
            let oldest = managers.iter().min_by_key(|(_, (seen, _))| *seen);
            let oldest = oldest.map(|(name, _)| name.clone());
            oldest.and_then(|name| managers.remove(&name));
        }
    }

    /// Returns all runs, in order of arrival.
    pub(crate) fn all(&self) -> (Bounds, Vec<Arc<Run>>) {
        let state = self.0.lock();
        let runs: Vec<_> = state.runs.iter().map(|(run, _)| run.clone()).collect();
        (state.bounds(), runs)
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.0.lock().bounds()
    }

    /// Returns the managers that reported recently, with the times of their reports, sorted by name.
    pub(crate) fn managers(&self, now: Timestamp) -> Vec<(Timestamp, Arc<ManagerReport>)> {
        let state = self.0.lock();
        let is_there = |seen: Timestamp| now.duration_since(seen) <= GONE_AFTER;
        let managers = state.managers.values().filter(|(seen, _)| is_there(*seen));
        let mut managers: Vec<_> = managers.cloned().collect();
        managers.sort_by(|(_, a), (_, b)| a.manager.cmp(&b.manager));
        managers
    }

    /// Reports whether runs of a controller, `manager/controller`, have been dropped.
    pub(crate) fn is_incomplete(&self, controller: &str) -> bool {
        self.0.lock().incomplete.contains(controller)
    }
}

impl State {
    fn add(&mut self, mut run: Run) {
        if !self.known.insert(run.id.clone()) {
            return;
        }
        self.last += 1;
        run.number = self.last;
        let key = (controller_of(&run), run.key.clone());
        let size = run.size();
        self.bytes += size;
        self.runs.push_back((Arc::new(run), size));
        let of_key = self.of_keys.entry(key.clone()).or_default();
        *of_key += 1;
        if *of_key > RUNS_OF_KEY {
            let is_of_key =
                |(run, _): &(Arc<Run>, usize)| run.key == key.1 && controller_of(run) == key.0;
            if let Some(at) = self.runs.iter().position(is_of_key) {
                self.forget(at);
            }
        }
        while self.bytes > MAX_BYTES && self.runs.len() > 1 {
            self.forget(0);
        }
    }

    fn forget(&mut self, at: usize) {
        let Some((run, size)) = self.runs.remove(at) else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(size);
        self.known.remove(&run.id);
        let key = (controller_of(&run), run.key.clone());
        if let Some(of_key) = self.of_keys.get_mut(&key) {
            *of_key -= 1;
            if *of_key == 0 {
                self.of_keys.remove(&key);
                if self.incomplete.len() < MAX_MANAGERS * 64 {
                    self.incomplete.insert(key.0);
                }
            }
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            first: self.runs.front().map_or(0, |(run, _)| run.number),
            last: self.last,
            forgotten: self.last - self.runs.len() as u64,
            bytes: self.bytes,
        }
    }
}

fn controller_of(run: &Run) -> String {
    format!("{}/{}", run.manager, run.controller)
}
