//! The state machine of a pod: the next transition and its time.

use super::{
    container::{Ended, Now},
    plan::{Kind, Plan},
    requirement::Problem,
    state::{Outcome, Phase, PodEvent, PodState, Surroundings},
};

impl PodState {
    /// Performs all transitions that are due, without waiting. Later ones are scheduled.
    pub(crate) fn advance(&mut self, plan: &Plan, around: &mut Surroundings<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        self.add_containers(plan);
        if self.written.is_none()
            && let Some(rejection) = &self.rejection
        {
            outcome.events.push(PodEvent {
                is_warning: true,
                reason: rejection.reason.clone().into(),
                message: rejection.message.clone(),
                field: None,
            });
        }
        if self.written.is_none() {
            // The first status shows that the node has seen the pod.
            outcome.again = true;
            return outcome;
        }
        if matches!(plan.status.phase.as_str(), "Succeeded" | "Failed") && !self.phase.is_terminal()
        {
            // Another client has ended the pod.
            self.phase = match plan.status.phase.as_str() {
                "Succeeded" => Phase::Succeeded,
                _ => Phase::Failed,
            };
            self.kill_all(around.now);
        }
        if plan.deletion.is_some() {
            self.stop(plan, around, &mut outcome);
            return outcome;
        }
        if self.phase.is_terminal() {
            return outcome;
        }
        if self.failure.is_none() && self.exceeds_deadline(plan, around, &mut outcome) {
            let message = "Pod was active on the node longer than the specified deadline";
            self.fail("DeadlineExceeded", message);
            outcome.events.push(PodEvent {
                is_warning: false,
                reason: "DeadlineExceeded".into(),
                message: message.to_owned(),
                field: None,
            });
        }
        if self.failure.is_some() {
            self.kill_all(around.now);
            self.phase = Phase::Failed;
            return outcome;
        }
        self.complete_resize(plan, &mut outcome);
        self.restart_all(plan, around.now, &mut outcome);
        self.run_containers(plan, around, &mut outcome);
        self.phase = self.compute_phase(plan);
        if self.phase.is_terminal() {
            self.has_sandbox = false;
        }
        outcome
    }

    /// Fails the pod as a whole.
    pub(crate) fn fail(&mut self, reason: &str, message: &str) {
        self.failure = Some((reason.to_owned(), message.to_owned()));
    }

    fn exceeds_deadline(
        &self,
        plan: &Plan,
        around: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let Some(seconds) = plan.spec.active_deadline_seconds else {
            return false;
        };
        let allowed = jiff::SignedDuration::from_secs(seconds);
        let Ok(deadline) = self.start.saturating_add(allowed) else {
            return false;
        };
        outcome.due_at(deadline);
        deadline <= around.now
    }

    fn run_containers(
        &mut self,
        plan: &Plan,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        if self.lacks_volume(around, outcome) {
            return;
        }
        self.has_sandbox = true;
        for (i, container) in plan.containers.iter().enumerate() {
            match container.kind {
                Kind::Init => {
                    // Init containers are not run again once the pod has been initialized.
                    if self.containers[i].has_succeeded() || self.was_initialized {
                        continue;
                    }
                    self.run_container(plan, i, around, outcome);
                    if !self.containers[i].has_succeeded() {
                        return;
                    }
                }
                Kind::Sidecar => {
                    self.run_container(plan, i, around, outcome);
                    if !self.containers[i].is_started && !self.was_initialized {
                        return;
                    }
                }
                Kind::Main | Kind::Ephemeral => {
                    self.was_initialized = true;
                    self.run_container(plan, i, around, outcome);
                }
            }
        }
        let mut main = self.of_kind(plan, Kind::Main);
        let ended = main.all(|i| self.has_ended_for_good(plan, i));
        if ended {
            self.stop_sidecars(plan, around, outcome);
        }
    }

    /// Reports whether a volume cannot be mounted because an object is missing. An event reports each error once.
    fn lacks_volume(&mut self, around: &Surroundings<'_>, outcome: &mut Outcome) -> bool {
        if self.has_sandbox {
            return false;
        }
        let errors = around.problems.iter().filter_map(|problem| match problem {
            Problem::Mount(message) => Some(message.clone()),
            Problem::Environment(..) => None,
        });
        let errors: Vec<String> = errors.collect();
        let new = errors.iter().filter(|error| !self.reported.contains(error));
        outcome.events.extend(new.map(|message| PodEvent {
            is_warning: true,
            reason: "FailedMount".into(),
            message: message.clone(),
            field: None,
        }));
        self.reported = errors;
        if self.reported.is_empty() {
            return false;
        }
        outcome.due_at(super::start::retry_at(around.now));
        true
    }

    pub(super) fn of_kind<'a>(
        &self,
        plan: &'a Plan,
        kind: Kind,
    ) -> impl Iterator<Item = usize> + 'a {
        let containers = plan.containers.iter().enumerate();
        containers
            .filter(move |(_, c)| c.kind == kind)
            .map(|(i, _)| i)
    }

    /// Reports whether a container has ended and will not be restarted.
    fn has_ended_for_good(&self, plan: &Plan, i: usize) -> bool {
        let ended = self.containers[i].ended();
        ended.is_some_and(|ended: &Ended| !plan.containers[i].restarts(&plan.spec, ended))
    }

    /// Kills all containers immediately.
    pub(crate) fn kill_all(&mut self, now: jiff::Timestamp) {
        for container in &mut self.containers {
            if container.is_running() {
                container.end(137, None, now);
            }
        }
        self.has_sandbox = false;
    }

    fn compute_phase(&self, plan: &Plan) -> Phase {
        let mut failed_init = self.of_kind(plan, Kind::Init).filter(|i| {
            let ended = self.containers[*i].ended();
            ended.is_some_and(|e| e.code != 0 && !plan.containers[*i].restarts(&plan.spec, e))
        });
        if failed_init.next().is_some() {
            return Phase::Failed;
        }
        let main: Vec<usize> = self.of_kind(plan, Kind::Main).collect();
        if !self.was_initialized {
            return Phase::Pending;
        }
        let is_new = |i: &usize| {
            let container = &self.containers[*i];
            matches!(container.now, Now::Waiting { .. }) && container.last.is_none()
        };
        if main.iter().any(is_new) {
            return Phase::Pending;
        }
        if !main.iter().all(|i| self.has_ended_for_good(plan, *i)) {
            return Phase::Running;
        }
        let mut sidecars = self.of_kind(plan, Kind::Sidecar);
        if sidecars.any(|i| self.containers[i].is_running()) {
            return Phase::Running;
        }
        match main.iter().all(|i| self.containers[*i].has_succeeded()) {
            true => Phase::Succeeded,
            false => Phase::Failed,
        }
    }
}
