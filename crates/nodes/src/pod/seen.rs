//! [`Seen`]: the parts of a pod's status on the server that the node acts on.

use serde::Deserialize;
use serde_json::Value;

/// The status on the server.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Seen {
    pub(crate) phase: String,
    pub(crate) qos_class: String,
    /// The resources of the pod as a whole.
    pub(crate) resources: Value,
    pub(crate) start_time: Option<String>,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<SeenContainer>,
    pub(crate) init_container_statuses: Vec<SeenContainer>,
    pub(crate) ephemeral_container_statuses: Vec<SeenContainer>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) last_transition_time: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenContainer {
    pub(crate) name: String,
    pub(crate) restart_count: u32,
    pub(crate) ready: bool,
    pub(crate) started: bool,
    pub(crate) state: SeenState,
    pub(crate) last_state: SeenState,
    pub(crate) resources: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SeenState {
    pub(crate) waiting: Option<SeenWaiting>,
    pub(crate) running: Option<SeenRunning>,
    pub(crate) terminated: Option<SeenTerminated>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SeenWaiting {
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenRunning {
    pub(crate) started_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenTerminated {
    pub(crate) exit_code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) started_at: Option<String>,
    pub(crate) finished_at: Option<String>,
}
