//! The termination of a pod: its containers are asked to stop, and killed at the end of the grace period.

use jiff::{SignedDuration, Timestamp};

use super::{
    container::{ContainerState, Now, ProbeKind},
    plan::{ContainerPlan, Kind, Plan},
    state::{Outcome, Phase, PodState, Surroundings},
};

/// The shortest time between the request to stop and the kill.
const LEAST: SignedDuration = SignedDuration::from_secs(2);

/// The limits of a termination.
#[derive(Clone, Copy)]
pub(super) struct Grace {
    /// The end of the grace period.
    deadline: Timestamp,
    /// The shortest time between the request to stop and the kill.
    least: SignedDuration,
}

/// The termination of a container that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopping {
    /// The end of a hook that only sleeps.
    sleeps_until: Timestamp,
    /// The time at which the container was asked to stop.
    signal: Option<Timestamp>,
}

impl Grace {
    /// Returns the limits of a termination that ends at a time.
    pub(super) fn until(deadline: Timestamp) -> Self {
        Self {
            deadline,
            least: LEAST,
        }
    }
}

impl PodState {
    /// Stops all containers of a deleted pod.
    pub(super) fn stop(
        &mut self,
        plan: &Plan,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        let Some(deletion) = &plan.deletion else {
            return;
        };
        let began = *self.deletion_began.get_or_insert(around.now);
        let grace = match deletion.grace_seconds {
            0 => Grace {
                deadline: around.now,
                least: SignedDuration::ZERO,
            },
            seconds => Grace::until(deletion.at.max(after(began, seconds))),
        };
        for i in 0..plan.containers.len() {
            // A container stays ready until it ends, or its probe fails.
            self.probe(plan, i, &[ProbeKind::Readiness], around, outcome);
        }
        if self.stop_containers(plan, |_| true, grace, around.now, outcome) {
            self.conclude(plan, around.now);
        }
    }

    /// Stops the sidecars of a pod whose other containers have ended.
    pub(super) fn stop_sidecars(
        &mut self,
        plan: &Plan,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        let completed = *self.completed.get_or_insert(around.now);
        let grace = Grace::until(after(completed, plan.spec.grace_seconds()));
        let is_sidecar = |kind| kind == Kind::Sidecar;
        self.stop_containers(plan, is_sidecar, grace, around.now, outcome);
    }

    /// Reports whether all containers have ended, so that the pod can be deleted from the server.
    pub(crate) fn is_finished(&self) -> bool {
        self.deletion_began.is_some() && !self.containers.iter().any(|c| c.is_running())
    }

    /// Stops containers: sidecars after the others, in reverse order. The hooks of all of them run immediately. Returns
    /// whether all have ended.
    fn stop_containers(
        &mut self,
        plan: &Plan,
        is_wanted: impl Fn(Kind) -> bool,
        grace: Grace,
        now: Timestamp,
        outcome: &mut Outcome,
    ) -> bool {
        let containers = plan.containers.iter().enumerate();
        let wanted = containers.filter(|(_, container)| is_wanted(container.kind));
        let wanted: Vec<(usize, &ContainerPlan)> = wanted.collect();
        for (i, container) in &wanted {
            let text = format!("Stopping container {}", container.raw.name);
            self.containers[*i].begin_stop(container, text, now, outcome);
        }
        for (i, container) in wanted.iter().rev() {
            let mut later = self.containers.iter().skip(i + 1);
            let is_early = container.kind == Kind::Sidecar
                && grace.deadline > now
                && later.any(ContainerState::is_running);
            let state = &mut self.containers[*i];
            if is_early {
                outcome.due_at(grace.deadline);
                // Its hook does not wait for the other containers.
                state.waits_before_signal(container, *i, grace, now, outcome);
            } else {
                state.stop(container, *i, grace, now, outcome);
            }
        }
        let mut wanted = wanted.iter();
        wanted.all(|(i, _)| !self.containers[*i].is_running())
    }

