//! [`ContainerState`]: the state of a container.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::task::AbortHandle;

use super::deletion::Stopping;
use crate::{behavior::Behavior, image::Signals, inside::Inside, logs::Log};

/// The state of a container.
pub(crate) struct ContainerState {
    pub(crate) now: Now,
    /// The termination of its previous run.
    pub(crate) last: Option<Box<Ended>>,
    pub(crate) restarts: u32,
    pub(crate) is_started: bool,
    pub(crate) is_ready: bool,
    /// The state of startup, readiness and liveness probes.
    pub(crate) probes: [Probing; 3],
    pub(crate) backoff: Backoff,
    pub(crate) pull: Pull,
    pub(crate) log: Log,
    pub(crate) previous_log: Option<Log>,
    /// The behavior, while the container runs.
    pub(crate) behavior: Option<Arc<Behavior>>,
    pub(crate) function: Option<Function>,
    /// The files and environment, created on first use.
    pub(crate) inside: Option<Arc<Inside>>,
    /// The result of an executed probe, until it is counted.
    pub(crate) checked: Option<Box<Checked>>,
    pub(crate) forced: Forced,
    /// Whether it ends for a resize, and is restarted without a backoff.
    pub(crate) is_resized: bool,
    /// Whether the current state has been written to the server.
    pub(crate) is_written: bool,
    /// The termination, once it has begun.
    pub(crate) stopping: Option<Stopping>,
    /// The reason for which the container is terminated while its pod stays, and the end of its grace period.
    pub(crate) killed: Option<(Kill, Timestamp)>,
    /// Whether the end of the log is the termination message of a container that fails without one.
    pub(crate) reports_log: bool,
    pub(crate) post_start: HookProgress,
    pub(crate) pre_stop: HookProgress,
}

/// The reason for which a container is terminated while its pod stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    /// A startup or liveness probe failed.
    Probe,
    /// The hook after the start failed.
    Hook,
}

/// The progress of a lifecycle hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HookProgress {
    /// Not started, or dealt with.
    #[default]
    Idle,
    Running,
    Done {
        failed: bool,
    },
}

/// The current state of a container.
pub(crate) enum Now {
    Waiting {
        reason: &'static str,
        message: String,
        /// The time of the next transition, if there is one.
        until: Option<Timestamp>,
    },
    Running {
        since: Timestamp,
        /// The time at which it exits by itself, and its exit code.
        end: Option<(Timestamp, i32)>,
    },
    Ended(Box<Ended>),
}

/// The termination of a container.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) started: Option<Timestamp>,
    pub(crate) finished: Timestamp,
    /// Whether it was terminated because of a probe.
    pub(crate) is_unhealthy: bool,
}

/// The kind of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Delays the other probes until the container has started.
    Startup,
    /// Decides whether the container is ready.
    Readiness,
    /// Restarts the container.
    Liveness,
}

/// The result of a probe, with the reason if it failed.
pub(crate) struct Checked {
    pub(crate) kind: ProbeKind,
    pub(crate) failure: Option<String>,
}

/// The progress of a probe.
#[derive(Clone, Copy, Default)]
pub(crate) struct Probing {
    /// The time of its next run.
    pub(crate) next: Option<Timestamp>,
    pub(crate) last: Option<bool>,
    /// The number of consecutive runs with this result.
    pub(crate) times: u32,
}

/// The backoff before the next restart.
#[derive(Clone, Copy, Default)]
pub(crate) struct Backoff {
    wait: Option<SignedDuration>,
    updated: Option<Timestamp>,
}

/// The progress of a pull.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pull {
    pub(crate) failures: u32,
    pub(crate) began: Option<Timestamp>,
    pub(crate) is_done: bool,
}

/// A failure that a test has requested.
#[derive(Clone, Default)]
pub(crate) struct Forced {
    pub(crate) exit: Option<(i32, &'static str)>,
    pub(crate) failing: [bool; 3],
    pub(crate) holds_start: bool,
}

/// The task of an image that is a function. Dropping it ends the task.
pub(crate) struct Function {
    pub(crate) signals: Arc<Signals>,
    pub(crate) task: Option<AbortHandle>,
}

impl Drop for Function {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_BACKOFF: SignedDuration = SignedDuration::from_secs(300);

/// The largest part of a log that is a termination message.
const MESSAGE_LINES: usize = 80;
const MESSAGE_BYTES: usize = 2048;

impl Backoff {
    /// Returns the backoff of a container that has been restarted a number of times, before the current time.
    pub(crate) fn after_restarts(restarts: u32, ended: Timestamp) -> Self {
        let Some(doublings) = restarts.checked_sub(1) else {
            return Self::default();
        };
        Self {
            wait: Some((FIRST_BACKOFF * (1 << doublings.min(5))).min(LONGEST_BACKOFF)),
            updated: Some(ended),
        }
    }

