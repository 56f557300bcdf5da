//! A Kubernetes API server as a tower service, over resources of your own.
//!
//! It is a framework: register resources and get discovery, content negotiation, tables, watches, patches, server-side apply
//! and the exact errors of kube-apiserver. A resource is either stored ([`registry::Resource::stored`], over any
//! [`kubewright_store::Store`]) or computed by small traits, one for each verb ([`registry::traits`]). The same service is called
//! in process, or served over TCP and TLS with `kubewright-serve`.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//!
//! use http::Request;
//! use kubewright_apiserver::{
//!     body::Body,
//!     registry::{RegistryBuilder, Resource, generic::Plain},
//!     server::ApiServer,
//! };
//! use kubewright_machinery::gvk::GroupVersionKind;
//! use kubewright_store::MemoryStore;
//!
//! let comets = GroupVersionKind::new("sky.example.com", "v1", "Comet");
//! let store = Arc::new(MemoryStore::new());
//! let mut registry = RegistryBuilder::default();
//! registry.add(Resource::stored(comets, "comets", false, store, Arc::new(Plain)));
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
//! | module | what it holds |
//! |---|---|
//! | [`server`] | [`server::ApiServer`]: the service; what surrounds every request, and where each goes |
//! | [`request`] | `RequestInfo`, query, options of each verb, the context of a request |
//! | `verbs` | one file for each verb: negotiate, decode, call the handler, answer |
//! | [`registry`] | resources, the traits of their verbs, and the generic registry over a store |
//! | [`managed`] | managed fields and server-side apply |
//! | [`admission`] | the last word on writes |
//! | [`respond`] | negotiation and every form of an answer: objects, lists, tables, watches, YAML |
//! | [`openapi`] | the documents that tell the shape of every object |
//! | [`discovery`], [`endpoints`] | what is served; version, health, metrics |
//! | [`auth`] | who is asking, and may they |
//! | [`object`], [`body`], [`clock`] | objects as bytes, bodies, the time |

pub mod admission;
pub mod auth;
pub mod body;
pub mod clock;
pub mod discovery;
pub mod endpoints;
mod ids;
pub mod managed;
pub mod object;
pub mod openapi;
pub mod registry;
pub mod request;
pub mod respond;
pub mod server;
mod verbs;
