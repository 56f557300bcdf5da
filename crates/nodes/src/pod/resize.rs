//! In-place resizes: changes of the resources of a pod that runs.

use std::hash::{BuildHasher, Hasher};

use jiff::Timestamp;
use kubewright_scheduler::ResizeRejection;
use serde_json::{Value, json};

use super::{
    plan::{Kind, Plan},
    state::{Outcome, PodEvent, PodState},
};

/// The conditions of a resize, in the order of a kubelet.
pub(crate) const CONDITIONS: [&str; 2] = ["PodResizePending", "PodResizeInProgress"];

/// A resize that has not been completed.
pub(crate) struct Resize {
    /// The resources of the containers before it.
    before: Vec<Value>,
    /// The resources of the pod as a whole before it.
    pod: Value,
    stage: Stage,
    since: Timestamp,
    generation: i64,
}

enum Stage {
    /// The node has no room for it, now or ever.
    Pending(ResizeRejection),
    /// The node has room for it.
    InProgress,
}

impl PodState {
    /// Returns whether the resources of the pod have changed since the node looked at them.
    pub(crate) fn is_resized(&self, plan: &Plan) -> bool {
        self.resources.is_some_and(|known| known != resources(plan))
            && self.written.is_some()
            && !self.phase.is_terminal()
    }

    /// Notes the resources that the pod starts with.
    pub(crate) fn note_resources(&mut self, plan: &Plan) {
        self.resources.get_or_insert_with(|| resources(plan));
    }

    /// Begins a resize that the node has room for, or notes why it has none.
    pub(crate) fn begin_resize(
        &mut self,
        plan: &Plan,
        decision: Result<(), ResizeRejection>,
        now: Timestamp,
    ) -> Option<PodEvent> {
        let before = match self.resize.take() {
            Some(known) if matches!(known.stage, Stage::Pending(_)) => {
                let stays = match (&known.stage, &decision) {
                    (Stage::Pending(old), Err(new)) => {
                        old == new && known.generation == plan.generation
                    }
                    _ => false,
                };
                if stays {
                    self.resize = Some(known);
                    return None;
                }
                (known.before, known.pod)
            }
            _ => (self.shown(plan), plan.status.resources.clone()),
        };
        let (before, pod) = before;
        let event = match &decision {
            Ok(()) => event(plan, false, "ResizeStarted", "Pod resize started", ""),
            Err(ResizeRejection::Deferred(why)) => {
                event(plan, true, "ResizeDeferred", "Pod resize Deferred", why)
            }
            Err(ResizeRejection::Infeasible(why)) => {
                event(plan, true, "ResizeInfeasible", "Pod resize Infeasible", why)
            }
        };
        let stage = match decision {
            Ok(()) => {
                self.resources = Some(resources(plan));
                Stage::InProgress
            }
            Err(refusal) => Stage::Pending(refusal),
        };
        self.resize = Some(Box::new(Resize {
            before,
            pod,
            stage,
            since: now,
            generation: plan.generation,
        }));
        Some(event)
    }

    /// Forgets a pending resize that was taken back.
    pub(crate) fn take_resize_back(&mut self) {
        let stage = self.resize.as_ref().map(|resize| &resize.stage);
        if matches!(stage, Some(Stage::Pending(_))) {
            self.resize = None;
        }
    }

    /// Completes a resize whose beginning has been written.
    pub(super) fn complete_resize(&mut self, plan: &Plan, outcome: &mut Outcome) {
        let stage = self.resize.as_ref().map(|resize| &resize.stage);
        if !matches!(stage, Some(Stage::InProgress)) {
            return;
        }
        if !self.has_shown_resize {
            // The condition is written first.
            self.has_shown_resize = true;
            outcome.again = true;
            return;
        }
        self.has_shown_resize = false;
        let Some(resize) = self.resize.take() else {
            return;
        };
        for (i, before) in resize.before.iter().enumerate() {
            let (Some(container), Some(state)) =
                (plan.containers.get(i), self.containers.get_mut(i))
            else {
                continue;
            };
            let changed = |name: &str| {
                ["requests", "limits"]
                    .iter()
                    .any(|kind| before[kind][name] != container.raw.resources[kind][name])
            };
            let policies = container.raw.resize_policy.iter();
            let mut restarting =
                policies.filter(|policy| policy.restart_policy == "RestartContainer");
            if state.is_running() && restarting.any(|policy| changed(&policy.resource_name)) {
                state.forced.exit = Some((137, "Error"));
                state.is_resized = true;
            }
        }
        outcome.events.push(event(
            plan,
            false,
            "ResizeCompleted",
            "Pod resize completed",
            "",
        ));
    }

