//! Probes of containers.
//!
//! Commands run in the shell of scripts and well-known images, and ports are connected to if a function listens on them. In
//! other containers the behavior determines the result.
//!
//! A probe whose result cannot change by itself does not run. It is due when the behavior of its container changes the result,
//! or when a test does.

use std::{net::Ipv4Addr, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    container::{Now, ProbeKind, Probing},
    plan::{ContainerPlan, Plan, Probe},
    start::later,
    state::{Outcome, PodState, Surroundings},
};
use crate::{agnhost, shell::has_command, web_server::WebServer};

impl PodState {
    /// Runs the probes of a container of some kinds that are due. Returns whether the container must be terminated.
    pub(super) fn probe(
        &mut self,
        plan: &Plan,
        i: usize,
        kinds: &[ProbeKind],
        around: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        for &kind in kinds {
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
                // The running state is written before the results of probes.
                outcome.again = true;
                return false;
            }
            if self.probe_kind(container, i, kind, probe, around, outcome) {
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
        around: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let (now, ip) = (around.now, self.ip.unwrap_or(around.host));
        let state = &mut self.containers[i];
        let Now::Running { since, .. } = state.now else {
            return false;
        };
        let delay = Duration::from_secs(probe.initial_delay_seconds.max(0).unsigned_abs());
        let period = SignedDuration::from_secs(probe.period_seconds.max(1));
        let mut probing = state.probes[kind as usize];
        let next = probing.next.unwrap_or_else(|| later(since, delay));
        let (mut success, changes) = state.answer(kind, since, now);
        let is_real = success && state.checks(container, probe, around, ip);
        let mut failed = None;
        if is_real && next <= now {
            match state.checked.take_if(|checked| checked.kind == kind) {
                Some(checked) => {
                    success = checked.failure.is_none();
                    failed = checked.failure;
                }
                None => {
                    outcome.probes.push((i, kind));
                    return false;
                }
            }
        } else if is_real {
            success = probing.last.unwrap_or(kind == ProbeKind::Liveness);
        }
        if next <= now {
            probing.count(success);
            let following = next.saturating_add(period).unwrap_or(now);
            probing.next = Some(match following > now {
                true => following,
                false => now.saturating_add(period).unwrap_or(now),
            });
            if !success {
                let why = failed.unwrap_or_else(|| failure(probe).to_owned());
                let text = format!("{} probe failed: {why}", kind.as_str());
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
        if !decided || is_real {
            outcome.due_at(probing.next.unwrap_or(now));
        } else if let Some(changes) = changes {
            // The first run after a change of the result.
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
    /// Reports whether a probe is executed.
    fn checks(
        &self,
        container: &ContainerPlan,
        probe: &Probe,
        around: &Surroundings<'_>,
        ip: Ipv4Addr,
    ) -> bool {
        if let Some(port) = probe.port(container) {
            let is_server = WebServer::of(container).is_some() && self.inside.is_some();
            let own = agnhost::test_web_server(container);
            let is_tested = agnhost::is_image(container)
                && (self.function.is_some() || own.is_some_and(|own| own != port));
            return is_server || is_tested || around.network.has_listener(ip, port);
        }
        let Some(program) = probe.exec.as_ref().and_then(|exec| exec.command.first()) else {
            return false;
        };
        // The shell runs containers that have a command, and so it does what is executed in them.
        let is_in_shell = !container.raw.command.is_empty() || agnhost::is_image(container);
        let runs = self.function.is_some() || self.inside.is_some() || is_in_shell;
        runs && !around.images.is_registered(&container.raw.image) && has_command(program)
    }

    /// Returns the current result of a probe, and the time at which it changes by itself.
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
        if let (ProbeKind::Readiness, Some((up, down))) = (kind, behavior.flaps) {
            let start = later(since, behavior.ready_after);
            return match now < start {
                true => (false, Some(start)),
                false => flapping(start, up, down, now),
            };
        }
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

/// Returns whether a probe succeeds that succeeds and fails in turn from a time on, and the time of the next change.
fn flapping(
    start: Timestamp,
    up: Duration,
    down: Duration,
    now: Timestamp,
) -> (bool, Option<Timestamp>) {
    let period = (up + down).as_nanos();
    let passed = now.duration_since(start).as_nanos().max(0).unsigned_abs();
    if period == 0 {
        return (true, None);
    }
    let within = passed % period;
    let is_up = within < up.as_nanos();
    let left = match is_up {
        true => up.as_nanos() - within,
        false => period - within,
    };
    let left = Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
    (is_up, Some(later(now, left)))
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
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }
}

impl ContainerPlan {
    pub(crate) fn probe(&self, kind: ProbeKind) -> Option<&Probe> {
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
