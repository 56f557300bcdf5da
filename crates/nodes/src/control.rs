//! Failures on demand: [`NodeControl`] and [`ContainerControl`].

use kubewright_controller::Request;
use kubewright_informer::Key;

use crate::{
    log_options::{LogError, LogOptions},
    logs::Log,
    nodes::{Known, Nodes},
    pod::ProbeKind,
};

/// A resource that a node lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Memory.
    Memory,
    /// Disk space.
    Disk,
    /// Process IDs.
    Pid,
}

/// A pod or container that no node runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no node runs {0}")]
pub struct NotRunning(String);

/// Controls a simulated node. Every function returns when its effect is in the store.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_controller::Manager;
/// use kubewright_nodes::{Nodes, Pressure};
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let manager = Manager::new(cluster.client());
/// let nodes = Nodes::new(1);
/// nodes.add_to(&manager).unwrap();
/// let _running = cluster.run(&manager);
/// nodes.ready().await;
/// nodes.node("node-1").pressure(Pressure::Memory, true).await;
/// nodes.node("node-1").go_silent();
/// # });
/// ```
pub struct NodeControl<'a> {
    nodes: &'a Nodes,
    name: String,
}

/// Controls a container of a simulated node. Every function returns when its effect is in the store.
pub struct ContainerControl<'a> {
    nodes: &'a Nodes,
    key: Key,
    name: String,
}

impl Nodes {
    /// Returns the control of a node.
    pub fn node(&self, name: impl Into<String>) -> NodeControl<'_> {
        NodeControl {
            nodes: self,
            name: name.into(),
        }
    }

    /// Returns the control of a container.
    pub fn container(&self, namespace: &str, pod: &str, name: &str) -> ContainerControl<'_> {
        ContainerControl {
            nodes: self,
            key: Key::new(Some(namespace), pod),
            name: name.to_owned(),
        }
    }

    /// Evicts a pod from its node, as for lack of a resource: it fails with the reason `Evicted`.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the pod.
    pub async fn evict(
        &self,
        namespace: &str,
        pod: &str,
        lack: Pressure,
    ) -> Result<(), NotRunning> {
        let key = Key::new(Some(namespace), pod);
        let message = format!("The node was low on resource: {}. ", lack.resource());
        let known = self.known(&key)?;
        self.ask(&key, &known, |state| {
            state.fail("Evicted", &message);
            state.disruption = Some(message.clone());
        })
        .await;
        Ok(())
    }

    fn known(&self, key: &Key) -> Result<Known, NotRunning> {
        let known = self.0.pods.lock().get(key).cloned();
        known.ok_or_else(|| NotRunning(format!("pod {key}")))
    }

    /// Changes the state of a pod, and waits until what follows has been written.
    async fn ask(&self, key: &Key, known: &Known, change: impl FnOnce(&mut crate::pod::PodState)) {
        let asked = {
            let mut state = known.state.lock();
            change(&mut state);
            state.asked += 1;
            state.asked
        };
        let request = Request::new(key.namespace().unwrap_or_default(), key.name());
        self.0.wake.send(request).await;
        let is_done = || {
            let (done, node) = {
                let state = known.state.lock();
                (state.done, state.node.clone())
            };
            done >= asked || !self.is_alive(&node) || !self.knows(key, known)
        };
        self.0.until(is_done).await;
    }

    /// Reports whether a node writes anything.
    fn is_alive(&self, node: &str) -> bool {
        self.0
            .nodes
            .lock()
            .get(node)
            .is_some_and(|node| node.is_alive)
    }

    /// Reports whether a pod is still there.
    fn knows(&self, key: &Key, known: &Known) -> bool {
        let pods = self.0.pods.lock();
        pods.get(key).is_some_and(|now| now.uid == known.uid)
    }
}

