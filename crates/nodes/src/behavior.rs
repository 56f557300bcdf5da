//! [`Behavior`]: what a container does, described as data.

use std::{sync::Arc, time::Duration};

use crate::image::Image;

/// The behavior of the containers of an image. The node handles pulls, restarts, probes and deletion.
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
    /// The number of pulls that fail; `None` if all of them do.
    pub(crate) pull_failures: Option<u32>,
    pub(crate) pull_time: Duration,
    pub(crate) start_time: Duration,
    pub(crate) ready_after: Duration,
    pub(crate) unhealthy_after: Option<Duration>,
    /// The times for which readiness probes succeed and fail in turn.
    pub(crate) flaps: Option<(Duration, Duration)>,
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
            flaps: None,
            ignores_stop: false,
            logs: Vec::new(),
        }
    }

    /// Runs until it is stopped.
    pub fn runs() -> Self {
        Self::new(Run::Forever)
    }

    /// Exits with a code, immediately unless [`after`](Self::after) sets a running time.
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

    /// Makes every pull of the image fail with an error.
    pub fn fails_to_pull(error: impl Into<String>) -> Self {
        Self {
            pull_error: Some(error.into()),
            ..Self::runs()
        }
    }

    /// Runs a container that [exits](Self::exits) for a time first.
    pub fn after(mut self, time: Duration) -> Self {
        if let Run::Exit { after, .. } = &mut self.run {
            *after = time;
        }
        self
    }

    /// Limits the number of pulls that fail; the next one succeeds. See [`fails_to_pull`](Self::fails_to_pull).
    pub fn pull_failures(mut self, times: u32) -> Self {
        self.pull_failures = Some(times);
        self
    }

    /// Sets the duration of a pull.
    pub fn pulled_after(mut self, time: Duration) -> Self {
        self.pull_time = time;
        self
    }

    /// Sets the time that a container takes to start.
    pub fn starts_after(mut self, time: Duration) -> Self {
        self.start_time = time;
        self
    }

    /// Fails readiness and startup probes until the container has run for a time.
    pub fn ready_after(mut self, time: Duration) -> Self {
        self.ready_after = time;
        self
    }

    /// Makes readiness probes succeed for a time and fail for another, in turn, once the container is
    /// [ready](Self::ready_after).
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_nodes::Behavior;
    ///
    /// let flaky = Behavior::runs().flaps(Duration::from_secs(30), Duration::from_secs(10));
    /// # let _ = flaky;
    /// ```
    pub fn flaps(mut self, ready: Duration, unready: Duration) -> Self {
        self.flaps = Some((ready, unready));
        self
    }

    /// Fails liveness probes once the container has run for a time.
    pub fn unhealthy_after(mut self, time: Duration) -> Self {
        self.unhealthy_after = Some(time);
        self
    }

    /// Ignores the signal to stop, and is killed at the end of the grace period.
    pub fn ignores_stop(mut self) -> Self {
        self.ignores_stop = true;
        self
    }

    /// Writes lines to the log when the container starts.
    pub fn logs<T: Into<String>>(mut self, lines: impl IntoIterator<Item = T>) -> Self {
        self.logs = lines.into_iter().map(Into::into).collect();
        self
    }
}
