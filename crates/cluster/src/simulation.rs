//! The scheduler and simulated nodes of a cluster.

use kubewright_controller::{Manager, ManagerError};
use kubewright_nodes::Nodes;
use kubewright_scheduler::Scheduler;

use crate::{Cluster, ClusterBuilder, Profile};

/// The scheduler and nodes of a cluster's configuration.
#[derive(Default)]
pub(crate) struct Simulation {
    scheduler: SchedulerChoice,
    nodes: Option<Nodes>,
}

/// The scheduler of a cluster.
#[derive(Default)]
enum SchedulerChoice {
    /// The default scheduler, if there are nodes.
    #[default]
    WithNodes,
    This(Box<Scheduler>),
    Off,
}

impl Simulation {
    /// Reports whether the cluster has a scheduler.
    pub(crate) fn schedules(&self) -> bool {
        match &self.scheduler {
            SchedulerChoice::This(_) => true,
            SchedulerChoice::WithNodes => self.nodes.is_some(),
            SchedulerChoice::Off => false,
        }
    }

    /// Reports whether the cluster has neither nodes nor a scheduler.
    pub(crate) fn is_empty(&self) -> bool {
        let has_scheduler = matches!(self.scheduler, SchedulerChoice::This(_));
        self.nodes.is_none() && !has_scheduler
    }

    /// Adds the scheduler and the nodes to the manager of the built-in controllers.
    pub(crate) fn add_to(&self, manager: &Manager) -> Result<(), ManagerError> {
        match &self.scheduler {
            SchedulerChoice::This(scheduler) => scheduler.add_to(manager)?,
            SchedulerChoice::WithNodes if self.nodes.is_some() => {
                Scheduler::new().add_to(manager)?;
            }
            SchedulerChoice::WithNodes | SchedulerChoice::Off => {}
        }
        match &self.nodes {
            Some(nodes) => nodes.add_to(manager),
            None => Ok(()),
        }
    }

    /// Waits until the nodes are ready.
    pub(crate) async fn ready(&self) {
        if let Some(nodes) = &self.nodes {
            nodes.ready().await;
        }
    }

    /// Returns the configured nodes.
    pub(crate) fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref()
    }

    /// Returns the nodes.
    pub(crate) fn into_nodes(self) -> Option<Nodes> {
        self.nodes
    }
}

impl ClusterBuilder {
    /// Selects the built-in controllers of a profile, and adds two nodes if the profile is `full`.
    pub fn profile(self, profile: Profile) -> Self {
        let with_controllers = self.controllers(profile.controllers());
        match profile {
            Profile::Full => with_controllers.nodes(2),
            Profile::Bare | Profile::Controllers => with_controllers,
        }
    }

    /// Adds simulated nodes, and a scheduler unless [`scheduler`](Self::scheduler) is set: pods run and become ready.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_cluster::Cluster;
    /// use serde_json::{from_value, json};
    ///
    /// let cluster = Cluster::builder().nodes(2).start().await?;
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    /// pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
    /// cluster.settled(Duration::from_secs(60)).await.unwrap();
    /// let status = pods.get("web").await.unwrap().status.unwrap();
    /// assert_eq!(status.phase.as_deref(), Some("Running"));
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    pub fn nodes(mut self, nodes: impl Into<Nodes>) -> Self {
        self.simulation.nodes = Some(nodes.into());
        self
    }

    /// Sets the scheduler. With `None`, another program must schedule pods.
    pub fn scheduler(mut self, scheduler: impl Into<Option<Scheduler>>) -> Self {
        self.simulation.scheduler = match scheduler.into() {
            Some(scheduler) => SchedulerChoice::This(Box::new(scheduler)),
            None => SchedulerChoice::Off,
        };
        self
    }
}

impl Cluster {
    /// Returns the simulated nodes of [`ClusterBuilder::nodes`].
    pub fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref()
    }
}
