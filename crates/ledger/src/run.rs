//! [`Run`]s of controllers and [`ManagerReport`]s, in their JSON form.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::moment;

/// The name of an object: its resource, namespace and name.
///
/// ```
/// use kubewright_ledger::ObjectRef;
///
/// let web = ObjectRef::new("apps", "deployments", "shop/web");
/// assert_eq!((web.namespace.as_str(), web.key().as_str()), ("shop", "shop/web"));
/// assert_eq!(web.to_string(), "deployments.apps shop/web");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectRef {
    /// The group; empty for the core group.
    pub group: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// An event that triggered a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The source: `configmaps`, or its given name.
    pub source: String,
    /// The cause, such as `updated`.
    pub cause: String,
    /// The time.
    #[serde(with = "moment")]
    pub at: Timestamp,
    /// The object that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The resourceVersion of that object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// A request of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRequest {
    /// The verb.
    pub verb: String,
    /// The object.
    #[serde(flatten)]
    pub object: ObjectRef,
    /// The subresource, or empty.
    pub subresource: String,
    /// The status code of the response; 0 if there was none.
    pub code: u16,
    /// The resourceVersion in the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The time between the start of the run and the request.
    pub start_seconds: f64,
    /// The duration.
    pub duration_seconds: f64,
}

/// A log line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// The time.
    #[serde(with = "moment")]
    pub time: Timestamp,
    /// The level, such as `INFO`.
    pub level: String,
    /// The module.
    pub target: String,
    /// The message.
    pub message: String,
    /// The other fields.
    #[serde(default)]
    pub fields: Map<String, Value>,
}

/// A finished run of a controller.
///
/// ```
/// use kubewright_ledger::{Ledger, ManagerReport, PageQuery, Run, caused_by, causes_of};
///
/// let run: Run = serde_json::from_str(r#"{
///     "id": "crew/captain/1", "manager": "crew", "controller": "captain", "run": 1, "key": "default/kate",
///     "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:01Z", "durationSeconds": 1.0,
///     "result": "done", "failed": false, "triggers": [], "requests": []
/// }"#)?;
/// let ledger = Ledger::new();
/// let report = ManagerReport { manager: "crew".to_owned(), runs: vec![run], ..ManagerReport::default() };
/// ledger.report(report, jiff::Timestamp::UNIX_EPOCH);
///
/// let page = ledger.runs_page(&PageQuery::default(), |run| run.controller == "captain");
/// assert_eq!(page.items[0].key, "default/kate");
/// assert!(causes_of(&page.items[0], |_, _| None).is_empty());
/// assert!(caused_by(&page.items[0], []).is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The number in the list of runs.
    #[serde(default)]
    pub number: u64,
    /// The id: `manager/controller/run`.
    pub id: String,
    /// The manager.
    pub manager: String,
    /// The controller.
    pub controller: String,
    /// The number of the run within the controller.
    pub run: u64,
    /// The group of the controller's main kind.
    #[serde(default)]
    pub group: String,
    /// The resource of the controller's main kind; empty if it has none.
    #[serde(default)]
    pub resource: String,
    /// The key: `namespace/name`, or `name`.
    pub key: String,
    /// The `reconcileID` in log lines.
    #[serde(default, rename = "reconcileID")]
    pub reconcile_id: String,
    /// The number of consecutive failures before the run.
    #[serde(default)]
    pub attempt: usize,
    /// The time of the first trigger.
    #[serde(
        default,
        with = "moment::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub queued: Option<Timestamp>,
    /// The start.
    #[serde(with = "moment")]
    pub start: Timestamp,
    /// The end.
    #[serde(with = "moment")]
    pub end: Timestamp,
    /// The time that the key waited for a worker after it was due.
    #[serde(default)]
    pub queue_seconds: f64,
    /// The duration.
    pub duration_seconds: f64,
    /// `done`, `requeue`, `requeue after 30s`, or the error.
    pub result: String,
    /// Whether it failed.
    pub failed: bool,
    /// The triggers: the first and the most recent ones.
    pub triggers: Vec<Trigger>,
    /// The number of omitted triggers.
    #[serde(default)]
    pub triggers_dropped: u64,
    /// The requests.
    pub requests: Vec<RunRequest>,
    /// The number of omitted requests.
    #[serde(default)]
    pub requests_dropped: u64,
    /// The log lines.
    #[serde(default)]
    pub log: Vec<LogLine>,
    /// The number of omitted log lines.
    #[serde(default)]
    pub log_dropped: u64,
}

/// The report of a manager: its status, and its finished runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagerReport {
    /// The manager.
    pub manager: String,
    /// Whether the manager is the leader.
    pub leading: bool,
    /// The namespaces that it watches; empty for all.
    pub namespaces: Vec<String>,
    /// Its caches.
    pub caches: Vec<Value>,
    /// The status of its controllers, as in `/debug/controllers`.
    pub controllers: Vec<Value>,
    /// The runs that have finished.
    pub runs: Vec<Run>,
}

impl ObjectRef {
    /// Returns the reference to an object with a key.
    pub fn new(group: &str, resource: &str, key: &str) -> Self {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns the key: `namespace/name`, or `name`.
    pub fn key(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, " {}", self.key())
    }
}

impl RunRequest {
    /// Reports whether the request was a successful write.
    pub fn is_write(&self) -> bool {
        let reads = ["get", "list", "watch"];
        (200..300).contains(&self.code) && !reads.contains(&self.verb.as_str())
    }
}

impl Run {
    /// Returns the object of the run, if the controller has a main kind.
    pub fn object(&self) -> Option<ObjectRef> {
        (!self.resource.is_empty()).then(|| ObjectRef::new(&self.group, &self.resource, &self.key))
    }

    /// Returns the successful writes.
    pub fn writes(&self) -> impl Iterator<Item = &RunRequest> {
        self.requests.iter().filter(|request| request.is_write())
    }

    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        const FIELDS: usize = size_of::<Run>();
        let triggers = self.triggers.len() * (size_of::<Trigger>() + 64);
        let requests = self.requests.len() * (size_of::<RunRequest>() + 64);
        let line = |line: &LogLine| {
            let fields = line.fields.iter();
            let fields: usize = fields
                .map(|(key, value)| 48 + key.len() + text_len(value))
                .sum();
            size_of::<LogLine>() + line.target.len() + line.message.len() + fields
        };
        let log: usize = self.log.iter().map(line).sum();
        FIELDS
            + 2 * self.id.len()
            + 2 * self.key.len()
            + self.result.len()
            + triggers
            + requests
            + log
    }
}

fn text_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_len).sum::<usize>() + 32 * items.len(),
        Value::Object(map) => map.iter().map(|(k, v)| 48 + k.len() + text_len(v)).sum(),
        _ => 8,
    }
}
