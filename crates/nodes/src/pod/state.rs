//! [`PodState`]: a pod that a node knows.

use std::{collections::BTreeSet, net::Ipv4Addr, sync::Arc};

use jiff::Timestamp;
use kubewright_controller::{Clock, RequestSender};

use super::{
    container::{ContainerState, Ended, Now},
    plan::{Kind, Plan, Reference, SeenContainer, time},
};
use crate::image::{Container, Image, Images};

/// A pod on its node.
pub(crate) struct PodState {
    pub(crate) uid: String,
    pub(crate) node: Arc<str>,
    pub(crate) start: Timestamp,
    pub(crate) ip: Option<Ipv4Addr>,
    pub(crate) containers: Vec<ContainerState>,
    /// Whether the sandbox, and with it the network, is ready.
    pub(crate) has_sandbox: bool,
    pub(crate) was_initialized: bool,
    /// The reason and message of a pod that failed as a whole.
    pub(crate) failure: Option<(String, String)>,
    pub(crate) disruption: Option<String>,
    /// Whether its containers have been told to stop.
    pub(crate) is_stopping: bool,
    pub(crate) phase: Phase,
    /// The conditions as they were written last: their status, and since when.
    pub(crate) conditions: [Option<(bool, Timestamp)>; 5],
    /// A hash of the status that was written last.
    pub(crate) written: Option<u64>,
    /// The version that the last write had.
    pub(crate) version: String,
    /// Whether the event of the last write is to be looked at.
    pub(crate) is_awaited: bool,
    /// The names of the containers.
    pub(crate) names: Vec<Box<str>>,
    /// The number of changes that tests have asked for, of those that were looked at, and of those whose effects were written.
    pub(crate) asked: u64,
    pub(crate) seen: u64,
    pub(crate) done: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// The surroundings of a pod on its node.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Timestamp,
    pub(crate) images: &'a Images,
    /// The images that the node has.
    pub(crate) present: &'a mut BTreeSet<String>,
    /// The objects that the pod needs and that do not exist.
    pub(crate) missing: &'a [Reference],
    pub(crate) wake: &'a RequestSender,
    pub(crate) clock: &'a Clock,
}

/// The work that is left after a pod was handled.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<PodEvent>,
    /// The time of the next change that happens by itself.
    pub(crate) due: Option<Timestamp>,
    /// Whether there is more to do once the status has been written.
    pub(crate) again: bool,
    /// The functions to start, by the number of their container.
    pub(crate) functions: Vec<(usize, Arc<dyn Image>, Container)>,
}

/// An event about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodEvent {
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The container that it is about.
    pub(crate) field: Option<String>,
}

impl Outcome {
    pub(crate) fn due_at(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

impl Phase {
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

impl PodState {
    /// Creates the state of a pod that the node sees for the first time. One that the server shows as started is taken over: its
    /// containers go on.
    pub(crate) fn new(plan: &Plan, node: Arc<str>, now: Timestamp) -> Self {
        let seen = &plan.status;
        let start = seen.start_time.as_deref().and_then(time);
        let mut state = Self {
            uid: plan.uid.clone(),
            node,
            start: start.unwrap_or(now),
            ip: seen.pod_ip.as_deref().and_then(|ip| ip.parse().ok()),
            containers: Vec::new(),
            has_sandbox: false,
            was_initialized: false,
            failure: None,
            disruption: None,
            is_stopping: false,
            phase: match seen.phase.as_str() {
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                _ => Phase::Pending,
            },
            conditions: Default::default(),
            written: None,
            version: String::new(),
            is_awaited: false,
            names: Vec::new(),
            asked: 0,
            seen: 0,
            done: 0,
        };
        state.add_containers(plan);
        if start.is_some() {
            state.has_sandbox = state.ip.is_some();
            state.was_initialized = state.phase == Phase::Running;
            // Something was written before, so this is not the first write.
            state.written = Some(0);
            state.take_over(plan, now);
        }
        state
    }

    /// Adds containers that came later: ephemeral ones.
    pub(crate) fn add_containers(&mut self, plan: &Plan) {
        let has_init = plan.containers.iter().any(|c| c.kind == Kind::Init);
        let has_sidecar = plan.containers.iter().any(|c| c.kind == Kind::Sidecar);
        while self.containers.len() < plan.containers.len() {
            let container = &plan.containers[self.containers.len()];
            let kind = container.kind;
            self.names.push(container.raw.name.as_str().into());
            let waits = (has_init || has_sidecar) && kind != Kind::Ephemeral;
            self.containers.push(ContainerState {
                now: Now::waiting(match waits {
                    true => "PodInitializing",
                    false => "ContainerCreating",
                }),
                ..ContainerState::default()
            });
        }
    }

    /// Reports whether a container waits to be started.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut containers = self.containers.iter();
        containers.any(|c| matches!(c.now, Now::Waiting { .. }))
    }

    fn take_over(&mut self, plan: &Plan, now: Timestamp) {
        let seen = &plan.status;
        let find = |kind: Kind, name: &str| {
            let statuses = match kind {
                Kind::Init | Kind::Sidecar => &seen.init_container_statuses,
                Kind::Main => &seen.container_statuses,
                Kind::Ephemeral => &seen.ephemeral_container_statuses,
            };
            statuses.iter().find(|status| status.name == name)
        };
        for (state, container) in self.containers.iter_mut().zip(&plan.containers) {
            if let Some(seen) = find(container.kind, &container.raw.name) {
                state.take_over(seen, now);
            }
        }
        for (slot, name) in super::status::CONDITIONS.iter().enumerate() {
            let condition = seen.conditions.iter().find(|c| c.type_ == *name);
            self.conditions[slot] = condition.and_then(|condition| {
                let since = condition.last_transition_time.as_deref().and_then(time);
                Some((condition.status == "True", since?))
            });
        }
    }
}

impl ContainerState {
    fn take_over(&mut self, seen: &SeenContainer, now: Timestamp) {
        self.restarts = seen.restart_count;
        self.pull.is_done = true;
        let read = |time_: &Option<String>| time_.as_deref().and_then(time);
        if let Some(running) = &seen.state.running {
            self.is_started = seen.started;
            self.is_ready = seen.ready;
            self.now = Now::Running {
                since: read(&running.started_at).unwrap_or(now),
                end: None,
            };
        } else if let Some(ended) = &seen.state.terminated {
            let reason = ["Completed", "Error", "OOMKilled", "ContainerStatusUnknown"];
            let reason = reason.into_iter().find(|reason| *reason == ended.reason);
            self.now = Now::Ended(Box::new(Ended {
                code: ended.exit_code,
                reason: reason.unwrap_or("Error"),
                message: String::new(),
                started: read(&ended.started_at),
                finished: read(&ended.finished_at).unwrap_or(now),
            }));
        } else {
            self.pull.is_done = false;
        }
    }
}