    /// Returns the end of the backoff of a container that terminated at a time, and its duration.
    pub(crate) fn until(&self, ended: Timestamp) -> Option<(Timestamp, SignedDuration)> {
        let (wait, updated) = (self.wait?, self.updated?);
        if ended.duration_since(updated) > LONGEST_BACKOFF * 2 {
            return None;
        }
        Some((ended.saturating_add(wait).ok()?, wait))
    }

    /// Records a restart after a termination.
    pub(crate) fn next(&mut self, ended: Timestamp) {
        let wait = match self.until(ended) {
            Some((_, wait)) => (wait * 2).min(LONGEST_BACKOFF),
            None => FIRST_BACKOFF,
        };
        (self.wait, self.updated) = (Some(wait), Some(ended));
    }
}

impl Default for ContainerState {
    fn default() -> Self {
        Self {
            now: Now::waiting("ContainerCreating"),
            last: None,
            restarts: 0,
            is_started: false,
            is_ready: false,
            probes: Default::default(),
            backoff: Backoff::default(),
            pull: Pull::default(),
            log: Log::default(),
            previous_log: None,
            behavior: None,
            function: None,
            inside: None,
            checked: None,
            forced: Forced::default(),
            is_resized: false,
            is_written: false,
            stopping: None,
            killed: None,
            reports_log: false,
            post_start: HookProgress::default(),
            pre_stop: HookProgress::default(),
        }
    }
}

impl Now {
    pub(crate) fn waiting(reason: &'static str) -> Self {
        Self::Waiting {
            reason,
            message: String::new(),
            until: None,
        }
    }
}

impl ContainerState {
    /// Returns the reason of the waiting state.
    pub(crate) fn waiting_reason(&self) -> Option<&'static str> {
        match &self.now {
            Now::Waiting { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the start of the running state.
    pub(crate) fn running_since(&self) -> Option<Timestamp> {
        match &self.now {
            Now::Running { since, .. } => Some(*since),
            _ => None,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.now, Now::Running { .. })
    }

    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.now {
            Now::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// Reports whether it exited with code 0.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.ended().is_some_and(|ended| ended.code == 0)
    }

    /// Returns the exit code of a container that has exited by itself, and the reason if it is not the usual one.
    pub(super) fn exited(&mut self, now: Timestamp) -> Option<(i32, Option<&'static str>)> {
        if let Some((code, reason)) = self.forced.exit.take() {
            return Some((code, Some(reason)));
        }
        let function = self.function.as_ref();
        if let Some(code) = function.and_then(|f| f.signals.state.lock().exit_code) {
            return Some((code, None));
        }
        match self.now {
            Now::Running {
                end: Some((at, code)),
                ..
            } if at <= now => Some((code, None)),
            _ => None,
        }
    }

    /// Terminates it.
    pub(crate) fn end(&mut self, code: i32, reason: Option<&'static str>, now: Timestamp) {
        let started = match &self.now {
            Now::Running { since, .. } => Some(*since),
            _ => None,
        };
        let reported = self.function.take();
        let message = reported.and_then(|f| f.signals.state.lock().message.take());
        let mut message = message.unwrap_or_default();
        if message.is_empty() && self.reports_log && code != 0 {
            message = self.log.tail(MESSAGE_LINES, MESSAGE_BYTES);
        }
        let reason = reason.unwrap_or(match code {
            0 => "Completed",
            _ => "Error",
        });
        self.log.end();
        self.inside = None;
        self.checked = None;
        self.is_ready = false;
        self.is_started = false;
        self.is_written = false;
        self.stopping = None;
        self.behavior = None;
        self.forced.exit = None;
        let killed = self.killed.take();
        self.now = Now::Ended(Box::new(Ended {
            code,
            reason,
            message,
            started,
            finished: now,
            is_unhealthy: matches!(killed, Some((Kill::Probe, _))),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn restart_backoff_grows_and_is_reset_after_a_while() {
        let mut backoff = Backoff::default();
        assert!(backoff.until(at(0)).is_none());
        let mut waits = Vec::new();
        let mut now = 0;
        for _ in 0..8 {
            backoff.next(at(now));
            let (until, wait) = backoff.until(at(now)).unwrap();
            waits.push(wait.as_secs());
            now = until.as_second();
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
        assert!(backoff.until(at(now + 601)).is_none());
    }
}
