//! Lifecycle hooks: actions after a container has started and before it is stopped.

use super::{
    container::{ContainerState, HookProgress, Now},
    plan::{ContainerPlan, Handler},
    state::Outcome,
};

/// The kind of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookKind {
    PostStart,
    PreStop,
}

impl HookKind {
    /// Returns the reason and the message of the event about a failure.
    fn failure(self) -> (&'static str, &'static str) {
        match self {
            Self::PostStart => ("FailedPostStartHook", "PostStartHook failed"),
            Self::PreStop => ("FailedPreStopHook", "PreStopHook failed"),
        }
    }
}

impl ContainerPlan {
    /// Returns the hook of a kind, unless it only sleeps before the container is stopped: that is a matter of time.
    pub(crate) fn hook(&self, kind: HookKind) -> Option<&Handler> {
        match kind {
            HookKind::PostStart => self.raw.lifecycle.post_start.as_ref(),
            HookKind::PreStop => {
                let handler = self.raw.lifecycle.pre_stop.as_ref();
                handler.filter(|handler| handler.sleep.is_none())
            }
        }
    }
}

impl ContainerState {
    /// Starts the hook of a container that has just started. The container is not ready until the hook has ended.
    pub(super) fn begin_post_start(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        outcome: &mut Outcome,
    ) {
        self.post_start = HookProgress::default();
        self.pre_stop = HookProgress::default();
        if container.hook(HookKind::PostStart).is_some() {
            self.post_start = HookProgress::Running;
            (self.is_started, self.is_ready) = (false, false);
            outcome.hooks.push((i, HookKind::PostStart));
        }
    }

    /// Reports whether the hook after the start is still running. Returns an error if it failed.
    pub(super) fn post_start(
        &mut self,
        container: &ContainerPlan,
        outcome: &mut Outcome,
    ) -> Result<bool, ()> {
        match self.post_start {
            HookProgress::Running => Ok(true),
            HookProgress::Done { failed: true } => {
                self.post_start = HookProgress::default();
                report(container, HookKind::PostStart, outcome);
                Err(())
            }
            HookProgress::Done { failed: false } => {
                self.post_start = HookProgress::default();
                self.is_started = container.raw.startup_probe.is_none();
                self.is_ready = self.is_started && container.raw.readiness_probe.is_none();
                Ok(false)
            }
            HookProgress::Idle => Ok(false),
        }
    }

    /// Runs the hook of a container before it is stopped. Returns whether the container must wait for it.
    pub(super) fn waits_for_pre_stop(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        outcome: &mut Outcome,
    ) -> bool {
        match self.pre_stop {
            HookProgress::Idle if container.hook(HookKind::PreStop).is_some() => {
                self.pre_stop = HookProgress::Running;
                outcome.hooks.push((i, HookKind::PreStop));
                true
            }
            HookProgress::Idle => false,
            HookProgress::Running => true,
            HookProgress::Done { failed } => {
                if failed {
                    report(container, HookKind::PreStop, outcome);
                    self.pre_stop = HookProgress::Done { failed: false };
                }
                false
            }
        }
    }

    /// Notes that a hook has ended.
    pub(crate) fn hook_ended(&mut self, kind: HookKind, failed: bool) {
        if !matches!(self.now, Now::Running { .. }) {
            return;
        }
        let progress = match kind {
            HookKind::PostStart => &mut self.post_start,
            HookKind::PreStop => &mut self.pre_stop,
        };
        if matches!(progress, HookProgress::Running) {
            *progress = HookProgress::Done { failed };
        }
    }
}

fn report(container: &ContainerPlan, kind: HookKind, outcome: &mut Outcome) {
    let (reason, message) = kind.failure();
    let event = container.event(true, reason, message.to_owned());
    outcome.events.push(event);
}
