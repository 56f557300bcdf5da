//! The life of a container: start, exit, restart.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kubewright_controller::Request;

use super::{
    container::{Function, Kill, Now, ProbeKind},
    deletion::{Grace, after},
    plan::{ContainerPlan, Kind, Plan},
    requirement::Problem,
    state::{Outcome, PodEvent, PodState, Surroundings},
};
use crate::{
    behavior::Run,
    image::{Container, Signals},
    inside::expanded,
};

/// The delay before missing objects are looked up again.
const RETRY: SignedDuration = SignedDuration::from_secs(1);

/// The largest number of immediate restarts within one pass.
const MOST_STEPS: usize = 4;

impl PodState {
    /// Advances a container as far as possible without waiting.
    pub(super) fn run_container(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        for _ in 0..MOST_STEPS {
            let went_on = match &self.containers[i].now {
                Now::Waiting { .. } => self.start(plan, i, around, outcome),
                Now::Running { .. } => self.watch(plan, i, around, outcome),
                Now::Ended(_) => self.start_again(plan, i, around, outcome),
            };
            if !went_on || outcome.again {
                return;
            }
        }
        outcome.again = true;
    }

    /// Starts a container unless it must wait. Returns whether it was started.
    fn start(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        let now = around.now;
        if self.containers[i].forced.holds_start {
            return false;
        }
        if let Now::Waiting {
            until: Some(until), ..
        } = &self.containers[i].now
            && *until > now
        {
            outcome.due_at(*until);
            return false;
        }
        let behavior = around.images.behavior(plan, container);
        if !self.pull(plan, i, &behavior, around, outcome) {
            return false;
        }
        let error = plan.user_error(container);
        let error = error
            .or_else(|| self.environment_error(i, around))
            .or_else(|| self.file_error(plan, container));
        if let Some(message) = error.or_else(|| self.mount_error(plan, i, around)) {
            self.config_failed(container, i, message, outcome);
            outcome.due_at(retry_at(now));
            return false;
        }
        let state = &mut self.containers[i];
        if !behavior.start_time.is_zero() {
            let until = match &state.now {
                Now::Waiting {
                    until: Some(until), ..
                } => *until,
                _ => later(now, behavior.start_time),
            };
            if until > now {
                if let Now::Waiting { until: slot, .. } = &mut state.now {
                    *slot = Some(until);
                }
                outcome.due_at(until);
                return false;
            }
        }
        let event = |reason, message: &str| container.event(false, reason, message.to_owned());
        outcome.events.push(event("Created", "Container created"));
        outcome.events.push(event("Started", "Container started"));
        let end = match &behavior.run {
            Run::Exit { after, code } => Some((later(now, *after), *code)),
            Run::Forever | Run::Function(_) => None,
        };
        if state.last.is_some() {
            state.restarts += 1;
        }
        state.now = Now::Running { since: now, end };
        state.is_written = false;
        state.is_started = container.raw.startup_probe.is_none();
        state.is_ready = state.is_started && container.raw.readiness_probe.is_none();
        state.probes = Default::default();
        state.begin_post_start(container, i, outcome);
        for line in &behavior.logs {
            state.log.write(now, line);
        }
        state.behavior = Some(behavior.clone());
        if let Run::Function(image) = &behavior.run {
            let container = self.prepare(plan, i, around);
            outcome.functions.push((i, image.clone(), container));
        }
        true
    }

    /// Advances a running container. Returns whether it has exited.
    fn watch(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let now = around.now;
        self.resume(plan, i, around, outcome);
        let state = &mut self.containers[i];
        if let Some((code, reason)) = state.exited(now) {
            state.end(code, reason, now);
            return true;
        }
        if let Now::Running {
            end: Some((at, _)), ..
        } = state.now
        {
            outcome.due_at(at);
        }
        if state.killed.is_none()
            && let Some(kill) = self.check(plan, i, around, outcome)
        {
            self.begin_kill(plan, i, kill, now, outcome);
        }
        let state = &mut self.containers[i];
        let Some((_, deadline)) = state.killed else {
            return false;
        };
        let grace = Grace::until(deadline);
        state.stop(&plan.containers[i], i, grace, now, outcome);
        if self.containers[i].is_running() {
            self.probe(plan, i, &[ProbeKind::Readiness], around, outcome);
            return false;
        }
        true
    }

