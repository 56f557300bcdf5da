//! A cluster for tests: it starts in milliseconds, can be forked, injects faults, and has virtual time.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//! use kubewright_testing::TestCluster;
//!
//! let cluster = TestCluster::start().await;
//! let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("colours".into());
//! maps.create(&PostParams::default(), &map).await.unwrap();
//!
//! // A fork is an independent cluster with the same objects.
//! let fork = cluster.fork().await;
//! let copies: Api<ConfigMap> = Api::default_namespaced(fork.client());
//! copies.delete("colours", &Default::default()).await.unwrap();
//! assert!(maps.get_opt("colours").await.unwrap().is_some());
//! # });
//! ```
//!
//! Controllers run on it with [`TestCluster::run`], and [`TestCluster::settled`] waits until they have nothing left to
//! do:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use std::time::Duration;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_controller::{Action, Context, Controller, Manager, Request};
//! use kubewright_testing::TestCluster;
//!
//! let cluster = TestCluster::start().await;
//! let manager = Manager::new(cluster.client());
//! Controller::for_::<ConfigMap>()
//!     .build(&manager, |_: Context, _: Request| async {
//!         Ok(Action::requeue_after(Duration::from_secs(3600)))
//!     })
//!     .unwrap();
//! let running = cluster.run(&manager);
//! cluster.settled().await.unwrap();
//! // An hour of virtual time passes immediately.
//! cluster.time().advance(Duration::from_secs(3600)).await;
//! cluster.settled().await.unwrap();
//! running.stop().await.unwrap();
//! # });
//! ```
//!
//! [`perturb`](perturb()) runs a program under crashes, stale caches, missed events, lost leases and webhooks that fail.
//!
//! | module | contents |
//! |---|---|
//! | `cluster` | [`TestCluster`]: start, client, fork, compaction |
//! | `access` | clients [as other users](TestCluster::client_as), RBAC, and denied requests |
//! | `managers` | running managers, and waiting until they are [settled](TestCluster::settled) |
//! | `time` | [`Time`]: virtual time; [`TestClock`] |
//! | `perturb` | runs a program under every perturbation |
//! | `audited` | the requests to a cluster, as audit events |
//! | `ledger` | the [ledger](TestCluster::ledger): assertions about writes and their causes |
//! | `controllers` | built-in controllers |
//! | `workloads` | workload controllers, simulated nodes and a scheduler (feature `workloads`) |
//! | `recording` | files of the permissions that users needed |
//! | `endless` | detection of controllers that write forever |

mod access;
mod audited;
mod cluster;
mod controllers;
mod endless;
mod ledger;
mod managers;
mod perturb;
mod recording;
#[cfg(feature = "etcd")]
mod snapshot;
mod time;
#[cfg(feature = "workloads")]
mod workloads;

pub use cluster::{TestCluster, TestClusterBuilder};
pub use kubewright_apiserver::{audit, boxed_async, request::Verb};
pub use kubewright_builtin_controllers::Controllers;
pub use kubewright_cluster::{
    Advice, ClusterUser, Endpoint, Error, Fault, Faults, FaultyServer, KubeconfigUser, Match,
    Permission, PlannedFault, ServiceHandler, Services, WebhookFault,
};
pub use kubewright_controller::Unsettled;
pub use kubewright_machinery::Status;
#[cfg(feature = "workloads")]
pub use kubewright_nodes::{
    Behavior, Container, ContainerControl, Datagram, Heartbeats, Listener, NodeControl, NodeShape,
    Nodes, Pressure, ProbeKind, UdpSocket,
};
#[cfg(feature = "workloads")]
pub use kubewright_scheduler::{NodeInfo, Placement, Scheduler};
pub use ledger::{LedgerMark, TestLedger};
pub use managers::{RunningManager, SETTLE_TIMEOUT};
pub use perturb::{
    Failure, Installable, Moment, Perturb, Perturbation, Program, Report, State, World, perturb,
};
pub use time::{TestClock, Time};
