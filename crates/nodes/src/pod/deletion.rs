//! The end of a pod: its containers are told to stop, and killed when their time is over.

use jiff::{SignedDuration, Timestamp};

use super::{
    container::Now,
    plan::{ContainerPlan, Kind, Plan},
    state::{Outcome, Phase, PodState, Surroundings},
};

/// The least time that a container has between the signal to stop and its end.
const LEAST: SignedDuration = SignedDuration::from_secs(2);

impl PodState {
    /// Stops all containers: sidecars after the others, the last one first.
    pub(super) fn stop(
        &mut self,
        plan: &Plan,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        let Some(deletion) = &plan.deletion else {
            return;
        };
        let least = around.now.saturating_add(LEAST).unwrap_or(around.now);
        let deadline = match deletion.grace_seconds {
            0 => around.now,
            _ if self.is_stopping => deletion.at,
            _ => deletion.at.max(least),
        };
        self.is_stopping = true;
        let mut others = plan.containers.iter().enumerate();
        let others: Vec<usize> = others
            .by_ref()
            .filter(|(_, c)| c.kind != Kind::Sidecar)
            .map(|(i, _)| i)
            .collect();
        for i in &others {
            self.stop_container(&plan.containers[*i], *i, deadline, around.now, outcome);
        }
        if others.iter().any(|i| self.containers[*i].is_running()) {
            return;
        }
        let sidecars: Vec<usize> = self.of_kind(plan, Kind::Sidecar).collect();
        for i in sidecars.into_iter().rev() {
            self.stop_container(&plan.containers[i], i, deadline, around.now, outcome);
            if self.containers[i].is_running() {
                return;
            }
        }
        self.conclude(plan, around.now);
    }

    /// Stops the sidecars of a pod whose other containers have ended.
    pub(super) fn stop_sidecars(
        &mut self,
        plan: &Plan,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        let sidecars: Vec<usize> = self.of_kind(plan, Kind::Sidecar).collect();
        for i in sidecars.into_iter().rev() {
            let deadline = around.now.saturating_add(SignedDuration::from_secs(30));
            let deadline = deadline.unwrap_or(around.now);
            self.stop_container(&plan.containers[i], i, deadline, around.now, outcome);
        }
    }

    /// Reports whether nothing of the pod runs any more, and the server may forget it.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_stopping && !self.containers.iter().any(|c| c.is_running())
    }

    fn stop_container(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        deadline: Timestamp,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        let state = &mut self.containers[i];
        if !state.is_running() {
            return;
        }
        if state.stopping.is_none() {
            let text = format!("Stopping container {}", container.raw.name);
            outcome.events.push(container.event(false, "Killing", text));
            let hook = container.raw.lifecycle.pre_stop.as_ref();
            let hook = hook.and_then(|hook| hook.sleep.as_ref());
            let hook = SignedDuration::from_secs(hook.map_or(0, |sleep| sleep.seconds));
            let signal = now.saturating_add(hook).unwrap_or(now).min(deadline);
            state.stopping = Some(signal);
        }
        let signal = state.stopping.unwrap_or(now);
        if signal > now {
            outcome.due_at(signal);
            return;
        }
        if let Some(function) = &state.function {
            function.signals.stop.send_replace(true);
            let code = function.signals.state.lock().exit_code;
            if let Some(code) = code {
                state.end(code, None, now);
                return;
            }
        }
        let waits = state.function.is_some()
            || state
                .behavior
                .as_ref()
                .is_some_and(|behavior| behavior.ignores_stop);
        if !waits {
            state.end(0, None, now);
        } else if deadline <= now {
            state.end(137, None, now);
        } else {
            outcome.due_at(deadline);
        }
    }

    /// Gives the pod its last status.
    fn conclude(&mut self, plan: &Plan, now: Timestamp) {
        for state in &mut self.containers {
            if let Now::Waiting { .. } = state.now {
                state.end(137, Some("ContainerStatusUnknown"), now);
                if let Now::Ended(ended) = &mut state.now {
                    ended.message =
                        "The container could not be located when the pod was terminated".to_owned();
                }
            }
        }
        self.has_sandbox = false;
        if self.phase.is_terminal() {
            return;
        }
        let mut main = self.of_kind(plan, Kind::Main);
        self.phase = match main.all(|i| self.containers[i].has_succeeded()) {
            true => Phase::Succeeded,
            false => Phase::Failed,
        };
    }
}
