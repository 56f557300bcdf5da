//! Running one container: pull, start, end, start again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kubewright_controller::Request;

use super::{
    container::{Function, Now},
    plan::{ContainerPlan, Kind, Plan},
    state::{Outcome, PodEvent, PodState, Surroundings},
};
use crate::{
    behavior::{Behavior, Run},
    image::{Container, Signals, full_name},
};

/// The wait before missing objects are looked for again.
const RETRY: SignedDuration = SignedDuration::from_secs(1);

/// The wait after the first failed pull.
const PULL_BACKOFF: SignedDuration = SignedDuration::from_secs(10);

/// The longest wait after a failed pull.
const LONGEST_PULL_BACKOFF: SignedDuration = SignedDuration::from_secs(300);

/// The number of restarts that happen without a wait within one look at the pod.
const MOST_STEPS: usize = 4;

impl PodState {
    /// Runs a container as far as it goes without waiting.
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

    /// Starts a container if nothing keeps it waiting. Returns whether it did.
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
        if let Some(missing) = around.missing.iter().find(|r| r.volume.is_none()) {
            self.containers[i].now = Now::Waiting {
                reason: "CreateContainerConfigError",
                message: format!("{} \"{}\" not found", missing.kind, missing.name),
                until: None,
            };
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

    /// Pulls the image if needed. Returns whether the node has it.
    fn pull(
        &mut self,
        plan: &Plan,
        i: usize,
        behavior: &Arc<Behavior>,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        let image = &container.raw.image;
        let state = &mut self.containers[i];
        let (pull, now) = (&mut state.pull, around.now);
        if pull.is_done {
            return true;
        }
        let name = full_name(image);
        let policy = container.raw.image_pull_policy.as_str();
        let is_present = around.present.contains(&name);
        if policy != "Always" && is_present {
            pull.is_done = true;
            let text = format!(
                "Container image \"{image}\" already present on machine and can be accessed by the pod"
            );
            outcome.events.push(container.event(false, "Pulled", text));
            return true;
        }
        if policy == "Never" {
            let text =
                format!("Container image \"{image}\" is not present with pull policy of Never");
            if !matches!(
                state.now,
                Now::Waiting {
                    reason: "ErrImageNeverPull",
                    ..
                }
            ) {
                let reason = "ErrImageNeverPull";
                outcome
                    .events
                    .push(container.event(true, reason, text.clone()));
                let failed = format!("Error: {reason}");
                outcome.events.push(container.event(true, "Failed", failed));
            }
            state.now = Now::Waiting {
                reason: "ErrImageNeverPull",
                message: text,
                until: None,
            };
            outcome.due_at(later(now, Duration::from_secs(10)));
            return false;
        }
        let began = *pull.began.get_or_insert_with(|| {
            let text = format!("Pulling image \"{image}\"");
            outcome.events.push(container.event(false, "Pulling", text));
            now
        });
        let done = later(began, behavior.pull_time);
        if done > now {
            outcome.due_at(done);
            return false;
        }
        let fails = behavior
            .pull_failures
            .is_none_or(|most| pull.failures < most);
        if let Some(error) = behavior.pull_error.as_ref().filter(|_| fails) {
            self.pull_failed(container, i, error, now, outcome);
            return false;
        }
        pull.is_done = true;
        around.present.insert(name);
        let took = seconds(now.duration_since(began));
        let size = size_of(image);
        let text = format!(
            "Successfully pulled image \"{image}\" in {took} ({took} including waiting). Image size: {size} bytes."
        );
        outcome.events.push(container.event(false, "Pulled", text));
        true
    }

    fn pull_failed(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        error: &str,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        let state = &mut self.containers[i];
        let image = &container.raw.image;
        let error = format!(
            "failed to pull and unpack image \"{}\": {error}",
            full_name(image)
        );
        let mut say = |warning, reason, text: String| {
            outcome.events.push(container.event(warning, reason, text));
        };
        // The failure is written first, and then the wait.
        if !matches!(
            state.now,
            Now::Waiting {
                reason: "ErrImagePull",
                ..
            }
        ) {
            say(
                true,
                "Failed",
                format!("Failed to pull image \"{image}\": {error}"),
            );
            say(true, "Failed", "Error: ErrImagePull".to_owned());
            state.now = Now::Waiting {
                reason: "ErrImagePull",
                message: error,
                until: None,
            };
            outcome.again = true;
            return;
        }
        say(
            false,
            "BackOff",
            format!("Back-off pulling image \"{image}\""),
        );
        say(true, "Failed", "Error: ImagePullBackOff".to_owned());
        let wait = PULL_BACKOFF * (1 << state.pull.failures.min(5));
        let until = now
            .saturating_add(wait.min(LONGEST_PULL_BACKOFF))
            .unwrap_or(now);
        state.pull.failures += 1;
        state.pull.began = None;
        state.now = Now::Waiting {
            reason: "ImagePullBackOff",
            message: format!("Back-off pulling image \"{image}\": ErrImagePull: {error}"),
            until: Some(until),
        };
        outcome.due_at(until);
    }

    /// Looks after a container that runs. Returns whether it has ended.
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
        let reported = state
            .function
            .as_ref()
            .and_then(|f| f.signals.state.lock().exit_code);
        let end = match &state.now {
            Now::Running { end, .. } => *end,
            _ => None,
        };
        let (code, reason) = match (state.forced.exit.take(), reported, end) {
            (Some((code, reason)), _, _) => (code, Some(reason)),
            (None, Some(code), _) => (code, None),
            (None, None, Some((at, code))) if at <= now => (code, None),
            (None, None, end) => {
                if let Some((at, _)) = end {
                    outcome.due_at(at);
                }
                if !self.probe(plan, i, around, outcome) {
                    return false;
                }
                (137, Some("Error"))
            }
        };
        self.containers[i].end(code, reason, now);
        true
    }

