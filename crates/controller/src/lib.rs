//! Controllers: the control loop, and what it is made of.
//!
//! A [`Manager`] runs [`Controller`]s. A controller is told which objects to look at, and makes the cluster what it should
//! be. This one keeps a Secret for every ConfigMap:
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_controller::{
//!     Action, Context, Controller, Error, Manager, Request, create_or::create_or_update,
//!     owner::set_controller_reference,
//! };
//!
//! async fn reconcile(context: Context, request: Request) -> Result<Action, Error> {
//!     let Some(map) = context.get::<ConfigMap>(&request).await? else {
//!         return Ok(Action::done());
//!     };
//!     let mut secret = Secret { data: None, ..Secret::default() };
//!     secret.metadata.name = map.metadata.name.clone();
//!     secret.metadata.namespace = map.metadata.namespace.clone();
//!     set_controller_reference(&*map, &mut secret)?;
//!     let secrets = context.client().api::<Secret>(request.namespace().unwrap_or_default());
//!     create_or_update(&secrets, secret, |secret| secret.string_data = map.data.clone()).await?;
//!     Ok(Action::done())
//! }
//!
//! let manager = Manager::new(client);
//! Controller::for_::<ConfigMap>().owns::<Secret>().build(&manager, reconcile).unwrap();
//! # let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(cluster.client());
//! # let mut map = ConfigMap::default();
//! # map.metadata.name = Some("colours".into());
//! # maps.create(&Default::default(), &map).await.unwrap();
//! # let (watched, client) = (manager.clone(), cluster.client());
//! # let shutdown = async move {
//! #     watched.settled(std::time::Duration::from_secs(60)).await.unwrap();
//! #     let secrets: kube::Api<Secret> = kube::Api::default_namespaced(client);
//! #     assert!(secrets.get_opt("colours").await.unwrap().is_some());
//! # };
//! manager.run(shutdown).await.unwrap();
//! # });
//! ```
//!
//! Reads come from caches that are shared, and wait until they show what was written before; writes go to the server. What
//! fails is tried again, each time later; a panic is a failure. `Manager::routes` has health, metrics and
//! `/debug/controllers`, which says for each key why it ran last, how that ended, and when it is due.
//!
//! Beside the loop there is what needs a [`kube::Client`] and nothing else, so that each part can be used alone:
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
//! | [`reconcile`] | [`Reconciler`], [`Request`], [`Action`], [`Error`] |
//! | [`builder`] | [`Builder`]: what a controller watches, and how it works |
//! | [`controller`] | [`Controller`]: a queue, its sources, its workers |
//! | [`source`] | [`Watch`]es, channels, timers |
//! | [`predicate`], [`handler`] | which events count, and which requests they lead to |
//! | [`manager`] | [`Manager`]: what runs, in which order it starts and stops |
//! | [`client`] | [`Client`]: reads caches, writes to the server, reads its own writes |
//! | [`status`] | what `/debug/controllers` says |
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
//! | `otel` | spans of reconciles, exported through OpenTelemetry (feature `otel`) |
//! | `flags` | flags for `main` (feature `cli`) |

pub mod apply;
pub mod builder;
pub mod client;
pub mod conditions;
pub mod controller;
pub mod create_or;
pub mod events;
pub mod finalizer;
#[cfg(feature = "cli")]
pub mod flags;
pub mod handler;
pub mod health;
pub mod leader_election;
pub mod manager;
pub mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod owner;
pub mod predicate;
pub mod reconcile;
pub mod serve;
pub mod source;
pub mod status;
pub mod wait;

pub use builder::{BuildError, Builder};
pub use client::{Client, Filter};
pub use controller::{Controller, WatchHandle};
pub use events::{EventBroadcaster, EventType, Recorder};
pub use finalizer::{Finalizer, Finalizers};
pub use handler::{Handler, Owners};
pub use leader_election::{ElectionConfig, Fence, LeaderElector, LeaderToken};
pub use manager::{ControllerDefaults, Group, Manager, ManagerError, Stop};
pub use predicate::Predicate;
pub use reconcile::{Action, Context, Error, Reconciler, Request};
pub use source::{Source, Watch};