    /// Returns the resources of a container: those that were allocated to it, and those that it has.
    pub(crate) fn resources_of<'a>(&'a self, plan: &'a Plan, i: usize) -> (&'a Value, &'a Value) {
        let own = &plan.containers[i].raw.resources;
        let Some(resize) = &self.resize else {
            return (own, own);
        };
        let before = resize.before.get(i).unwrap_or(own);
        match resize.stage {
            Stage::Pending(_) => (before, before),
            Stage::InProgress => (own, before),
        }
    }

    /// Returns the resources of the pod as a whole, if it has any: those that were allocated to it, and those that it has.
    pub(super) fn resources_of_pod<'a>(&'a self, plan: &'a Plan) -> Option<(&'a Value, &'a Value)> {
        let own = Some(&plan.spec.resources).filter(|own| own.is_object())?;
        let Some(resize) = &self.resize else {
            return Some((own, own));
        };
        Some(match resize.stage {
            Stage::Pending(_) => (&resize.pod, &resize.pod),
            Stage::InProgress => (own, &resize.pod),
        })
    }

    /// Returns the conditions of a resize.
    pub(super) fn resize_conditions(&self) -> Vec<Value> {
        let Some(resize) = &self.resize else {
            return Vec::new();
        };
        let at = super::status::seconds(resize.since);
        let mut condition = json!({
            "status": "True", "lastProbeTime": at, "lastTransitionTime": at,
            "observedGeneration": resize.generation,
        });
        condition["type"] = json!(match &resize.stage {
            Stage::Pending(_) => CONDITIONS[0],
            Stage::InProgress => CONDITIONS[1],
        });
        if let Stage::Pending(refusal) = &resize.stage {
            let (reason, message) = match refusal {
                ResizeRejection::Deferred(message) => ("Deferred", message),
                ResizeRejection::Infeasible(message) => ("Infeasible", message),
            };
            condition["reason"] = json!(reason);
            condition["message"] = json!(message);
        }
        vec![condition]
    }

    /// Returns the resources of the containers that the server shows.
    fn shown(&self, plan: &Plan) -> Vec<Value> {
        let containers = plan.containers.iter();
        let shown = containers.map(|container| {
            let statuses = match container.kind {
                Kind::Init | Kind::Sidecar => &plan.status.init_container_statuses,
                Kind::Main => &plan.status.container_statuses,
                Kind::Ephemeral => &plan.status.ephemeral_container_statuses,
            };
            let status = statuses.iter().find(|s| s.name == container.raw.name);
            status
                .map(|status| status.resources.clone())
                .unwrap_or_default()
        });
        shown.collect()
    }
}

/// Returns an event with the resources that the pod is to have.
fn event(plan: &Plan, is_warning: bool, reason: &'static str, text: &str, error: &str) -> PodEvent {
    let of = |kinds: &[Kind]| {
        let containers = plan.containers.iter().filter(|c| kinds.contains(&c.kind));
        let containers = containers.map(|container| {
            let resources = match &container.raw.resources {
                Value::Null => json!({}),
                resources => resources.clone(),
            };
            json!({"name": container.raw.name, "resources": resources})
        });
        containers.collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    for (name, kinds) in [
        ("initContainers", &[Kind::Init, Kind::Sidecar][..]),
        ("containers", &[Kind::Main]),
    ] {
        let containers = of(kinds);
        if !containers.is_empty() {
            parts.push(format!("{}:{}", json!(name), json!(containers)));
        }
    }
    parts.push(format!("\"generation\":{}", plan.generation));
    if !error.is_empty() {
        parts.push(format!("\"error\":{}", json!(error)));
    }
    PodEvent {
        is_warning,
        reason: reason.into(),
        message: format!("{text}: {{{}}}", parts.join(",")),
        field: None,
    }
}

/// Returns a hash of the resources of the pod and its containers.
fn resources(plan: &Plan) -> u64 {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    for container in &plan.containers {
        if container.kind == Kind::Ephemeral {
            continue;
        }
        hasher.write(container.raw.name.as_bytes());
        hasher.write(container.raw.resources.to_string().as_bytes());
    }
    hasher.write(plan.spec.resources.to_string().as_bytes());
    hasher.finish()
}
