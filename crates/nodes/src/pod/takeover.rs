//! Takeover: the state of the containers of a pod that the server shows as started.

use jiff::{SignedDuration, Timestamp};

use super::{
    container::{Backoff, ContainerState, Ended, Now},
    deletion::after,
    plan::{SeenContainer, time},
    seen::SeenTerminated,
};

/// The reasons of waiting containers that a node writes.
const WAITING: [&str; 7] = [
    "ContainerCreating",
    "PodInitializing",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
];

impl ContainerState {
    /// Restores the state that the server shows, so that the container goes on where it was.
    pub(super) fn take_over(&mut self, seen: &SeenContainer, now: Timestamp) {
        self.restarts = seen.restart_count;
        if let Some(last) = &seen.last_state.terminated {
            let last = Box::new(last.restored(now));
            self.backoff = Backoff::after_restarts(self.restarts, last.finished);
            self.last = Some(last);
        }
        self.pull.is_done = true;
        if let Some(running) = &seen.state.running {
            self.is_started = seen.started;
            self.is_ready = seen.ready;
            let since = running.started_at.as_deref().and_then(time);
            self.now = Now::Running {
                since: since.unwrap_or(now),
                end: None,
            };
        } else if let Some(ended) = &seen.state.terminated {
            self.now = Now::Ended(Box::new(ended.restored(now)));
        } else {
            // The image may have to be pulled.
            self.pull.is_done = false;
            let waiting = seen.state.waiting.as_ref();
            let reason = waiting.and_then(|seen| WAITING.into_iter().find(|r| *r == seen.reason));
            if let (Some(reason), Some(waiting)) = (reason, waiting) {
                self.wait_as(reason, &waiting.message, now);
            }
        }
    }

    fn wait_as(&mut self, reason: &'static str, message: &str, now: Timestamp) {
        let mut until = None;
        if reason == "CrashLoopBackOff"
            && let Some(last) = &self.last
            && let Some(wait) = backoff_of(message)
        {
            until = Some(after(last.finished, wait.as_secs()));
            // The next backoff is longer: this one has been counted.
            self.backoff = Backoff::after_restarts(self.restarts + 1, last.finished);
        }
        if reason == "ImagePullBackOff" {
            // The number of failures is not known, so the backoff starts again.
            self.pull.failures = 1;
            until = Some(after(now, 10));
        }
        self.now = Now::Waiting {
            reason,
            message: message.to_owned(),
            until,
        };
    }
}

impl SeenTerminated {
    fn restored(&self, now: Timestamp) -> Ended {
        let reasons = ["Completed", "Error", "OOMKilled", "ContainerStatusUnknown"];
        let reason = reasons.into_iter().find(|reason| *reason == self.reason);
        Ended {
            code: self.exit_code,
            reason: reason.unwrap_or("Error"),
            message: self.message.clone(),
            started: self.started_at.as_deref().and_then(time),
            finished: self.finished_at.as_deref().and_then(time).unwrap_or(now),
            is_unhealthy: false,
        }
    }
}

/// Returns the duration in the message of a container in backoff: `back-off 1m20s restarting failed container=…`.
fn backoff_of(message: &str) -> Option<SignedDuration> {
    let text = message.strip_prefix("back-off ")?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_is_read_from_its_message() {
        let of = |text: &str| backoff_of(&format!("back-off {text} restarting failed container=c"));
        assert_eq!(of("10s"), Some(SignedDuration::from_secs(10)));
        assert_eq!(of("2m40s"), Some(SignedDuration::from_secs(160)));
        assert_eq!(of("5m0s"), Some(SignedDuration::from_secs(300)));
        assert_eq!(backoff_of("waits"), None);
    }
}
