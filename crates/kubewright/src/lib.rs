//! Everything needed to program Kubernetes in Rust.
//!
//! The facade: it re-exports the crates of the workspace by feature. Its only code of its own is the frame of an operator.
//!
//! | feature | module | what it gives |
//! |---|---|---|
//! | always | [`machinery`] | names, selectors, quantities, validation, `Status` |
//! | always | [`catalog`], [`builtins`] | facts, defaults and rules of the built-in kinds |
//! | always | [`schema`], [`merge`], [`protobuf`] | decoding by type, patches and server-side apply, the wire form |
//! | always | [`cel`] | expressions: parser, type checker, costs, evaluation |
//! | `derive` (default) | `resource`, `Schema`, `CustomKind` | custom resources from Rust types: definitions, validation, versions |
//! | `server` (default) | `apiserver`, `kube_apiserver`, `store` | API servers, the control plane, storage |
//! | `controller` | `client`, `informer`, `workqueue`, `controller` | what controllers are made of |
//! | `operator` | `operator` | a program of APIs and controllers that runs itself and describes itself |
//! | `mimalloc` | | the program allocates with mimalloc, which takes less time than the system's allocator |
//! | `testing` | `testing` | a cluster for tests |
//!
//! ```
//! use kubewright::machinery::quantity::Quantity;
//!
//! let memory: Quantity = Quantity::parse("1536Mi").unwrap();
//! assert_eq!(memory.to_string(), "1536Mi");
//! assert_eq!(memory.value(), 1536 * 1024 * 1024);
//! ```

#[cfg(feature = "operator")]
pub mod operator;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub use kubewright_builtins as builtins;
pub use kubewright_catalog as catalog;
pub use kubewright_cel as cel;
pub use kubewright_machinery as machinery;
pub use kubewright_merge as merge;
pub use kubewright_protobuf as protobuf;
pub use kubewright_schema as schema;

#[cfg(feature = "server")]
pub use kubewright_apiserver as apiserver;
#[cfg(feature = "controller")]
pub use kubewright_client as client;
#[cfg(feature = "controller")]
pub use kubewright_controller as controller;
#[cfg(feature = "controller")]
pub use kubewright_informer as informer;
#[cfg(feature = "server")]
pub use kubewright_kube_apiserver as kube_apiserver;
#[cfg(feature = "derive")]
pub use kubewright_resource::{
    self as resource, __derive, CustomKind, Schema, custom_kind, round_trips,
};
#[cfg(feature = "server")]
pub use kubewright_store as store;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
#[cfg(feature = "controller")]
pub use kubewright_workqueue as workqueue;
