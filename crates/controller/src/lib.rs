//! What a controller is made of, beside the loop itself.
//!
//! Everything here needs a [`kube::Client`] and nothing else, so that each part can be used alone.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::Api;
//! use kubewright_controller::{
//!     create_or::create_or_update,
//!     leader_election::{ElectionConfig, LeaderElector, Outcome},
//! };
//!
//! // Only the leader works, and the guarded client writes only while the lease is held.
//! let election = LeaderElector::new(client.clone(), ElectionConfig::new("shop", "default")).unwrap();
//! let client = election.fence().guard(client);
//! let never = std::future::pending();
//! let outcome = election
//!     .run(never, |_token| async {
//!         let maps: Api<ConfigMap> = Api::default_namespaced(client);
//!         let mut map = ConfigMap::default();
//!         map.metadata.name = Some("stock".into());
//!         let (_, done) = create_or_update(&maps, map, |map| {
//!             map.data.get_or_insert_default().insert("apples".into(), "3".into());
//!         })
//!         .await
//!         .unwrap();
//!         done.to_string()
//!     })
//!     .await;
//! assert_eq!(outcome, Outcome::Finished("created".to_owned()));
//! # });
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`leader_election`] | one leader at a time, on a Lease; a fence that stops the writes of a deposed one |
//! | [`events`] | events about objects: aggregated, limited, sent in the background |
//! | [`finalizer`] | named finalizers: added, run, removed |
//! | [`owner`] | owner and controller references |
//! | [`create_or`] | create, or bring up to date by update or patch |
//! | [`apply`] | server-side apply |
//! | [`conditions`] | conditions of a status, with their transition times |
//! | [`wait`] | polling, backoff, waiting for an object to be in a state or gone |
//! | [`health`] | named checks behind `/healthz` and `/readyz` |
//! | [`metrics`] | counters, gauges and histograms in Prometheus' text format |
//! | [`serve`] | the small HTTP server for health, metrics and debugging |
//! | `flags` | flags for `main` (feature `cli`) |

pub mod apply;
pub mod conditions;
pub mod create_or;
pub mod events;
pub mod finalizer;
#[cfg(feature = "cli")]
pub mod flags;
pub mod health;
pub mod leader_election;
pub mod metrics;
pub mod owner;
pub mod serve;
pub mod wait;

pub use events::{EventBroadcaster, EventType, Recorder};
pub use finalizer::{Finalizer, Finalizers};
pub use leader_election::{ElectionConfig, Fence, LeaderElector, LeaderToken};
