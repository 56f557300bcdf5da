//! Probes of containers.
//!
//! A probe whose result cannot change by itself does not run: it is due again when the behavior of its container says so, or
//! when somebody changes the result.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{
    container::{Now, ProbeKind, Probing},
    plan::{ContainerPlan, Plan, Probe},
    start::later,
    state::{Outcome, PodState, Surroundings},
};

impl PodState {
    /// Runs the probes of a container that are due. Returns whether the container has to be killed.
    pub(super) fn probe(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        for kind in [
            ProbeKind::Startup,
            ProbeKind::Readiness,
            ProbeKind::Liveness,
        ] {
            let Some(probe) = container.probe(kind) else {
                continue;
            };
            let (started, written) = (self.containers[i].is_started, self.containers[i].is_written);
            let waits = match kind {
                ProbeKind::Startup => started,
                ProbeKind::Readiness | ProbeKind::Liveness => !started,
            };
            if waits {
                continue;
            }
            if !written {
                // That it runs is written before what probes say.
                outcome.again = true;
                return false;
            }
            if self.probe_kind(container, i, kind, probe, around.now, outcome) {
                let name = &container.raw.name;
                let what = kind.as_str().to_lowercase();
                let text = format!("Container {name} failed {what} probe, will be restarted");
                outcome.events.push(container.event(false, "Killing", text));
                return true;
            }
        }
        false
    }

    fn probe_kind(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        kind: ProbeKind,
        probe: &Probe,
        now: Timestamp,
        outcome: &mut Outcome,
    ) -> bool {
        let state = &mut self.containers[i];
        let Now::Running { since, .. } = state.now else {
            return false;
        };
        let delay = Duration::from_secs(probe.initial_delay_seconds.max(0).unsigned_abs());
        let period = SignedDuration::from_secs(probe.period_seconds.max(1));
        let mut probing = state.probes[kind as usize];
        let next = probing.next.unwrap_or_else(|| later(since, delay));
        let (success, changes) = state.answer(kind, since, now);
        if next <= now {
            probing.count(success);
            let following = next.saturating_add(period).unwrap_or(now);
            probing.next = Some(match following > now {
                true => following,
                false => now.saturating_add(period).unwrap_or(now),
            });
            if !success {
                let text = format!("{} probe failed: {}", kind.as_str(), failure(probe));
                outcome
                    .events
                    .push(container.event(true, "Unhealthy", text));
            }
        } else {
            probing.next = Some(next);
        }
        let threshold = match success {
            true => probe.success_threshold.max(1),
            false => probe.failure_threshold.max(1),
        };
        let decided = probing.last == Some(success) && probing.times >= threshold;
        state.probes[kind as usize] = probing;
        if !decided {
            outcome.due_at(probing.next.unwrap_or(now));
        } else if let Some(changes) = changes {
            // The first run after the result has changed.
            let mut at = probing.next.unwrap_or(now);
            while at < changes {
                at = at.saturating_add(period).unwrap_or(changes);
            }
            state.probes[kind as usize].next = Some(at);
            outcome.due_at(at);
        }
        if !decided {
            return false;
        }
        match (kind, success) {
            (ProbeKind::Startup, true) => {
                state.is_started = true;
                state.is_ready = container.raw.readiness_probe.is_none();
                outcome.again |= !state.is_ready;
                false
            }
            (ProbeKind::Readiness, ready) => {
                state.is_ready = ready;
                false
            }
            (ProbeKind::Liveness, true) => false,
            (ProbeKind::Startup | ProbeKind::Liveness, false) => true,
        }
    }
}

impl super::container::ContainerState {
    /// Returns what a probe says now, and when that changes by itself.
    fn answer(
        &self,
        kind: ProbeKind,
        since: Timestamp,
        now: Timestamp,
    ) -> (bool, Option<Timestamp>) {
        if self.forced.failing[kind as usize] {
            return (false, None);
        }
        if let Some(function) = &self.function {
            let state = function.signals.state.lock();
            return match kind {
                ProbeKind::Liveness => (state.is_alive, None),
                ProbeKind::Startup | ProbeKind::Readiness => (state.is_ready, None),
            };
        }
        let Some(behavior) = &self.behavior else {
            return (true, None);
        };
        let from = |at: Timestamp| (now >= at, (now < at).then_some(at));
        match (kind, behavior.unhealthy_after) {
            (ProbeKind::Liveness, None) => (true, None),
            (ProbeKind::Liveness, Some(after)) => {
                let (failing, changes) = from(later(since, after));
                (!failing, changes)
            }
            (ProbeKind::Startup | ProbeKind::Readiness, _) => {
                from(later(since, behavior.ready_after))
            }
        }
    }
}

impl Probing {
    fn count(&mut self, success: bool) {
        self.times = match self.last == Some(success) {
            true => self.times.saturating_add(1),
            false => 1,
        };
        self.last = Some(success);
    }
}

impl ProbeKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }
}

impl ContainerPlan {
    fn probe(&self, kind: ProbeKind) -> Option<&Probe> {
        match kind {
            ProbeKind::Startup => self.raw.startup_probe.as_ref(),
            ProbeKind::Readiness => self.raw.readiness_probe.as_ref(),
            ProbeKind::Liveness => self.raw.liveness_probe.as_ref(),
        }
    }
}

fn failure(probe: &Probe) -> &'static str {
    if probe.http_get.is_some() {
        "HTTP probe failed with statuscode: 500"
    } else if probe.exec.is_some() {
        "command terminated with exit code 1"
    } else if probe.grpc.is_some() {
        "service unhealthy (responded with \"NOT_SERVING\")"
    } else {
        "dial tcp: connect: connection refused"
    }
}
