//! Custom kinds on the server framework.
//!
//! A [`Definition`] is a decoded CustomResourceDefinition with compiled schemas. [`CustomResources`] turns it into resources
//! of `kubewright-apiserver`, with validation, defaulting, pruning, printer columns, `status`, `scale`, selectable fields and
//! several versions. The custom resources of kube-apiserver and the typed kinds of extension servers are built on it.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//!
//! use http::Request;
//! use kubewright_apiserver::{ApiServer, Body, registry::RegistryBuilder};
//! use kubewright_custom_kinds::{CustomResources, Definition};
//! use kubewright_store::MemoryStore;
//! use serde_json::json;
//!
//! let comets = Definition::read(&json!({"spec": {
//!     "group": "sky.example.com",
//!     "scope": "Cluster",
//!     "names": {"plural": "comets", "singular": "comet", "kind": "Comet", "listKind": "CometList"},
//!     "versions": [{
//!         "name": "v1", "served": true, "storage": true,
//!         "schema": {"openAPIV3Schema": {
//!             "type": "object",
//!             "properties": {"years": {"type": "integer", "minimum": 1}},
//!         }},
//!     }],
//! }}))?;
//! let mut registry = RegistryBuilder::default();
//! for resource in CustomResources::new(&comets, Arc::new(MemoryStore::new())).served() {
//!     registry.add(resource);
//! }
//! let server = ApiServer::builder(registry.build()).build();
//! let comet = json!({
//!     "apiVersion": "sky.example.com/v1", "kind": "Comet", "metadata": {"name": "halley"}, "years": 0,
//! });
//! let request = Request::post("/apis/sky.example.com/v1/comets")
//!     .header("content-type", "application/json")
//!     .body(Body::from(comet.to_string()))?;
//! assert_eq!(server.handle(request).await.status(), 422);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `definition` | [`Definition`]: a decoded CRD |
//! | `resources` | [`CustomResources`]: the resources of a definition |
//! | `strategy`, `scale`, `table`, `jsonpath` | parts of these resources |
//! | `convert`, `versions` | versions, and conversion between them |

mod convert;
mod definition;
mod jsonpath;
mod resources;
mod scale;
mod strategy;
mod table;
mod versions;

pub use convert::{Conversion, Renamed};
pub use definition::{Definition, Names};
pub use resources::CustomResources;
