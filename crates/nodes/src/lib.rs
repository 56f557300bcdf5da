//! Simulated nodes: pods that are bound to them run, become ready, fail and terminate as on nodes with a kubelet.
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
//! The state machine of a pod is that of a kubelet: pulls, init containers and sidecars, probes, restarts with exponential
//! backoff, graceful deletion. The image of a container selects its behavior: a [`Behavior`], which is data, or an [`Image`],
//! which is a Rust function. Time is that of the cluster's clock. Delays are entries in the queue of a controller, so that
//! nothing is polled and an idle cluster does no work.
//!
//! | module | contents |
//! |---|---|
//! | `nodes` | [`Nodes`]: the nodes of a cluster, and adding them to a manager |
//! | `shape` | [`NodeShape`]: the properties of a node |
//! | `registration` | registration, status and leases of nodes |
//! | `kubelet` | reconciles a pod: advances its state and writes its status |
//! | `pod` | the state machine of a pod, and its status |
//! | `image`, `behavior` | [`Images`], [`Behavior`], [`Image`]: the behavior of containers |
//! | `control` | [`NodeControl`], [`ContainerControl`]: failures on demand |
//! | `server` | the API of kubelets: logs, commands, forwarded ports, statistics |
//! | `check` | probes that are executed |
//! | `inside` | the environment, volumes and processes of a container |
//! | `files`, `shell` | files in memory, and a small shell for commands and scripts |
//! | `programs` | the ports of well-known images |
//! | `network` | addresses, ports and names of pods, nodes and services |
//! | `usage`, `metrics` | the resources that containers use |
//! | `logs`, `log_options` | the logs of containers, and options to read them |
//!
//! `RULES.md` lists the rules of kubelets that they follow, with their tests.

mod agnhost;
mod behavior;
mod check;
mod control;
mod files;
mod image;
mod inside;
mod kubelet;
mod log_options;
mod logs;
mod metrics;
mod network;
mod nodes;
mod pod;
mod registration;
mod server;
mod shape;
mod shell;
mod usage;
mod web_server;

pub use behavior::Behavior;
pub use control::{ContainerControl, NodeControl, NotRunning, Pressure};
pub use image::{Container, HttpBody, Image, Images};
pub use log_options::{LogError, LogOptions};
pub use network::{Datagram, Listener, UdpSocket};
pub use nodes::{Heartbeats, Nodes};
pub use pod::ProbeKind;
pub use shape::NodeShape;
