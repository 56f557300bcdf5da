//! What `/debug/controllers` says: for each controller and key the last trigger, the last result, how long it took, and when
//! it is due again; and the runs of late, one by one.
//!
//! Of each controller, the [`KEYS`] that ran last are remembered, and those that wait to run; and of its runs the last
//! [`RECENT`]. Runs are counted, so who asks again knows what is new and how much was missed.

mod journal;

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

pub(crate) use journal::Journal;

/// How many keys of a controller are remembered after they ran.
pub const KEYS: usize = 1000;

/// How many runs of a controller are told one by one.
pub const RECENT: usize = 100;

/// What made a key run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// The source: `configmaps`, or the name it was given.
    #[serde(serialize_with = "text")]
    pub source: Arc<str>,
    /// What happened there.
    pub cause: TriggerCause,
    /// When.
    #[serde(serialize_with = "timestamp")]
    pub at: Timestamp,
}

/// What happened to make a key run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TriggerCause {
    /// An object was there at the beginning.
    Initial,
    /// An object appeared.
    Added,
    /// An object changed.
    Updated,
    /// An object was shown again.
    Resync,
    /// An object is gone.
    Deleted,
    /// A source of another kind asked for it.
    Asked,
    /// The reconciler asked to be called again.
    Requeue,
    /// It failed.
    Backoff,
}

/// How one controller fares.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerStatus {
    /// Its name.
    pub name: String,
    /// Its sources.
    pub sources: Vec<SourceStatus>,
    /// Keys that can be handed out.
    pub queued: usize,
    /// Keys that workers have.
    pub processing: usize,
    /// Keys that are to be added later.
    pub delayed: usize,
    /// How many workers there are.
    pub workers: usize,
    /// How often it has run.
    pub runs: u64,
    /// How many of these failed.
    pub failures: u64,
    /// The keys that ran last, and those that wait.
    pub keys: Vec<KeyStatus>,
    /// The runs of late, the oldest first.
    pub recent: Vec<RunStatus>,
}

/// A run of a key that has ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// Which run of the controller it was, beginning with 1.
    pub number: u64,
    /// The key.
    pub key: String,
    /// What made it run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// `done`, `requeue`, `requeueAfter`, or the error.
    pub result: String,
    /// Whether it failed.
    pub failed: bool,
    /// When it ended.
    #[serde(serialize_with = "timestamp")]
    pub end: Timestamp,
    /// How long it took.
    pub duration_seconds: f64,
}

/// How a source fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: SourceState,
    /// What is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where a source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SourceState {
    /// It has not been started.
    New,
    /// It has not shown everything that was there at the beginning.
    Syncing,
    /// The server does not know the kind yet; it is waited for.
    WaitingForKind,
    /// It has shown everything.
    Synced,
    /// It has ended.
    Ended,
}

/// What is known of a key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyStatus {
    /// The key.
    pub key: String,
    /// What made it run last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_trigger: Option<Trigger>,
    /// What it waits to run for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_trigger: Option<Trigger>,
    /// `done`, `requeue`, `requeueAfter`, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// When it ended.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_timestamp"
    )]
    pub last_end: Option<Timestamp>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<f64>,
    /// It runs.
    pub running: bool,
    /// In how many seconds it is due again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_in_seconds: Option<f64>,
}

impl Trigger {
    pub(crate) fn new(source: &Arc<str>, cause: TriggerCause) -> Self {
        Self {
            source: source.clone(),
            cause,
            at: Timestamp::now(),
        }
    }
}

fn text<S: serde::Serializer>(text: &Arc<str>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(text)
}

fn timestamp<S: serde::Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(at)
}

fn some_timestamp<S: serde::Serializer>(at: &Option<Timestamp>, out: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => out.collect_str(at),
        None => out.serialize_none(),
    }
}