impl NodeControl<'_> {
    /// Stops everything that the node writes: its containers go on, but nobody hears of them.
    pub fn go_silent(&self) {
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            node.is_alive = false;
        }
    }

    /// Stops the node and all its containers.
    pub fn crash(&self, now: jiff::Timestamp) {
        self.go_silent();
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            node.crashed = Some(now);
        }
        for (_, known) in self.pods() {
            known.state.lock().kill_all(now);
        }
    }

    /// Brings a node back. It writes what has happened meanwhile; containers of one that crashed are started again.
    pub async fn come_back(&self) {
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            node.is_alive = true;
            node.is_registered = false;
            node.crashed = None;
        }
        self.nodes.0.wake_node(&self.name).await;
        self.nodes.ready().await;
        for (key, known) in self.pods() {
            self.nodes.ask(&key, &known, |_| {}).await;
        }
    }

    /// Sets whether the node lacks a resource.
    pub async fn pressure(&self, pressure: Pressure, lacks: bool) {
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            match lacks {
                true => node.pressure.insert(pressure),
                false => node.pressure.remove(&pressure),
            };
            // What it shows is written again.
            node.is_registered = false;
        }
        self.nodes.0.wake_node(&self.name).await;
        self.nodes.ready().await;
    }

    fn pods(&self) -> Vec<(Key, Known)> {
        let pods = self.nodes.0.pods.lock();
        let here = pods
            .iter()
            .filter(|(_, known)| *known.state.lock().node == *self.name);
        here.map(|(key, known)| (key.clone(), known.clone()))
            .collect()
    }
}

impl ContainerControl<'_> {
    /// Ends the container with an exit code.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn exit(&self, code: i32) -> Result<(), NotRunning> {
        let reason = if code == 0 { "Completed" } else { "Error" };
        self.change(|container| container.forced.exit = Some((code, reason)))
            .await
    }

    /// Ends the container because it used too much memory.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn run_out_of_memory(&self) -> Result<(), NotRunning> {
        self.change(|container| container.forced.exit = Some((137, "OOMKilled")))
            .await
    }

    /// Sets whether a probe fails, whatever the container does.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn fail_probe(&self, kind: ProbeKind, fails: bool) -> Result<(), NotRunning> {
        self.change(|container| container.forced.failing[kind as usize] = fails)
            .await
    }

    /// Sets whether the container is kept from starting.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn hold_start(&self, holds: bool) -> Result<(), NotRunning> {
        self.change(|container| container.forced.holds_start = holds)
            .await
    }

    /// Returns the log of the container.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container, or if there is no such log.
    pub fn logs(&self, options: &LogOptions) -> Result<String, LogError> {
        Ok(options.print(&self.log(options)?))
    }

    /// Waits until the container has written a line with that text. Returns false if it ended without.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container, or if it has not started.
    pub async fn wait_for_log(&self, text: &str) -> Result<bool, LogError> {
        let log = self.log(&LogOptions::default())?;
        let mut from = 0;
        loop {
            let (lines, next, has_ended) = log.read(from);
            if lines.iter().any(|line| line.text.contains(text)) {
                return Ok(true);
            }
            if has_ended {
                return Ok(false);
            }
            from = next;
            log.grown(from).await;
        }
    }

    fn log(&self, options: &LogOptions) -> Result<Log, LogError> {
        let (known, at) = self.find()?;
        let state = known.state.lock();
        state.containers[at].log_of(options, self.key.name(), &self.name)
    }

    fn find(&self) -> Result<(Known, usize), NotRunning> {
        let known = self.nodes.known(&self.key)?;
        let at = {
            let state = known.state.lock();
            state.names.iter().position(|name| **name == *self.name)
        };
        let unknown = || NotRunning(format!("container {} of pod {}", self.name, self.key));
        Ok((known, at.ok_or_else(unknown)?))
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut crate::pod::ContainerState),
    ) -> Result<(), NotRunning> {
        let (known, at) = self.find()?;
        self.nodes
            .ask(&self.key, &known, |state| change(&mut state.containers[at]))
            .await;
        Ok(())
    }
}

impl Pressure {
    pub(crate) fn condition(self) -> &'static str {
        match self {
            Self::Memory => "MemoryPressure",
            Self::Disk => "DiskPressure",
            Self::Pid => "PIDPressure",
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "ephemeral-storage",
            Self::Pid => "pids",
        }
    }

    /// Returns the reason and message of the condition.
    pub(crate) fn texts(self, lacks: bool) -> (&'static str, &'static str) {
        match (self, lacks) {
            (Self::Memory, false) => (
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            (Self::Memory, true) => (
                "KubeletHasInsufficientMemory",
                "kubelet has insufficient memory available",
            ),
            (Self::Disk, false) => ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            (Self::Disk, true) => ("KubeletHasDiskPressure", "kubelet has disk pressure"),
            (Self::Pid, false) => (
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available",
            ),
            (Self::Pid, true) => (
                "KubeletHasInsufficientPID",
                "kubelet has insufficient PID available",
            ),
        }
    }
}
