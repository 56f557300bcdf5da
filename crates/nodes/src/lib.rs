//! Simulated nodes: pods are scheduled to them, run, become ready, fail and end as on nodes with a kubelet.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use k8s_openapi::api::core::v1::Pod;
//! use kube::Api;
//! use kubewright_controller::Manager;
//! use kubewright_nodes::{Behavior, Nodes};
//! use kubewright_testing::TestCluster;
//! use serde_json::{from_value, json};
//!
//! let cluster = TestCluster::start().await;
//! let manager = Manager::new(cluster.client());
//! let nodes = Nodes::new(1);
//! nodes.images().register("example.com/job", Behavior::exits(3));
//! nodes.add_to(&manager).unwrap();
//! let _running = cluster.run(&manager);
//!
//! let pods: Api<Pod> = Api::default_namespaced(cluster.client());
//! let pod = json!({"metadata": {"name": "p"}, "spec": {
//!     "nodeName": "node-1", "restartPolicy": "Never",
//!     "containers": [{"name": "c", "image": "example.com/job"}],
//! }});
//! pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
//! cluster.settled().await.unwrap();
//! let status = pods.get("p").await.unwrap().status.unwrap();
//! assert_eq!(status.phase.as_deref(), Some("Failed"));
//! # });
//! ```
//!
//! The state machine of a pod is fixed and is that of a kubelet: pulls, init containers and sidecars, probes, restarts with
//! growing waits, graceful deletion. What a container does is chosen by its image: [`Behavior`] as data, or a Rust function
//! ([`Image`]). Everything happens by the clock of the cluster; what takes time is due in the queue of a controller, so nothing
//! is polled, and an idle cluster does nothing.
//!
//! | module | contents |
//! |---|---|
//! | `nodes` | [`Nodes`]: the nodes of a cluster, and adding them to a manager |
//! | `shape` | [`NodeShape`]: the properties of a node |
//! | `registration` | nodes register, report their status, and have leases |
//! | `kubelet` | looks at a pod, and writes what has changed |
//! | `pod` | the state machine of a pod, and its status |
//! | `image`, `behavior` | [`Images`], [`Behavior`], [`Image`]: what containers do |
//! | `control` | [`NodeControl`], [`ContainerControl`]: failures on demand |
//! | `network` | addresses of nodes and pods |
//! | `logs`, `log_options` | the logs of containers, and the parts of them that are read |
//!
//! `RULES.md` lists the rules that they follow, each with its test.

mod behavior;
mod control;
mod image;
mod kubelet;
mod log_options;
mod logs;
mod network;
mod nodes;
mod pod;
mod registration;
mod shape;

pub use behavior::Behavior;
pub use control::{ContainerControl, NodeControl, NotRunning, Pressure};
pub use image::{Container, Image, Images};
pub use log_options::{LogError, LogOptions};
pub use nodes::{Heartbeats, Nodes};
pub use pod::ProbeKind;
pub use shape::NodeShape;
