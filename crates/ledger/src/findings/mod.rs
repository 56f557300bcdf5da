//! [`Finding`]s: problems that are detected in runs, requests and objects, with one rule per file.

mod feeds_itself;
mod fight;
mod hot_loop;
mod never_reconciled;
mod objects;
mod slow;
mod stale_read;
mod writes_nothing;

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    history::Revision,
    moment,
    request::Entry,
    run::{ManagerReport, ObjectRef, Run},
};
pub use fight::fights;

/// The maximum age of runs and writes that are considered.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

/// A detected problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub kind: FindingKind,
    /// The severity.
    pub severity: Severity,
    /// A description of the problem in one sentence.
    pub message: String,
    /// The object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The manager.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// The controller.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub controller: String,
    /// The key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The reason why the object was never reconciled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The start of the problem.
    #[serde(
        default,
        with = "moment::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub since: Option<Timestamp>,
    /// The latest occurrence.
    #[serde(
        default,
        with = "moment::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub last: Option<Timestamp>,
    /// The number of occurrences.
    #[serde(default)]
    pub count: u64,
    /// The runs.
    #[serde(default)]
    pub runs: Vec<String>,
    /// The revisions.
    #[serde(default)]
    pub revisions: Vec<u64>,
}

/// The rule of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FindingKind {
    /// A key is reconciled all the time.
    HotLoop,
    /// Managers overwrite each other's values.
    Fight,
    /// The deletion of an object does not complete.
    StuckDeletion,
    /// A controller triggers itself.
    FeedsItself,
    /// An object of a controller's kind was never reconciled.
    NeverReconciled,
    /// An owner does not exist.
    Orphan,
    /// Repeated writes change nothing.
    WritesNothing,
    /// A controller writes from a version that is older than its own last write.
    StaleRead,
    /// A run is slow, or waits in the queue for too long.
    Slow,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Something does not work, or is expensive.
    Error,
    /// Something that deserves attention.
    Warning,
}

/// The facts about an object that the rules use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectFacts {
    /// The object.
    pub object: ObjectRef,
    /// Its uid.
    pub uid: String,
    /// The time of its creation.
    pub created: Option<Timestamp>,
    /// The time of its deletion.
    pub deleted: Option<Timestamp>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Its owners: kind, name and uid.
    pub owners: Vec<(String, String, String)>,
}

/// The facts from which findings are derived.
///
/// ```
/// use kubewright_ledger::{Evidence, Ledger, findings};
///
/// let (ledger, now) = (Ledger::new(), jiff::Timestamp::UNIX_EPOCH);
/// let evidence = Evidence {
///     now,
///     runs: &ledger.runs(),
///     requests: &ledger.entries(),
///     managers: &ledger.managers(now),
///     objects: &[],
///     has_all_objects: true,
///     changes: &[],
///     has_all_runs: &|manager, controller| ledger.has_all_runs_of(manager, controller),
/// };
/// assert!(findings(&evidence).is_empty());
/// ```
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The time.
    pub now: Timestamp,
    /// The runs, in the order in which they were reported.
    pub runs: &'a [Arc<Run>],
    /// The requests with their numbers, oldest first.
    pub requests: &'a [(u64, Arc<Entry>)],
    /// The managers, with the time of their reports.
    pub managers: &'a [(Timestamp, Arc<ManagerReport>)],
    /// The objects.
    pub objects: &'a [ObjectFacts],
    /// Whether `objects` contains all objects.
    pub has_all_objects: bool,
    /// The recent changes of objects that several managers wrote: see [`Evidence::contested`].
    pub changes: &'a [(ObjectRef, Vec<Revision>)],
    /// Reports whether all runs of a controller of a manager are in `runs`.
    pub has_all_runs: &'a (dyn Fn(&str, &str) -> bool + Sync),
}

impl Evidence<'_> {
    /// Returns the objects that several managers wrote in the last ten minutes.
    pub fn contested(now: Timestamp, requests: &[(u64, Arc<Entry>)]) -> Vec<ObjectRef> {
        let mut writers: BTreeMap<ObjectRef, (usize, Vec<&str>)> = BTreeMap::new();
        for (_, entry) in requests {
            if now.duration_since(entry.time) > RECENT {
                continue;
            }
            let manager = entry.caller().field_manager;
            for commit in entry.commits() {
                let (commits, managers) = writers.entry(commit.object()).or_default();
                *commits += 1;
                if !managers.contains(&manager) {
                    managers.push(manager);
                }
            }
        }
        let contested = writers
            .into_iter()
            .filter(|(_, (commits, managers))| *commits > 2 && managers.len() > 1);
        contested.map(|(object, _)| object).collect()
    }

    /// Returns the runs of each key that ended in the last ten minutes, in order.
    fn recent_by_key(&self) -> BTreeMap<(&str, &str, &str), Vec<&Run>> {
        let mut keys: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
        for run in self.runs {
            if self.now.duration_since(run.end) <= RECENT {
                let key = (&*run.manager, &*run.controller, &*run.key);
                keys.entry(key).or_default().push(run);
            }
        }
        keys.values_mut()
            .for_each(|runs| runs.sort_by_key(|run| run.run));
        keys
    }
}

impl Finding {
    fn new(kind: FindingKind, message: String) -> Self {
        Self {
            kind,
            severity: kind.severity(),
            message,
            object: None,
            manager: String::new(),
            controller: String::new(),
            key: String::new(),
            field: String::new(),
            reason: String::new(),
            since: None,
            last: None,
            count: 0,
            runs: Vec::new(),
            revisions: Vec::new(),
        }
    }

    /// Returns a finding about runs of a key.
    fn of_runs(kind: FindingKind, message: String, runs: &[&Run]) -> Self {
        let mut finding = Self::new(kind, message);
        if let (Some(first), Some(last)) = (runs.first(), runs.last()) {
            finding.object = last.object();
            finding.manager.clone_from(&last.manager);
            finding.controller.clone_from(&last.controller);
            finding.key.clone_from(&last.key);
            finding.since = Some(first.start);
            finding.last = Some(last.end);
            finding.count = runs.len() as u64;
            finding.runs = runs.iter().map(|run| run.id.clone()).collect();
        }
        finding
    }
}

impl FindingKind {
    /// Returns the severity of findings of this rule.
    pub fn severity(self) -> Severity {
        match self {
            Self::HotLoop | Self::Fight | Self::StuckDeletion => Severity::Error,
            _ => Severity::Warning,
        }
    }

    /// Returns the name in JSON, such as `hotLoop`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HotLoop => "hotLoop",
            Self::Fight => "fight",
            Self::StuckDeletion => "stuckDeletion",
            Self::FeedsItself => "feedsItself",
            Self::NeverReconciled => "neverReconciled",
            Self::Orphan => "orphan",
            Self::WritesNothing => "writesNothing",
            Self::StaleRead => "staleRead",
            Self::Slow => "slow",
        }
    }
}

/// Returns all findings, most severe first.
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut all = hot_loop::find(evidence);
    all.extend(feeds_itself::find(evidence));
    all.extend(fight::find(evidence));
    all.extend(writes_nothing::find(evidence));
    all.extend(stale_read::find(evidence));
    all.extend(objects::stuck_deletions(evidence));
    all.extend(objects::orphans(evidence));
    all.extend(never_reconciled::find(evidence));
    all.extend(slow::find(evidence));
    all.sort_by(|a, b| (a.severity, a.kind, b.last).cmp(&(b.severity, b.kind, a.last)));
    all
}

#[cfg(test)]
mod tests;