    /// Runs the hook after the start, and the probes. Returns the reason if the container must be terminated.
    fn check(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> Option<Kill> {
        let all = [
            ProbeKind::Startup,
            ProbeKind::Readiness,
            ProbeKind::Liveness,
        ];
        match self.containers[i].post_start(&plan.containers[i], outcome) {
            Ok(true) => None,
            Ok(false) => {
                let failed = self.probe(plan, i, &all, around, outcome);
                failed.then_some(Kill::Probe)
            }
            Err(()) => Some(Kill::Hook),
        }
    }

    /// Begins the termination of a container that failed a probe, or whose hook failed.
    fn begin_kill(
        &mut self,
        plan: &Plan,
        i: usize,
        kill: Kill,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        let container = &plan.containers[i];
        let state = &mut self.containers[i];
        let (probe, text) = match kill {
            Kill::Hook => (None, "FailedPostStartHook".to_owned()),
            Kill::Probe => {
                let kind = match state.is_started {
                    true => ProbeKind::Liveness,
                    false => ProbeKind::Startup,
                };
                let (name, what) = (&container.raw.name, kind.as_str().to_lowercase());
                let text = format!("Container {name} failed {what} probe, will be restarted");
                (container.probe(kind), text)
            }
        };
        let own = probe.and_then(|probe| probe.termination_grace_period_seconds);
        let seconds = own.unwrap_or(plan.spec.grace_seconds());
        state.killed = Some((kill, after(now, seconds)));
        state.begin_stop(container, text, now, outcome);
    }

    /// Restores the behavior of a running container that was taken over.
    fn resume(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        if self.containers[i].behavior.is_some() {
            return;
        }
        let behavior = around.images.behavior(plan, &plan.containers[i]);
        if let (Now::Running { since, end }, Run::Exit { after, code }) =
            (&mut self.containers[i].now, &behavior.run)
        {
            *end = Some((later(*since, *after), *code));
        }
        if let Run::Function(image) = &behavior.run {
            let container = self.prepare(plan, i, around);
            outcome.functions.push((i, image.clone(), container));
        }
        self.containers[i].behavior = Some(behavior);
    }

    /// Restarts a container if its policy says so and its backoff is over. Returns whether it was restarted.
    fn start_again(
        &mut self,
        plan: &Plan,
        i: usize,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        let now = around.now;
        let state = &mut self.containers[i];
        let Now::Ended(ended) = &state.now else {
            return false;
        };
        if !container.restarts(&plan.spec, ended) {
            return false;
        }
        if container.restarts_all(ended) {
            // The next pass restarts the pod.
            outcome.again |= state
                .backoff
                .until(ended.finished)
                .is_none_or(|(at, _)| at <= now);
            return false;
        }
        let finished = ended.finished;
        let ended = ended.clone();
        // The termination is written before the restart, unless the node terminated the container to restart it.
        if !state.is_written && !ended.is_unhealthy {
            outcome.again = true;
            return false;
        }
        if std::mem::take(&mut state.is_resized) {
            state.now = Now::waiting("ContainerCreating");
        } else if let Some((until, wait)) = state.backoff.until(finished)
            && until > now
        {
            let (pod, namespace) = (plan.key.name(), plan.namespace());
            let whose = format!("pod={pod}_{namespace}({})", plan.uid);
            let name = &container.raw.name;
            let text = format!(
                "Back-off restarting failed container {name} in pod {pod}_{namespace}({})",
                plan.uid
            );
            outcome.events.push(container.event(true, "BackOff", text));
            state.now = Now::Waiting {
                reason: "CrashLoopBackOff",
                message: format!(
                    "back-off {} restarting failed container={name} {whose}",
                    go_duration(wait)
                ),
                until: Some(until),
            };
            outcome.due_at(until);
            state.backoff.next(finished);
        } else {
            state.backoff.next(finished);
            state.now = Now::waiting("ContainerCreating");
        }
        state.last = Some(ended);
        state.pull = Default::default();
        state.previous_log = Some(std::mem::take(&mut state.log));
        true
    }

    /// Notes that the configuration of a container cannot be determined. An event reports each error once.
    fn config_failed(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        error: String,
        outcome: &mut Outcome,
    ) {
        let reason = "CreateContainerConfigError";
        let slot = &mut self.containers[i].now;
        let is_known = matches!(slot, Now::Waiting { reason: known, message, .. } if *known == reason && *message == error);
        if !is_known {
            let text = format!("Error: {error}");
            outcome.events.push(container.event(true, "Failed", text));
        }
        *slot = Now::Waiting {
            reason,
            message: error,
            until: None,
        };
    }

    /// Returns why the environment of a container cannot be determined.
    fn environment_error(&self, i: usize, around: &Surroundings<'_>) -> Option<String> {
        around.problems.iter().find_map(|problem| match problem {
            Problem::Environment(container, message) if *container == i => Some(message.clone()),
            _ => None,
        })
    }

    /// Returns why the volumes of a container cannot be mounted: a path below a volume that refers to variables without a
    /// value, or that leads out of the volume.
    fn mount_error(&self, plan: &Plan, i: usize, around: &Surroundings<'_>) -> Option<String> {
        let container = &plan.containers[i];
        let mounts = container.raw.volume_mounts.iter();
        let mut paths = mounts.filter_map(|mount| mount["subPathExpr"].as_str());
        let ip = self.ip.map(|ip| ip.to_string());
        paths.find_map(|path| {
            let mut env = self.variables(plan, container, ip.as_deref(), around);
            env.retain(|_, value| !value.is_empty());
            let expanded = expanded(path, &env);
            match expanded {
                path if path.contains("$(") => Some(format!("missing value for {path:?}")),
                path if path.starts_with('/') => Some(format!(
                    "error SubPath `{path}` must not be an absolute path"
                )),
                path if path.split('/').any(|part| part == "..") => Some(format!(
                    "unable to provision SubPath `{path}`: must not contain '..'"
                )),
                _ => None,
            }
        })
    }

    /// Prepares the argument of an image's function.
    fn prepare(&mut self, plan: &Plan, i: usize, around: &Surroundings<'_>) -> Container {
        let raw = &plan.containers[i].raw;
        let signals = Arc::new(match raw.stdin {
            true => Signals::with_stdin(),
            false => Signals::default(),
        });
        let ip = match plan.spec.host_network {
            true => Some(around.host),
            false => self.ip,
        };
        let ip = ip.map(|ip| ip.to_string());
        let env = self.variables(plan, &plan.containers[i], ip.as_deref(), around);
        let mut arguments: Vec<String> = raw.command.iter().chain(&raw.args).cloned().collect();
        if arguments.is_empty() && raw.stdin {
            arguments.push("sh".to_owned());
        }
        let container = Container {
            linger: Duration::ZERO,
            inner: Arc::new(crate::image::Inner {
                request: Request::new(plan.namespace(), plan.key.name()),
                name: raw.name.clone(),
                image: raw.image.clone(),
                ip,
                arguments,
                env,
                log: self.containers[i].log.clone(),
                clock: around.clock.clone(),
                signals: signals.clone(),
                wake: around.wake.clone(),
                network: around.network.clone(),
                index: i,
                uid: plan.uid.clone(),
                message_path: raw.termination_message_path.clone(),
            }),
        };
        self.containers[i].function = Some(Function {
            signals,
            task: None,
        });
        container
    }

    /// Returns the variables of a container whose values are in its pod.
    fn variables(
        &self,
        plan: &Plan,
        container: &ContainerPlan,
        ip: Option<&str>,
        around: &Surroundings<'_>,
    ) -> BTreeMap<String, String> {
        let env = container.raw.env.iter().filter_map(|env| {
            let value = match (env.field(), &env.value_from.file_key_ref) {
                (Some(field), _) => plan.field(field, ip, Some(around.host)),
                (None, Some(file)) => self.file_value(plan, file).ok()??,
                (None, None) => env.value.clone(),
            };
            Some((env.name.clone(), value))
        });
        env.collect()
    }
}

impl ContainerPlan {
    pub(super) fn event(
        &self,
        is_warning: bool,
        reason: &'static str,
        message: String,
    ) -> PodEvent {
        let list = match self.kind {
            Kind::Init | Kind::Sidecar => "initContainers",
            Kind::Main => "containers",
            Kind::Ephemeral => "ephemeralContainers",
        };
        PodEvent {
            is_warning,
            reason: reason.into(),
            message,
            field: Some(format!("spec.{list}{{{}}}", self.raw.name)),
        }
    }
}

/// Returns the time at which missing objects are looked up again.
pub(super) fn retry_at(now: Timestamp) -> Timestamp {
    now.saturating_add(RETRY).unwrap_or(now)
}

pub(super) fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Formats whole seconds as Go does: `10s`, `2m40s`, `5m0s`.
fn go_duration(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds}s"),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}
