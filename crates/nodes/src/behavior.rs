//! [`Behavior`]: what a container does, as data.

use std::{sync::Arc, time::Duration};

use crate::image::Image;

/// The behavior of the containers of an image. The node does the rest: pulls, restarts, probes, deletion.
///
/// ```
/// use std::time::Duration;
/// use kubewright_nodes::Behavior;
///
/// let job = Behavior::exits(0).after(Duration::from_secs(30)).logs(["done"]);
/// let slow = Behavior::runs().starts_after(Duration::from_secs(2)).ready_after(Duration::from_secs(5));
/// let missing = Behavior::fails_to_pull("manifest unknown");
/// # let _ = (job, slow, missing);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Behavior {
    pub(crate) run: Run,
    pub(crate) pull_error: Option<String>,
    /// The number of pulls that fail; all of them if there is no number.
    pub(crate) pull_failures: Option<u32>,
    pub(crate) pull_time: Duration,
    pub(crate) start_time: Duration,
    pub(crate) ready_after: Duration,
    pub(crate) unhealthy_after: Option<Duration>,
    pub(crate) ignores_stop: bool,
    pub(crate) logs: Vec<String>,
}

/// The way in which a container runs.
#[derive(Clone)]
pub(crate) enum Run {
    Forever,
    Exit { after: Duration, code: i32 },
    Function(Arc<dyn Image>),
}

impl Behavior {
    fn new(run: Run) -> Self {
        Self {
            run,
            pull_error: None,
            pull_failures: None,
            pull_time: Duration::ZERO,
            start_time: Duration::ZERO,
            ready_after: Duration::ZERO,
            unhealthy_after: None,
            ignores_stop: false,
            logs: Vec::new(),
        }
    }

    /// Runs until it is stopped.
    pub fn runs() -> Self {
        Self::new(Run::Forever)
    }

    /// Ends with an exit code, at once unless [`after`](Self::after) says otherwise.
    pub fn exits(code: i32) -> Self {
        Self::new(Run::Exit {
            after: Duration::ZERO,
            code,
        })
    }

    /// Runs a function.
    pub fn function(image: impl Image) -> Self {
        Self::new(Run::Function(Arc::new(image)))
    }

    /// Cannot be pulled.
    pub fn fails_to_pull(error: impl Into<String>) -> Self {
        Self {
            pull_error: Some(error.into()),
            ..Self::runs()
        }
    }

    /// Lets a container that [exits](Self::exits) run for a time first.
    pub fn after(mut self, time: Duration) -> Self {
        if let Run::Exit { after, .. } = &mut self.run {
            *after = time;
        }
        self
    }

    /// Can be pulled after it failed that many times. See [`fails_to_pull`](Self::fails_to_pull).
    pub fn pull_failures(mut self, times: u32) -> Self {
        self.pull_failures = Some(times);
        self
    }

    /// Takes a time to be pulled.
    pub fn pulled_after(mut self, time: Duration) -> Self {
        self.pull_time = time;
        self
    }

    /// Takes a time to start.
    pub fn starts_after(mut self, time: Duration) -> Self {
        self.start_time = time;
        self
    }

    /// Answers readiness and startup probes with success after it has run for a time.
    pub fn ready_after(mut self, time: Duration) -> Self {
        self.ready_after = time;
        self
    }

    /// Answers liveness probes with failure after it has run for a time.
    pub fn unhealthy_after(mut self, time: Duration) -> Self {
        self.unhealthy_after = Some(time);
        self
    }

    /// Ignores the signal to stop, and is killed at the end of the grace period.
    pub fn ignores_stop(mut self) -> Self {
        self.ignores_stop = true;
        self
    }

    /// Writes lines to its log when it starts.
    pub fn logs<T: Into<String>>(mut self, lines: impl IntoIterator<Item = T>) -> Self {
        self.logs = lines.into_iter().map(Into::into).collect();
        self
    }
}
