//! A framework for Kubernetes API servers.
//!
//! A server is a tower service. Register resources and get discovery, content negotiation, tables, watches, patches, server-side apply
//! and the exact errors of kube-apiserver. A resource is either stored ([`registry::Resource::stored`], over any
//! [`kubewright_store::Store`]) or computed by small traits, one for each verb ([`registry::Resource::computed`]). The same service
//! is called in process, or served over TCP and TLS with `kubewright-serve`.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//!
//! use http::Request;
//! use kubewright_apiserver::{
//!     ApiServer, Body,
//!     registry::{RegistryBuilder, Resource, ResourceSpec},
//! };
//! use kubewright_machinery::gvk::GroupVersionKind;
//! use kubewright_store::MemoryStore;
//!
//! let comets = GroupVersionKind::new("sky.example.com", "v1", "Comet");
//! let store = Arc::new(MemoryStore::new());
//! let mut registry = RegistryBuilder::default();
//! registry.add(Resource::stored(ResourceSpec::new(comets, "comets"), store));
//! let server = ApiServer::builder(registry.build()).build();
//!
//! let halley = Request::post("/apis/sky.example.com/v1/comets")
//!     .header("content-type", "application/json")
//!     .body(Body::from(r#"{"metadata": {"name": "halley"}, "spec": {"years": 76}}"#))
//!     .unwrap();
//! assert_eq!(server.handle(halley).await.status(), 201);
//! # });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `server` | [`ApiServer`], the service: authentication, authorization and routing of requests |
//! | [`request`] | `RequestInfo`, the query, the options of each verb, the context of a request |
//! | `verbs` | one file for each verb: negotiate, decode, call the handler, respond |
//! | [`registry`] | resources, the traits of their verbs, and the generic registry over a store |
//! | `field_manager` | managed fields and server-side apply |
//! | [`admission`] | plugins that change or reject writes |
//! | `respond` | content negotiation and the forms of responses: objects, lists, tables, watches, YAML |
//! | `openapi` | OpenAPI v2 and v3 documents |
//! | `discovery`, `endpoints` | discovery; version, health, metrics |
//! | [`auth`] | authentication and authorization |
//! | [`flow`] | the flow schema and the priority level of a request |
//! | [`aggregation`] | groups that other servers serve behind this one |
//! | [`audit`] | events about requests, the policy that selects them, and their sinks |
//! | [`ledger`] | who wrote each revision and why: the recording of requests, and `/kubewright/v1/` |
//! | `object`, `body`, `clock` | objects as bytes, bodies, clocks |

pub mod admission;
pub mod aggregation;
pub mod audit;
pub mod auth;
mod body;
mod clock;
mod discovery;
mod endpoints;
mod field_manager;
pub mod flow;
mod ids;
pub mod ledger;
mod object;
mod openapi;
pub mod registry;
pub mod request;
mod respond;
mod server;
mod verbs;

pub use body::{Body, BoxError};
pub use clock::{Clock, SharedClock, SystemClock, TokioClock, rfc3339};
pub use endpoints::{Document, HealthChecks, Metrics, ObjectCount, Probe, VersionInfo};
pub use field_manager::{
    ConvertVersion, CustomVersions, FieldManager, ReplicasPaths, ScaleOwners, TypeSchema,
};
pub use ids::random_uid;
pub use kubewright_derive::boxed_async;
pub use object::{Object, Selectable, SelectableField, Summary};
pub use openapi::{Descriptions, Undescribed};
pub use respond::{Accepted, status_response};
pub use server::{ApiServer, ApiServerBuilder, InFlightLimits, WeakApiServer};
pub use verbs::check_patched_kind;
