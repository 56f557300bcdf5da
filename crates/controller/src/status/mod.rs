//! The contents of `/debug/controllers`: for each controller and key the last trigger, the last result, its duration,
//! and when it is due again; and recent runs.
//!
//! For each controller the last [`KEYS`] keys and those that wait are remembered, and the last [`RECENT`] runs. Runs
//! are numbered, so that a reader can tell which ones are new and how many it has missed.

mod journal;
mod pending;

use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ApiResource;
use kubewright_informer::Key;
use kubewright_ledger::ObjectRef;
use serde::Serialize;

pub(crate) use journal::Journal;
pub(crate) use pending::Pending;

/// The number of keys of a controller that are remembered after they ran.
pub const KEYS: usize = 1000;

/// The number of recent runs of a controller.
pub const RECENT: usize = 100;

/// The trigger of a run.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request, status::TriggerCause};
///
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// controller.trigger(Request::new("shop", "web"));
/// let trigger = controller.status().keys[0].pending_trigger.clone().unwrap();
/// assert_eq!((&*trigger.source, trigger.cause), ("trigger", TriggerCause::Asked));
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// The source: `configmaps`, or its given name.
    #[serde(serialize_with = "text")]
    pub source: Arc<str>,
    /// The cause.
    pub cause: TriggerCause,
    /// The time.
    #[serde(serialize_with = "timestamp")]
    pub at: Timestamp,
    /// The object whose change it was; `None` for sources that are not watches.
    #[serde(flatten)]
    pub change: Option<ChangedObject>,
}

/// The object whose change triggered a run.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request};
///
/// let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
/// let manager = Manager::new(cluster.client());
/// Controller::for_::<Namespace>()
///     .build(&manager, move |context: Context, _: Request| {
///         sender.send(context.trigger().unwrap().change.clone().unwrap()).unwrap();
///         async { Ok(Action::done()) }
///     })
///     .unwrap();
/// let first = async { changes.recv().await.unwrap() };
/// manager.run(async { assert_eq!(first.await.resource(), "namespaces") }).await.unwrap();
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedObject {
    resource: Arc<ApiResource>,
    key: Key,
    resource_version: Box<str>,
}

/// The cause of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TriggerCause {
    /// An object existed at startup.
    Initial,
    /// An object was added.
    Added,
    /// An object was updated.
    Updated,
    /// A resync.
    Resync,
    /// An object was deleted.
    Deleted,
    /// A source that is not a watch requested it.
    Asked,
    /// The reconciler requested it.
    Requeue,
    /// A retry after a failure.
    Backoff,
}

/// The status of a controller.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request};
///
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// controller.trigger(Request::new("shop", "web"));
/// let status = controller.status();
/// assert_eq!((status.name.as_str(), status.queued, status.runs), ("configmap", 1, 0));
/// assert_eq!(status.keys[0].key, "shop/web");
/// # });
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerStatus {
    /// The name.
    pub name: String,
    /// The sources.
    pub sources: Vec<SourceStatus>,
    /// Keys that can be handed out.
    pub queued: usize,
    /// Keys that are being processed.
    pub processing: usize,
    /// Delayed keys.
    pub delayed: usize,
    /// The number of workers.
    pub workers: usize,
    /// Whether it is [paused](crate::Controller::pause).
    pub paused: bool,
    /// The number of runs.
    pub runs: u64,
    /// The number of failed runs.
    pub failures: u64,
    /// The keys that ran last, and those that wait.
    pub keys: Vec<KeyStatus>,
    /// The recent runs, oldest first.
    pub recent: Vec<RunStatus>,
}

/// A finished run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// The number of the run within the controller, from 1.
    pub number: u64,
    /// The key.
    pub key: String,
    /// The trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// `done`, `requeue`, `requeue after 30s`, or the error.
    pub result: String,
    /// True if it failed.
    pub failed: bool,
    /// The time at which the run ended.
    #[serde(serialize_with = "timestamp")]
    pub end: Timestamp,
    /// The duration.
    pub duration_seconds: f64,
}

/// The status of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// The name.
    pub name: String,
    /// The state.
    pub state: SourceState,
    /// The current error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SourceState {
    /// Not started.
    New,
    /// Not all initial objects have been processed.
    Syncing,
    /// The server does not know the kind yet; the source waits for it.
    WaitingForKind,
    /// All initial objects have been processed.
    Synced,
    /// Ended.
    Ended,
}

/// The status of a key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyStatus {
    /// The key.
    pub key: String,
    /// The trigger of the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_trigger: Option<Trigger>,
    /// The trigger of the next run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_trigger: Option<Trigger>,
    /// `done`, `requeue`, `requeue after 30s`, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// The time at which the last run ended.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_timestamp"
    )]
    pub last_end: Option<Timestamp>,
    /// The duration of the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<f64>,
    /// True if the key is being processed.
    pub running: bool,
    /// The number of seconds until the key is due again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_in_seconds: Option<f64>,
}

impl TriggerCause {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Resync => "resync",
            Self::Deleted => "deleted",
            Self::Asked => "asked",
            Self::Requeue => "requeue",
            Self::Backoff => "backoff",
        }
    }

    /// Reports whether the run is due later than its trigger.
    fn is_delayed(self) -> bool {
        matches!(self, Self::Requeue | Self::Backoff)
    }
}

impl Trigger {
    pub(crate) fn new(source: &Arc<str>, cause: TriggerCause, at: Timestamp) -> Self {
        Self {
            source: source.clone(),
            cause,
            at,
            change: None,
        }
    }

    /// Returns the trigger with the object whose change it was.
    pub(crate) fn of(self, change: ChangedObject) -> Self {
        Self {
            change: Some(change),
            ..self
        }
    }

    /// Returns the source and the cause: `captains updated`.
    pub(crate) fn words(&self) -> String {
        let source = self.source.split('.').next().unwrap_or_default();
        format!("{source} {}", self.cause.as_str())
    }

    pub(crate) fn to_ledger(&self) -> kubewright_ledger::Trigger {
        let change = self.change.as_ref();
        kubewright_ledger::Trigger {
            source: self.source.to_string(),
            cause: self.cause.as_str().to_owned(),
            at: self.at,
            object: change.map(ChangedObject::to_ref),
            resource_version: change.map_or_else(String::new, |it| it.resource_version.to_string()),
        }
    }
}

impl ChangedObject {
    pub(crate) fn new(resource: &Arc<ApiResource>, key: &Key, resource_version: &str) -> Self {
        Self {
            resource: resource.clone(),
            key: key.clone(),
            resource_version: resource_version.into(),
        }
    }

    /// Returns the group of the object; empty for the core group.
    pub fn group(&self) -> &str {
        &self.resource.group
    }

    /// Returns the plural name of its resource.
    pub fn resource(&self) -> &str {
        &self.resource.plural
    }

    /// Returns its key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns its version after the change.
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    fn to_ref(&self) -> ObjectRef {
        ObjectRef::new(self.group(), self.resource(), self.key.as_str())
    }
}

impl Serialize for ChangedObject {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = out.serialize_map(Some(2))?;
        map.serialize_entry("object", &self.to_ref())?;
        map.serialize_entry("resourceVersion", &self.resource_version)?;
        map.end()
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
