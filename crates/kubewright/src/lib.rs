//! Everything needed to program Kubernetes in Rust.
//!
//! This crate re-exports the crates of the workspace by feature. The default is what an operator needs.
//!
//! | feature | modules | contents |
//! |---|---|---|
//! | `operator` (default) | `operator`, and those of `controller` and `derive` | an operator as a program: APIs, controllers, CRD installation, command line |
//! | `controller` | `controller`, `informer`, `workqueue`, and those of `client` | the controller runtime and its parts |
//! | `client` | `client`, `machinery`, `metrics` | clients on top of `kube::Client`; names, selectors, quantities, `Status`; counters, gauges and histograms |
//! | `derive` | `resource`, `Schema`, `CustomKind`, `machinery` | custom resources from Rust types: CRDs, validation, versions |
//! | `testing` | `testing` | a cluster for tests, in the same process |
//! | `cluster` | `cluster` | a whole cluster in your program: API server, tokens, TLS, kubeconfig, built-in controllers |
//! | `server` | `apiserver`, `kube_apiserver`, `store`, `machinery` | API servers, the built-in kinds, storage |
//! | `builtins` | `builtins`, `catalog` | facts, defaults and validation of the built-in kinds |
//! | `schema` | `schema` | decoding by type, structural schemas |
//! | `cel` | `cel` | CEL: parser, type checker, costs, evaluation |
//! | `merge` | `merge` | patches, managed fields, server-side apply |
//! | `protobuf` | `protobuf` | the protobuf encoding |
//! | `mimalloc` | | makes mimalloc the global allocator of the program |
//!
//! ```
//! # #[cfg(feature = "operator")] {
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright::{
//!     controller::{Action, Context, Controller, Error, Request},
//!     operator::Operator,
//! };
//!
//! pub fn register(operator: &mut Operator) {
//!     operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
//! }
//!
//! async fn reconcile(_: Context, _: Request) -> Result<Action, Error> {
//!     Ok(Action::done())
//! }
//!
//! let model = Operator::new("keeper", register).model().unwrap();
//! assert_eq!(model.controllers[0].owns[0].kind, "Secret");
//! # }
//! ```

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "server")]
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
    self as resource, __derive, CustomKind, Schema, custom_kind, round_trips,
};
#[cfg(feature = "schema")]
pub use kubewright_schema as schema;
#[cfg(feature = "server")]
pub use kubewright_store as store;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
#[cfg(feature = "controller")]
pub use kubewright_workqueue as workqueue;
