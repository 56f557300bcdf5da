//! Printers of pods, pod templates and replication controllers.
//!
//! A pod's status column is the word a person would use: the phase, unless a container, an init container, the
//! scheduler or deletion determines a more specific one.

use kubewright_machinery::{json::Read, time::Time};
use serde_json::Value;

use crate::printers::columns::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, integer, text};
use crate::printers::text::{containers, labels};
use crate::printers::{PrintOptions, Printer, RowCondition, age, fields, row};

pub(super) static POD: Printer = Printer {
    row_condition: Some(completion),
    ..Printer::new(
        &[
            NAME,
            text("Ready", "How many containers are ready, of how many."),
            text(
                "Status",
                "The state of the pod and its containers in one word.",
            ),
            text(
                "Restarts",
                "How often containers restarted, and when one last did.",
            ),
            AGE,
            text("IP", "The first address of the pod.").wide(),
            text("Node", "The node the pod runs on.").wide(),
            text(
                "Nominated Node",
                "The node where room is being made for the pod.",
            )
            .wide(),
            text(
                "Readiness Gates",
                "How many readiness gates are passed, of how many.",
            )
            .wide(),
        ],
        pod,
    )
    .reading(&[
        "metadata.name",
        "metadata.creationTimestamp",
        "metadata.deletionTimestamp",
        "spec.nodeName",
        "spec.readinessGates",
        "spec.containers.name",
        "spec.initContainers.name",
        "spec.initContainers.restartPolicy",
        "status",
    ])
};

pub(super) static POD_TEMPLATE: Printer = Printer::new(
    &[
        NAME,
        text(
            "Containers",
            "The names of the containers in the pod template.",
        ),
        text(
            "Images",
            "The images of the containers in the pod template.",
        ),
        text("Pod Labels", "The labels of pods made from the template."),
    ],
    pod_template,
);

pub(super) static REPLICATION_CONTROLLER: Printer = Printer::new(
    &[
        NAME,
        integer("Desired", "How many replicas are wanted."),
        integer("Current", "How many replicas there are."),
        integer("Ready", "How many replicas are ready."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    replication_controller,
);

/// The summary of a pod's container statuses.
struct Summary {
    reason: String,
    ready: i64,
    restarts: Restarts,
}

/// The number of restarts of containers, and the time of the last one.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Time>,
}

fn pod(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let summary = summarize(object);
    let total = spec["containers"].items().len()
        + spec["initContainers"]
            .items()
            .iter()
            .filter(|init| is_sidecar(init))
            .count();
    row![
        fields::name(object),
        format!("{}/{total}", summary.ready),
        summary.reason,
        summary.restarts.print(options),
        age::of(object, options),
        pod_ip(status),
        spec["nodeName"].text_or("<none>"),
        status["nominatedNodeName"].text_or("<none>"),
        readiness_gates(object),
    ]
}

fn completion(pod: &Value) -> Option<RowCondition> {
    let (reason, message) = match pod["status"]["phase"].text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(RowCondition {
        ty: "Completed",
        status: "True",
        reason,
        message,
    })
}

fn pod_template(object: &Value, _: &PrintOptions) -> Vec<Value> {
    let template = &object["template"];
    let (names, images) = containers(&template["spec"]["containers"]);
    row![
        fields::name(object),
        names,
        images,
        labels(&template["metadata"]["labels"])
    ]
}

fn replication_controller(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        spec["replicas"].int(),
        status["replicas"].int(),
        status["readyReplicas"].int(),
        age::of(object, options),
        names,
        images,
        labels(&spec["selector"]),
    ]
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(container["restartCount"].int());
        let ended = &container["lastState"]["terminated"]["finishedAt"];
        self.last = self.last.max(age::time(ended));
    }

    fn print(self, options: &PrintOptions) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!("{} ({} ago)", self.count, age::since_time(last, options))
            }
            _ => self.count.to_string(),
        }
    }
}

