//! [`Container`]: a running container, for images that are functions.

use std::{collections::BTreeMap, sync::Arc};

use kubewright_controller::{Request, RequestSender};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::logs::Log;

/// A running container, as a function sees it.
///
/// ```
/// use kubewright_nodes::{Behavior, Container};
///
/// // Runs until it is stopped, and is ready from the second line on.
/// let server = Behavior::function(|container: Container| async move {
///     container.set_ready(false);
///     container.log("warming up");
///     container.set_ready(true);
///     container.stopped().await;
///     0
/// });
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct Container {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) request: Request,
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) ip: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) log: Log,
    pub(crate) clock: kubewright_controller::Clock,
    pub(crate) signals: Arc<Signals>,
    pub(crate) wake: RequestSender,
}

/// The state that a function shares with its node.
pub(crate) struct Signals {
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) state: Mutex<Reported>,
}

/// The reports of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) is_ready: bool,
    pub(crate) is_alive: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) message: Option<String>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            stop: watch::Sender::new(false),
            state: Mutex::new(Reported {
                is_ready: true,
                is_alive: true,
                exit_code: None,
                message: None,
            }),
        }
    }
}

impl Container {
    /// Returns the namespace of the pod.
    pub fn namespace(&self) -> &str {
        self.inner.request.namespace().unwrap_or_default()
    }

    /// Returns the name of the pod.
    pub fn pod(&self) -> &str {
        self.inner.request.name()
    }

    /// Returns the name of the container.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the image.
    pub fn image(&self) -> &str {
        &self.inner.image
    }

    /// Returns the IP address of the pod.
    pub fn ip(&self) -> Option<&str> {
        self.inner.ip.as_deref()
    }

    /// Returns the command and its arguments.
    pub fn arguments(&self) -> &[String] {
        &self.inner.arguments
    }

    /// Returns an environment variable. Those with a value, and fields of the pod, are known.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.inner.env.get(name).map(String::as_str)
    }

    /// Returns the time of the cluster.
    pub fn now(&self) -> jiff::Timestamp {
        (self.inner.clock)()
    }

    /// Writes a line to the log.
    pub fn log(&self, line: impl AsRef<str>) {
        self.inner.log.write(self.now(), line.as_ref());
    }

    /// Sets whether readiness and startup probes succeed. They do from the start.
    pub fn set_ready(&self, ready: bool) {
        self.report(|state| state.is_ready = ready);
    }

    /// Sets whether liveness probes succeed. They do from the start.
    pub fn set_alive(&self, alive: bool) {
        self.report(|state| state.is_alive = alive);
    }

    /// Sets the termination message.
    pub fn set_termination_message(&self, message: impl Into<String>) {
        self.inner.signals.state.lock().message = Some(message.into());
    }

    /// Waits for the signal to stop.
    pub async fn stopped(&self) {
        let mut stop = self.inner.signals.stop.subscribe();
        // The sender lives as long as the container.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    pub(crate) fn ended(&self, code: i32) {
        self.report(|state| state.exit_code = Some(code));
    }

    fn report(&self, change: impl FnOnce(&mut Reported)) {
        let mut state = self.inner.signals.state.lock();
        let before = state.clone();
        change(&mut state);
        let changed = *state != before;
        drop(state);
        if changed && !self.inner.wake.try_send(self.inner.request.clone()) {
            let (wake, request) = (self.inner.wake.clone(), self.inner.request.clone());
            tokio::spawn(async move { wake.send(request).await });
        }
    }
}
