//! The rule `RestartAllContainers`: the exit of one container restarts the whole pod in place.

use jiff::Timestamp;

use super::{
    container::{Ended, Now},
    plan::{ContainerPlan, Kind, Plan},
    state::{Outcome, PodState},
};

impl ContainerPlan {
    /// Reports whether the exit of the container restarts all containers of its pod.
    pub(super) fn restarts_all(&self, ended: &Ended) -> bool {
        let rule = self.restart_rule(ended);
        rule.is_some_and(|rule| rule.action == "RestartAllContainers")
    }
}

impl PodState {
    /// Restarts all containers from the first init container on if the exit of one demands it and its backoff is over.
    pub(super) fn restart_all(&mut self, plan: &Plan, now: Timestamp, outcome: &mut Outcome) {
        let source = plan.containers.iter().zip(&mut self.containers);
        let source = source.into_iter().find_map(|(container, state)| {
            let ended = state.ended()?;
            let finished = ended.finished;
            container.restarts_all(ended).then_some((state, finished))
        });
        let Some((source, finished)) = source else {
            return;
        };
        if let Some((until, _)) = source.backoff.until(finished)
            && until > now
        {
            outcome.due_at(until);
            return;
        }
        source.backoff.next(finished);
        for (container, state) in plan.containers.iter().zip(&mut self.containers) {
            if container.kind == Kind::Ephemeral {
                continue;
            }
            if state.is_running() {
                state.end(137, None, now);
            }
            if state.ended().is_none() {
                continue;
            }
            let waiting = Now::waiting("PodInitializing");
            if let Now::Ended(ended) = std::mem::replace(&mut state.now, waiting) {
                state.last = Some(ended);
            }
            state.pull = Default::default();
            state.previous_log = Some(std::mem::take(&mut state.log));
        }
        self.was_initialized = false;
    }
}