fn summarize(pod: &Value) -> Summary {
    let status = &pod["status"];
    let mut reason = status["reason"].text_or(status["phase"].text()).to_owned();
    if status["conditions"].items().iter().any(is_scheduling_gated) {
        reason = "SchedulingGated".to_owned();
    }
    let init = initialize(pod);
    let mut ready = init.ready_sidecars;
    let mut restarts = init.restarts;
    let is_initialized = fields::is_condition_true(&status["conditions"], "Initialized");
    let is_initializing = init.blocked_by.is_some();
    reason = init.blocked_by.unwrap_or(reason);
    if !is_initializing || is_initialized {
        restarts = init.sidecar_restarts;
        reason = run(status, reason, &mut ready, &mut restarts);
    }
    if fields::is_deleting(pod) {
        if status["reason"].text() == "NodeLost" {
            reason = "Unknown".to_owned();
        } else if !matches!(status["phase"].text(), "Succeeded" | "Failed") {
            reason = "Terminating".to_owned();
        }
    }
    Summary {
        reason,
        ready,
        restarts,
    }
}

/// The progress of the init containers.
#[derive(Default)]
struct Initialization {
    ready_sidecars: i64,
    restarts: Restarts,
    sidecar_restarts: Restarts,
    blocked_by: Option<String>,
}

fn initialize(pod: &Value) -> Initialization {
    let specs = pod["spec"]["initContainers"].items();
    let mut progress = Initialization::default();
    for (index, container) in pod["status"]["initContainerStatuses"]
        .items()
        .iter()
        .enumerate()
    {
        let is_sidecar = specs
            .iter()
            .rfind(|spec| spec["name"] == container["name"])
            .is_some_and(is_sidecar);
        progress.restarts.add(container);
        if is_sidecar {
            progress.sidecar_restarts.add(container);
        }
        let terminated = &container["state"]["terminated"];
        if terminated.is_object() && terminated["exitCode"].int() == 0 {
            continue;
        }
        if is_sidecar && container["started"].flag() {
            progress.ready_sidecars += i64::from(container["ready"].flag());
            continue;
        }
        let waiting_for = container["state"]["waiting"]["reason"].text();
        progress.blocked_by = Some(if terminated.is_object() {
            format!("Init:{}", termination(terminated))
        } else if !matches!(waiting_for, "" | "PodInitializing") {
            format!("Init:{waiting_for}")
        } else {
            format!("Init:{index}/{}", specs.len())
        });
        break;
    }
    progress
}

/// Visits the containers from last to first, so that the status of the first one wins.
fn run(status: &Value, mut reason: String, ready: &mut i64, restarts: &mut Restarts) -> String {
    let mut is_any_running = false;
    let mut failure = None;
    for container in status["containerStatuses"].items().iter().rev() {
        restarts.add(container);
        let state = &container["state"];
        let waiting_for = state["waiting"]["reason"].text();
        let terminated = &state["terminated"];
        if !waiting_for.is_empty() {
            reason = waiting_for.to_owned();
        } else if terminated.is_object() {
            reason = termination(terminated);
            if terminated["exitCode"].int() != 0 {
                failure = Some(reason.clone());
            }
        } else if container["ready"].flag() && state["running"].is_object() {
            is_any_running = true;
            *ready += 1;
        }
    }
    if reason != "Completed" {
        return reason;
    }
    match failure {
        _ if is_any_running && is_ready(status) => "Running".to_owned(),
        Some(failure) => failure,
        None if is_any_running => "NotReady".to_owned(),
        None => reason,
    }
}

fn termination(terminated: &Value) -> String {
    match (terminated["reason"].text(), terminated["signal"].int()) {
        ("", 0) => format!("ExitCode:{}", terminated["exitCode"].int()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(init_container: &Value) -> bool {
    init_container["restartPolicy"].text() == "Always"
}

fn is_scheduling_gated(condition: &Value) -> bool {
    condition["type"].text() == "PodScheduled" && condition["reason"].text() == "SchedulingGated"
}

fn is_ready(status: &Value) -> bool {
    status["conditions"].items().iter().any(|condition| {
        condition["type"].text() == "Ready" && condition["status"].text() == "True"
    })
}

fn pod_ip(status: &Value) -> &str {
    let first = status["podIPs"][0]["ip"].text();
    status["podIP"].text_or(if first.is_empty() { "<none>" } else { first })
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod["spec"]["readinessGates"].items();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions = &pod["status"]["conditions"];
    let is_passed =
        |gate: &&Value| fields::is_condition_true(conditions, gate["conditionType"].text());
    format!("{}/{}", gates.iter().filter(is_passed).count(), gates.len())
}
