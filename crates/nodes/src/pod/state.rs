//! [`PodState`]: the state of a pod that runs on a node.

use std::{borrow::Cow, collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use jiff::Timestamp;
use kubewright_controller::{Clock, RequestSender};
use kubewright_scheduler::PodRejection;

use super::{
    container::{ContainerState, Now, ProbeKind},
    hooks::HookKind,
    plan::{Kind, Plan, time},
    requirement::Problem,
    resize::Resize,
};
use crate::{
    image::{Container, Image, Images},
    inside::Volumes,
    network::Network,
};

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
    /// The reason why the node rejected it.
    pub(crate) rejection: Option<PodRejection>,
    /// The time at which the termination of the deleted pod began.
    pub(crate) deletion_began: Option<Timestamp>,
    /// The time at which all containers but the sidecars had ended.
    pub(crate) completed: Option<Timestamp>,
    pub(crate) phase: Phase,
    /// A hash of the resources that the node has allocated to the pod.
    pub(crate) resources: Option<u64>,
    pub(crate) resize: Option<Box<Resize>>,
    /// Whether the status shows that a resize is in progress.
    pub(crate) has_shown_resize: bool,
    /// Whether the status that was written last has a condition of a resize.
    pub(crate) shows_resize: bool,
    /// The conditions that were written last, with their status and transition time.
    pub(crate) conditions: [Option<(bool, Timestamp)>; 5],
    /// A hash of the last status that was written.
    pub(crate) written: Option<u64>,
    /// The resourceVersion that the last write returned.
    pub(crate) version: String,
    /// Whether the event of the last write triggers another pass.
    pub(crate) is_awaited: bool,
    /// The errors of mounts that events have reported.
    pub(crate) reported: Vec<String>,
    /// The volumes with the lifetime of the pod, created on first use.
    pub(crate) volumes: Option<Volumes>,
    /// The names of the containers.
    pub(crate) names: Vec<Box<str>>,
    /// The numbers of changes that tests have requested, that were handled, and whose effects were written.
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

/// The environment of a pod on its node.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Timestamp,
    pub(crate) images: &'a Images,
    /// The images that are present on the node, with their sizes.
    pub(crate) present: &'a mut BTreeMap<String, u64>,
    /// The reasons for which the pod or its containers cannot start yet.
    pub(crate) problems: &'a [Problem],
    pub(crate) wake: &'a RequestSender,
    pub(crate) clock: &'a Clock,
    pub(crate) network: &'a Network,
    /// The address of the node.
    pub(crate) host: Ipv4Addr,
}

/// The actions that remain after a pass over a pod.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<PodEvent>,
    /// The time of the next transition.
    pub(crate) due: Option<Timestamp>,
    /// Whether another pass is needed once the status has been written.
    pub(crate) again: bool,
    /// The probes to run, by the number of their container.
    pub(crate) probes: Vec<(usize, ProbeKind)>,
    /// The hooks to run, by the number of their container.
    pub(crate) hooks: Vec<(usize, HookKind)>,
    /// The functions to start, by the number of their container.
    pub(crate) functions: Vec<(usize, Arc<dyn Image>, Container)>,
}

/// An event about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodEvent {
    pub(crate) is_warning: bool,
    pub(crate) reason: Cow<'static, str>,
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
    /// Creates the state of a pod that is new to the node. If the server shows that its containers run, they are taken over
    /// without a restart.
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
            rejection: None,
            deletion_began: None,
            completed: None,
            phase: match seen.phase.as_str() {
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                _ => Phase::Pending,
            },
            resources: None,
            resize: None,
            has_shown_resize: false,
            shows_resize: false,
            conditions: Default::default(),
            written: None,
            version: String::new(),
            is_awaited: false,
            reported: Vec::new(),
            volumes: None,
            names: Vec::new(),
            asked: 0,
            seen: 0,
            done: 0,
        };
        state.add_containers(plan);
        if start.is_some() {
            state.has_sandbox = state.ip.is_some();
            state.was_initialized = state.phase == Phase::Running;
            // An earlier status exists, so the next write is not the first.
            state.written = Some(0);
            state.take_over(plan, now);
        }
        state
    }

    /// Fails a pod that the node cannot run.
    pub(crate) fn reject(&mut self, rejection: PodRejection) {
        self.phase = Phase::Failed;
        self.rejection = Some(rejection);
    }

    /// Adds containers that were added to the pod: ephemeral ones.
    pub(crate) fn add_containers(&mut self, plan: &Plan) {
        let has_init = plan.containers.iter().any(|c| c.kind == Kind::Init);
        let has_sidecar = plan.containers.iter().any(|c| c.kind == Kind::Sidecar);
        let missing = plan.containers.len().saturating_sub(self.containers.len());
        // Most pods have one container, for which a vector that grows reserves room for four.
        self.containers.reserve_exact(missing);
        self.names.reserve_exact(missing);
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
                reports_log: container.raw.termination_message_policy == "FallbackToLogsOnError",
                ..ContainerState::default()
            });
        }
    }

    /// Reports whether a container has not been started yet.
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
