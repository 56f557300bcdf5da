//! Failures on demand: [`NodeControl`] and [`ContainerControl`].

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::Patch};
use kubewright_controller::Request;
use kubewright_informer::Key;
use serde_json::json;

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

/// Controls a simulated node. Every method returns once its effect is in the store.
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
/// nodes.node("node-1").begin_pressure(Pressure::Memory).await;
/// nodes.node("node-1").go_silent().await;
/// # });
/// ```
pub struct NodeControl<'a> {
    nodes: &'a Nodes,
    name: String,
}

/// Controls a container of a simulated node. Every method returns once its effect is in the store.
pub struct ContainerControl<'a> {
    nodes: &'a Nodes,
    key: Key,
    name: String,
}

impl Nodes {
    /// Returns a handle that controls a node.
    pub fn node(&self, name: impl Into<String>) -> NodeControl<'_> {
        NodeControl {
            nodes: self,
            name: name.into(),
        }
    }

    /// Removes a node, as when its machine is returned to a cloud: its containers end, and its Node object is deleted. Pods
    /// stay until a controller deletes them. Does nothing if there is no such node.
    ///
    /// # Errors
    ///
    /// Fails if the nodes have not been added to a manager, or if the server refuses the deletion.
    pub async fn remove(&self, name: &str) -> Result<(), kube::Error> {
        let client = self.0.client()?;
        let now = (self.0.clock())();
        let Some(node) = self.0.nodes.lock().remove(name) else {
            return Ok(());
        };
        let pods: Vec<(Key, Known)> = {
            let mut pods = self.0.pods.lock();
            let gone = pods.extract_if(|_, known| known.state.lock().node == node.name);
            gone.collect()
        };
        for (key, known) in pods {
            let ip = {
                let mut state = known.state.lock();
                state.kill_all(now);
                state.ip
            };
            if let Some(ip) = ip {
                self.0.network.release(ip, &key);
            }
        }
        let nodes: Api<Node> = Api::all(client);
        match nodes.delete(name, &Default::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Returns a handle that controls a container.
    pub fn container(&self, namespace: &str, pod: &str, name: &str) -> ContainerControl<'_> {
        ContainerControl {
            nodes: self,
            key: Key::new(Some(namespace), pod),
            name: name.to_owned(),
        }
    }

    /// Evicts a pod from its node, as under resource pressure: the pod fails with the reason `Evicted`.
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

    /// Changes the state of a pod, and waits until the consequences have been written.
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

    /// Reports whether a node is alive and writes.
    fn is_alive(&self, node: &str) -> bool {
        self.0
            .nodes
            .lock()
            .get(node)
            .is_some_and(|node| node.is_alive)
    }

    /// Reports whether the node still has the pod.
    fn knows(&self, key: &Key, known: &Known) -> bool {
        let pods = self.0.pods.lock();
        pods.get(key).is_some_and(|now| now.uid == known.uid)
    }
}

impl NodeControl<'_> {
    /// Silences the node: its containers keep running, but it writes nothing, and stops renewing its lease.
    ///
    /// The node lifecycle controller reacts after 50 seconds of the cluster's time.
    pub async fn go_silent(&self) {
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            node.is_alive = false;
        }
        self.lease_has_ended().await;
    }

    /// Stops the node and all its containers.
    pub async fn crash(&self) {
        let now = (self.nodes.0.clock())();
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            node.is_alive = false;
            node.crashed = Some(now);
        }
        for (_, known) in self.pods() {
            known.state.lock().kill_all(now);
        }
        self.lease_has_ended().await;
    }

    /// Waits until the lease of a node that fell silent no longer counts as renewed.
    async fn lease_has_ended(&self) {
        self.nodes.0.wake_node(&self.name).await;
        let shared = &self.nodes.0;
        let is_noted = || {
            let nodes = shared.nodes.lock();
            let node = nodes.get(&self.name);
            node.is_none_or(|node| node.is_alive || !node.has_lease)
        };
        shared.until(is_noted).await;
    }

    /// Brings a node back. It writes what changed in the meantime, and restarts its containers if it had crashed.
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

    /// Cordons the node, as `kubectl cordon` does.
    ///
    /// # Errors
    ///
    /// Fails if the nodes have not been added to a manager, or if there is no such Node object.
    pub async fn cordon(&self) -> Result<(), kube::Error> {
        self.set_unschedulable(Some(true)).await
    }

    /// Makes the node schedulable again, as `kubectl uncordon` does.
    ///
    /// # Errors
    ///
    /// Fails as [`cordon`](Self::cordon) does.
    pub async fn uncordon(&self) -> Result<(), kube::Error> {
        self.set_unschedulable(None).await
    }

    async fn set_unschedulable(&self, unschedulable: Option<bool>) -> Result<(), kube::Error> {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": unschedulable}}));
        let nodes: Api<Node> = Api::all(self.nodes.0.client()?);
        nodes.patch(&self.name, &Default::default(), &patch).await?;
        Ok(())
    }

    /// Makes the node lack a resource, as its conditions then say.
    pub async fn begin_pressure(&self, pressure: Pressure) {
        self.change_pressure(|lacking| lacking.insert(pressure))
            .await;
    }

    /// Ends the lack of a resource.
    pub async fn end_pressure(&self, pressure: Pressure) {
        self.change_pressure(|lacking| lacking.remove(&pressure))
            .await;
    }

    async fn change_pressure(&self, change: impl FnOnce(&mut BTreeSet<Pressure>) -> bool) {
        if let Some(node) = self.nodes.0.nodes.lock().get_mut(&self.name) {
            change(&mut node.pressure);
            // The conditions of the node are written again.
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

    /// Ends the container with the reason `OOMKilled`.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn run_out_of_memory(&self) -> Result<(), NotRunning> {
        self.change(|container| container.forced.exit = Some((137, "OOMKilled")))
            .await
    }

    /// Makes a probe fail, regardless of the container's behavior.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn fail_probe(&self, kind: ProbeKind) -> Result<(), NotRunning> {
        self.change(|container| container.forced.failing[kind as usize] = true)
            .await
    }

    /// Lets the container's behavior decide about a probe again.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn restore_probe(&self, kind: ProbeKind) -> Result<(), NotRunning> {
        self.change(|container| container.forced.failing[kind as usize] = false)
            .await
    }

    /// Holds back further starts of the container.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn hold_start(&self) -> Result<(), NotRunning> {
        self.change(|container| container.forced.holds_start = true)
            .await
    }

    /// Lets the container start again.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn release_start(&self) -> Result<(), NotRunning> {
        self.change(|container| container.forced.holds_start = false)
            .await
    }

    /// Runs a command in the container, and returns its exit code and the end of its output.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container.
    pub async fn execute(&self, command: &[&str]) -> Result<(i32, String), NotRunning> {
        let (known, at) = self.find()?;
        let inside = self.nodes.0.inside(&self.key, &known, at).await;
        let unknown = || NotRunning(format!("container {} of pod {}", self.name, self.key));
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        Ok(inside.ok_or_else(unknown)?.check(&command).await)
    }

    /// Returns the log of the container.
    ///
    /// # Errors
    ///
    /// Fails if no node runs the container, or if there is no such log.
    pub fn logs(&self, options: &LogOptions) -> Result<String, LogError> {
        Ok(options.print(&self.log(options)?))
    }

    /// Waits until the container has logged a line that contains a text. Returns false if it ended without such a line.
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