    /// Gives a container that was taken over its behavior.
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

    /// Starts a container again if it is to be restarted, and has waited for long enough. Returns whether it did.
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
        if !container.restarts(&plan.spec, ended.code) {
            return false;
        }
        let finished = ended.finished;
        let ended = ended.clone();
        if !state.is_written {
            // The end is written before the container is started again.
            outcome.again = true;
            return false;
        }
        if let Some((until, wait)) = state.backoff.until(finished)
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

    /// Prepares what the function of an image gets.
    fn prepare(&mut self, plan: &Plan, i: usize, around: &Surroundings<'_>) -> Container {
        let raw = &plan.containers[i].raw;
        let signals = Arc::new(Signals::default());
        let env = raw.env.iter().map(|env| {
            let value = match env.field() {
                Some(field) => self.field(plan, field),
                None => env.value.clone(),
            };
            (env.name.clone(), value)
        });
        let container = Container {
            inner: Arc::new(crate::image::Inner {
                request: Request::new(plan.namespace(), plan.key.name()),
                name: raw.name.clone(),
                image: raw.image.clone(),
                ip: self.ip.map(|ip| ip.to_string()),
                arguments: raw.command.iter().chain(&raw.args).cloned().collect(),
                env: env.collect::<BTreeMap<_, _>>(),
                log: self.containers[i].log.clone(),
                clock: around.clock.clone(),
                signals: signals.clone(),
                wake: around.wake.clone(),
            }),
        };
        self.containers[i].function = Some(Function {
            signals,
            task: None,
        });
        container
    }

    /// Returns a field of the pod, for environment variables.
    fn field(&self, plan: &Plan, path: &str) -> String {
        match path {
            "metadata.name" => plan.key.name().to_owned(),
            "metadata.namespace" => plan.namespace().to_owned(),
            "metadata.uid" => plan.uid.clone(),
            "spec.nodeName" => plan.spec.node_name.clone(),
            "status.podIP" => self.ip.map(|ip| ip.to_string()).unwrap_or_default(),
            _ => String::new(),
        }
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
            reason,
            message,
            field: Some(format!("spec.{list}{{{}}}", self.raw.name)),
        }
    }
}

/// Returns when missing objects are looked for again.
pub(super) fn retry_at(now: Timestamp) -> Timestamp {
    now.saturating_add(RETRY).unwrap_or(now)
}

pub(super) fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Prints whole seconds as Go does: `10s`, `2m40s`, `5m0s`.
fn go_duration(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds}s"),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

fn seconds(time: SignedDuration) -> String {
    match time.as_millis() {
        0 => "0s".to_owned(),
        millis @ ..1000 => format!("{millis}ms"),
        millis => format!("{}s", millis as f64 / 1000.0),
    }
}

/// Returns a plausible size that depends on the name only.
fn size_of(image: &str) -> u64 {
    let digits = crate::image::hex(&[image]);
    let number = u64::from_str_radix(&digits[..8], 16).unwrap_or(0);
    10_000_000 + number % 90_000_000
}
