//! Everything needed to program Kubernetes in Rust.
//!
//! This crate re-exports the crates of the workspace by feature. The default is what an operator needs.
//!
//! | feature | modules | contents |
//! |---|---|---|
//! | `operator` (default) | `operator`, [`prelude`], and those of `controller`, `derive` and `webhook` | an operator as a program: APIs, controllers, webhooks, CRD installation, command line |
//! | `controller` | `controller`, `informer`, `workqueue`, and those of `client` | the controller runtime and its parts |
//! | `webhook` | `webhook`, and those of `controller` | admission and conversion webhooks: defaulters, validators, converters, their server |
//! | `client` | `client`, `machinery`, `metrics` | clients on top of `kube::Client`; names, selectors, quantities, `Status`; counters, gauges and histograms |
//! | `derive` | `resource`, `Schema`, `defaults`, `CustomKind`, `machinery` | custom resources from Rust types: CRDs, validation, versions |
//! | `testing` | `testing` | a cluster for tests, in the same process |
//! | `cluster` | `cluster` | a whole cluster in your program: API server, tokens, TLS, kubeconfig, built-in controllers |
//! | `server` | `apiserver`, `extension_apiserver`, `kube_apiserver`, `store`, `streams`, and those of `derive` | API servers of typed kinds, the built-in kinds, storage |
//! | `apiserver` | `apiserver`, `extension_apiserver`, `store`, `streams`, and those of `operator` | operators that serve kinds themselves, behind the API server of the cluster |
//! | `workloads` | | the workload controllers, a scheduler and simulated nodes, for `testing` and `cluster` |
//! | `durable` | | clusters in a data directory, for `cluster`; kinds in one, for `apiserver` |
//! | `etcd` | | clusters whose objects are in etcd, for `cluster`, or come from one, for `testing`; kinds in etcd, for `apiserver` |
//! | `builtins` | `builtins`, `catalog` | facts, defaults and validation of the built-in kinds |
//! | `schema` | `schema` | decoding by type, structural schemas |
//! | `cel` | `cel` | CEL: parser, type checker, costs, evaluation |
//! | `merge` | `merge` | patches, managed fields, server-side apply |
//! | `protobuf` | `protobuf` | the protobuf encoding |
//! | `mimalloc` | | makes mimalloc the global allocator of the program |
//!
//! # A first operator
//!
//! The whole program: a kind, a controller that keeps a ConfigMap for each object of it, and `main`. It installs the
//! CustomResourceDefinition with `install`, and runs without arguments. `kubewright new` creates such a project with tests.
//!
#![cfg_attr(feature = "operator", doc = "```")]
#![cfg_attr(not(feature = "operator"), doc = "```ignore")]
//! use std::{process::ExitCode, sync::Arc};
//!
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{CustomResource, ResourceExt};
//! use kubewright::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! /// The desired state of a Greeting.
//! #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
//! #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! pub struct GreetingSpec {
//!     /// The text to show.
//!     #[schema(min_length = 1, max_length = 100)]
//!     pub text: String,
//! }
//!
//! async fn reconcile(ctx: Context<Greeting>, greeting: Arc<Greeting>) -> Result<Action> {
//!     let mut map = ConfigMap::default();
//!     map.metadata.name = Some(greeting.name_any());
//!     map.data = Some([("text".to_owned(), greeting.spec.text.clone())].into());
//!     // Owned by the Greeting, and garbage-collected after it.
//!     ctx.apply_owned(map).await?;
//!     Ok(Action::done())
//! }
//!
//! fn register(operator: &mut Operator) {
//!     operator
//!         .api::<Greeting>()
//!         .controller(Controller::for_::<Greeting>().owns::<ConfigMap>(), reconcile);
//! }
//!
//! fn main() -> ExitCode {
//! #   let model = Operator::new("greeter", register).model().unwrap();
//! #   assert_eq!(model.controllers[0].owns[0].kind, "ConfigMap");
//! #   return ExitCode::SUCCESS;
//! #   #[allow(unreachable_code)]
//!     kubewright::operator::main("greeter", register)
//! }
//! ```

#[cfg(feature = "operator")]
pub mod prelude;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(any(feature = "apiserver", feature = "server"))]
pub use kubewright_apiserver as apiserver;
#[cfg(feature = "builtins")]
pub use kubewright_builtins as builtins;
#[cfg(feature = "builtins")]
pub use kubewright_catalog as catalog;
#[cfg(feature = "cel")]
pub use kubewright_cel as cel;
#[cfg(feature = "client")]
pub use kubewright_client as client;
#[cfg(feature = "cluster")]
pub use kubewright_cluster as cluster;
#[cfg(feature = "controller")]
pub use kubewright_controller as controller;
#[cfg(any(feature = "apiserver", feature = "server"))]
pub use kubewright_extension_apiserver as extension_apiserver;
#[cfg(feature = "controller")]
pub use kubewright_informer as informer;
#[cfg(feature = "server")]
pub use kubewright_kube_apiserver as kube_apiserver;
#[cfg(any(feature = "client", feature = "derive", feature = "server"))]
pub use kubewright_machinery as machinery;
#[cfg(feature = "merge")]
pub use kubewright_merge as merge;
#[cfg(feature = "client")]
pub use kubewright_metrics as metrics;
#[cfg(feature = "operator")]
pub use kubewright_operator as operator;
#[cfg(feature = "protobuf")]
pub use kubewright_protobuf as protobuf;
#[cfg(feature = "derive")]
pub use kubewright_resource::{
    self as resource, __derive, CustomKind, Schema, custom_kind, defaults, round_trips,
};
#[cfg(feature = "schema")]
pub use kubewright_schema as schema;
#[cfg(any(feature = "apiserver", feature = "server"))]
pub use kubewright_store as store;
#[cfg(any(feature = "apiserver", feature = "server"))]
pub use kubewright_streams as streams;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
#[cfg(feature = "webhook")]
pub use kubewright_webhook as webhook;
#[cfg(feature = "controller")]
pub use kubewright_workqueue as workqueue;
