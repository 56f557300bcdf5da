//! [`ContainerState`]: what a container is doing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::task::AbortHandle;

use crate::{behavior::Behavior, image::Signals, logs::Log};

/// The state of a container.
pub(crate) struct ContainerState {
    pub(crate) now: Now,
    /// The end of its previous run.
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
    /// Its behavior, while it runs.
    pub(crate) behavior: Option<Arc<Behavior>>,
    pub(crate) function: Option<Function>,
    pub(crate) forced: Forced,
    /// Whether the server has been told what it is doing now.
    pub(crate) is_written: bool,
    /// When it is told to stop, once that has been decided.
    pub(crate) stopping: Option<Timestamp>,
}

/// The current state of a container.
pub(crate) enum Now {
    Waiting {
        reason: &'static str,
        message: String,
        /// When it goes on, if that takes time.
        until: Option<Timestamp>,
    },
    Running {
        since: Timestamp,
        /// When it ends by itself, and the exit code.
        end: Option<(Timestamp, i32)>,
    },
    Ended(Box<Ended>),
}

/// The end of a container.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) started: Option<Timestamp>,
    pub(crate) finished: Timestamp,
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

/// The progress of a probe.
#[derive(Clone, Copy, Default)]
pub(crate) struct Probing {
    /// The time of its next run.
    pub(crate) next: Option<Timestamp>,
    pub(crate) last: Option<bool>,
    /// The number of times in a row that it had this result.
    pub(crate) times: u32,
}

/// The wait before the next restart.
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

/// A request of a test.
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

impl Backoff {
    /// Returns until when a container that ended at that time has to wait, and how long the wait is.
    pub(crate) fn until(&self, ended: Timestamp) -> Option<(Timestamp, SignedDuration)> {
        let (wait, updated) = (self.wait?, self.updated?);
        if ended.duration_since(updated) > LONGEST_BACKOFF * 2 {
            return None;
        }
        Some((ended.saturating_add(wait).ok()?, wait))
    }

    /// Notes a restart after an end.
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
            forced: Forced::default(),
            is_written: false,
            stopping: None,
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
    /// Returns the reason for which it waits.
    pub(crate) fn waiting_reason(&self) -> Option<&'static str> {
        match &self.now {
            Now::Waiting { reason, .. } => Some(reason),
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

    /// Reports whether it ended well.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.ended().is_some_and(|ended| ended.code == 0)
    }

    /// Ends it.
    pub(crate) fn end(&mut self, code: i32, reason: Option<&'static str>, now: Timestamp) {
        let started = match &self.now {
            Now::Running { since, .. } => Some(*since),
            _ => None,
        };
        let reported = self.function.take();
        let message = reported.and_then(|f| f.signals.state.lock().message.take());
        let reason = reason.unwrap_or(match code {
            0 => "Completed",
            _ => "Error",
        });
        self.log.end();
        self.is_ready = false;
        self.is_started = false;
        self.is_written = false;
        self.stopping = None;
        self.behavior = None;
        self.forced.exit = None;
        self.now = Now::Ended(Box::new(Ended {
            code,
            reason,
            message: message.unwrap_or_default(),
            started,
            finished: now,
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
    fn restarts_wait_longer_each_time_and_are_forgiven_after_a_while() {
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