    /// Returns the containers whose turn to start has come. The others stay as they are: they cannot have failed.
    fn begun(&self, plan: &Plan) -> Vec<usize> {
        let is_init = |kind: Kind| matches!(kind, Kind::Init | Kind::Sidecar);
        let inits = plan.containers.iter().filter(|c| is_init(c.kind)).count();
        let has_run = |i: &usize| {
            let state = &self.containers[*i];
            state.last.is_some() || !matches!(state.now, Now::Waiting { .. })
        };
        let is_initialized = inits == 0
            || self.was_initialized
            || (inits..self.containers.len()).any(|i| has_run(&i));
        let last = (0..inits).rev().find(has_run);
        let begun = 0..last.map_or(0, |last| last + 1);
        let main = (inits..self.containers.len()).filter(|i| {
            is_initialized
                && plan
                    .containers
                    .get(*i)
                    .is_some_and(|c| c.kind == Kind::Main)
        });
        begun.chain(main).collect()
    }

    /// Sets the final status of the pod.
    fn conclude(&mut self, plan: &Plan, now: Timestamp) {
        let begun = self.begun(plan);
        for (i, state) in self.containers.iter_mut().enumerate() {
            if let Now::Waiting { .. } = state.now
                && begun.contains(&i)
            {
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

impl ContainerState {
    /// Begins the termination of a container, which an event reports.
    pub(super) fn begin_stop(
        &mut self,
        container: &ContainerPlan,
        text: String,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        if !self.is_running() || self.stopping.is_some() {
            return;
        }
        outcome.events.push(container.event(false, "Killing", text));
        let hook = container.raw.lifecycle.pre_stop.as_ref();
        let sleep = hook.and_then(|handler| handler.sleep.as_ref());
        self.stopping = Some(Stopping {
            sleeps_until: after(now, sleep.map_or(0, |sleep| sleep.seconds)),
            signal: None,
        });
    }

    /// Advances a termination that has begun: the hook, the request to stop, and the kill.
    pub(super) fn stop(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        grace: Grace,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        if !self.is_running() {
            return;
        }
        if let Some((code, reason)) = self.exited(now) {
            self.end(code, reason, now);
            return;
        }
        if self.waits_before_signal(container, i, grace, now, outcome) {
            return;
        }
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        let signal = *stopping.signal.get_or_insert(now);
        let kill = grace
            .deadline
            .max(signal.saturating_add(grace.least).unwrap_or(signal));
        if let Some(function) = &self.function {
            function.signals.stop.send_replace(true);
            let code = function.signals.state.lock().exit_code;
            if let Some(code) = code {
                self.end(code, None, now);
                return;
            }
        }
        let behavior = self.behavior.as_ref();
        let waits = self.function.is_some() || behavior.is_some_and(|b| b.ignores_stop);
        if !waits {
            self.end(0, None, now);
        } else if kill <= now {
            self.end(137, None, now);
        } else {
            outcome.due_at(kill);
        }
    }

    /// Runs the hook before the stop. Returns whether the container must wait for it.
    fn waits_before_signal(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        grace: Grace,
        now: Timestamp,
        outcome: &mut Outcome,
    ) -> bool {
        let Some(stopping) = self.stopping.filter(|_| self.is_running()) else {
            return false;
        };
        if stopping.signal.is_some() || grace.deadline <= now {
            return false;
        }
        let is_asleep = stopping.sleeps_until > now;
        if is_asleep {
            outcome.due_at(stopping.sleeps_until.min(grace.deadline));
        }
        let waits = self.waits_for_pre_stop(container, i, outcome);
        if waits {
            outcome.due_at(grace.deadline);
        }
        is_asleep || waits
    }
}

/// Returns the time a number of seconds after another.
pub(super) fn after(time: Timestamp, seconds: i64) -> Timestamp {
    let seconds = SignedDuration::from_secs(seconds.max(0));
    time.saturating_add(seconds).unwrap_or(Timestamp::MAX)
}
