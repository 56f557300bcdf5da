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
//! // A fork is another cluster that begins with the same objects.
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
//! // An hour of virtual time is over at once.
//! cluster.time().advance(Duration::from_secs(3600)).await;
//! cluster.settled().await.unwrap();
//! running.stop().await.unwrap();
//! # });
//! ```
//!
//! [`perturb`](perturb()) runs a program under crashes, stale caches, missed events and lost leases, in one line.
//!
//! | module | contents |
//! |---|---|
//! | `cluster` | [`TestCluster`]: start, client, fork, compaction |
//! | `access` | clients [as other users](TestCluster::client_as), RBAC, and what was denied |
//! | `managers` | running managers, and waiting until they are [settled](TestCluster::settled) |
//! | `time` | [`Time`]: virtual time; [`TestClock`] |
//! | `perturb` | a program under every perturbation |
//! | `faults` | [`Fault`]s to inject: errors, conflicts, watches that break or lag; [`WebhookFault`]s |
//! | `audited` | the requests that a cluster was sent |
//! | `controllers` | the built-in controllers, the scheduler and simulated nodes |
//! | `recording` | files of the permissions that users needed |
//! | `endless` | recognising controllers that write for ever |

mod access;
mod audited;
mod cluster;
mod controllers;
mod endless;
mod faults;
mod managers;
mod perturb;
mod recording;
mod time;

pub use cluster::{TestCluster, TestClusterBuilder};
pub use faults::{Fault, Faults, FaultyServer, Match, WebhookFault};
pub use kubewright_apiserver::{audit, request::Verb};
pub use kubewright_builtin_controllers::Controllers;
pub use kubewright_cluster::{
    Advice, ClusterUser, Endpoint, Error, KubeconfigUser, Permission, ServiceHandler, Services,
};
pub use kubewright_controller::Unsettled;
pub use kubewright_machinery::Status;
pub use kubewright_nodes::{Behavior, Nodes};
pub use managers::{RunningManager, SETTLE_TIMEOUT};
pub use perturb::{
    Failure, Installable, Perturb, Perturbation, Program, Report, State, World, perturb,
};
pub use time::{TestClock, Time};
