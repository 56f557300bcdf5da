//! A controller runtime: managers, controllers, leader election, events, finalizers.
//!
//! A [`Manager`] runs [`Controller`]s. A controller receives requests for the objects that have changed, and makes the state
//! of the cluster the desired one. This one keeps a Secret for every ConfigMap:
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_controller::{
//!     Action, Context, Controller, Manager, Request, Result, create_or_update,
//!     owner::set_controller_reference,
//! };
//!
//! async fn reconcile(context: Context, request: Request) -> Result<Action> {
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
//! Reads come from shared caches, and wait until these show the client's own writes; writes go to the server. Failures, panics
//! included, are retried with growing delays. [`Manager::routes`] serves health, metrics and `/debug/controllers`, which
//! shows for each key why it ran last, with what result, and when it is due.
//!
//! The other parts need nothing but a [`kube::Client`], so that each can be used alone:
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::Api;
//! use kubewright_controller::{
//!     create_or_update,
//!     leader_election::{ElectionConfig, LeaderElector, Outcome},
//! };
//!
//! // Only the leader works, and the guarded client writes only while the Lease is held.
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
//! | module | contents |
//! |---|---|
//! | [`leader_election`] | one leader at a time, by a Lease; a fence that stops the writes of a former leader |
//! | [`events`] | events about objects: aggregated, limited, sent in the background |
//! | [`finalizer`] | named finalizers: added, run, removed |
//! | [`owner`] | owner and controller references |
//! | [`conditions`] | conditions of a status, with their transition times |
//! | [`wait`] | polling, backoff, waiting for the state or the deletion of an object |
//! | [`health`] | named checks behind `/healthz` and `/readyz` |
//! | [`status`] | the contents of `/debug/controllers` |
//! | `otel` | spans of reconciles, exported through OpenTelemetry (feature `otel`) |
//! | `flags` | flags for `main` (feature `cli`) |

mod apply;
mod builder;
mod client;
mod clock;
mod cluster_access;
pub mod conditions;
mod context;
mod controller;
mod create_or;
pub mod events;
pub mod finalizer;
#[cfg(feature = "cli")]
pub mod flags;
mod handler;
pub mod health;
pub mod leader_election;
mod manager;
mod metrics;
mod object;
#[cfg(feature = "otel")]
pub mod otel;
pub mod owner;
mod predicate;
mod process;
mod reconcile;
mod run;
mod serve;
mod source;
pub mod status;
pub mod wait;

pub use apply::{Apply, apply};
pub use builder::{BuildError, ControllerBuilder};
pub use client::{Client, Filter, ReadError, caches::Caches};
pub use clock::Clock;
pub use cluster_access::ClusterAccess;
pub use context::Context;
pub use controller::{Controller, WatchHandle};
pub use create_or::{CreateOrError, Mutation, OperationResult, create_or_patch, create_or_update};
pub use handler::{Handler, KindScope, LOW_PRIORITY, Owners};
pub use kubewright_client::{BoxError, ErrorExt};
pub use manager::{
    AllNamespaces, ChangeCounter, CommandError, ControllerCommand, ControllerDefaults, Group,
    Manager, ManagerBuilder, ManagerError, Stop, Unsettled,
};
pub use object::{Object, StatusObject};
pub use predicate::{AnyEvent, Predicate};
pub use reconcile::{
    Action, Error, ErrorKind, IntoReconciler, ObjectFn, ReconcileId, Reconciler, Request,
    RequestFn, Result, Struct,
};
pub use run::note_log_line;
pub use serve::{Routes, serve, serve_tls};
pub use source::{Enqueue, RequestSender, Source, Watch};
