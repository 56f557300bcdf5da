//! A cluster for tests: started in milliseconds, forked, broken on purpose.
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
//! | module | what it holds |
//! |---|---|
//! | [`cluster`] | [`TestCluster`]: start, client, fork, compaction, clock |
//! | [`faults`] | [`Fault`]s to inject: refusals, conflicts, watches that break or lag |
//! | [`endpoint`] | [`Endpoint`]: the cluster on a socket, with a kubeconfig |

pub mod cluster;
pub mod endpoint;
pub mod faults;

pub use cluster::{TestClock, TestCluster};
pub use endpoint::Endpoint;
pub use faults::{Fault, Faults, Match};
