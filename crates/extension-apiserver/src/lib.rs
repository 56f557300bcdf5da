//! API servers of your own, with kinds from Rust types.
//!
//! The types are those of an operator: `kube::CustomResource` with `#[derive(Schema)]`. They determine the names of a kind, its
//! schema with defaults and validation rules, strict decoding, OpenAPI documents, printer columns, selectable fields, `status`
//! and `scale`. Objects are in a store ([`ExtensionServerBuilder::store`]), or wherever a [`Storage`] finds them.
//!
//! ```
//! # extern crate kubewright_resource as kubewright;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use async_trait::async_trait;
//! use http::Request;
//! use kube::CustomResource;
//! use kubewright_apiserver::Body;
//! use kubewright_extension_apiserver::{ExtensionServer, ListQuery, Listing, Storage, Verbs};
//! use kubewright::Schema;
//! use kubewright_machinery::Status;
//! use serde::{Deserialize, Serialize};
//!
//! /// A planet, computed on request.
//! #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
//! #[kube(group = "sky.example.com", version = "v1", kind = "Planet", shortname = "pl")]
//! #[kube(printcolumn(name = "Moons", type_ = "integer", json_path = ".spec.moons"))]
//! pub struct PlanetSpec {
//!     moons: u32,
//! }
//!
//! struct Planets;
//!
//! #[async_trait]
//! impl Storage<Planet> for Planets {
//!     fn verbs(&self) -> Verbs {
//!         Verbs { list: true, ..Verbs::default() }
//!     }
//!
//!     async fn list(&self, _: &ListQuery) -> Result<Listing<Planet>, Status> {
//!         let planets = [("earth", 1), ("mars", 2)];
//!         let planets = planets.map(|(name, moons)| Planet::new(name, PlanetSpec { moons }));
//!         Ok(Listing::new(planets.to_vec()))
//!     }
//! }
//!
//! let server = ExtensionServer::builder().serve::<Planet>(Planets).build()?;
//! let request = Request::get("/apis/sky.example.com/v1/planets").body(Body::empty())?;
//! assert_eq!(server.handle(request).await.status(), 200);
//! // The storage has no `get`, so single planets have no path.
//! let request = Request::get("/apis/sky.example.com/v1/planets/mars").body(Body::empty())?;
//! assert_eq!(server.handle(request).await.status(), 404);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `server` | [`ExtensionServer`] and its builder |
//! | `kind` | [`Kind`]: a kind with its data, versions, subresources, admission and table |
//! | `storage` | [`Storage`]: the data of a kind |
//! | `protobuf` | the protobuf form of a kind |
//! | `changes` | [`ChangeFeed`]: a log of changes, which serves watches |
//! | `server_store` | [`ServerStore`]: the store of a server's kinds |
//! | `encoded` | the encoded forms of shared objects |
//! | `reads`, `store` | adapters of a storage: handlers of reads, and a store for the generic registry |
//! | `subresource`, `admission`, `rows` | the typed extensions of a kind |
//! | `deletion` | graceful deletion |
//! | `guard` | panics in streams of authors |
//! | `streams` | logs, commands and port forwarding |
//! | `delegation` | authentication and authorization by the API server of the cluster (feature `runtime`) |
//! | `flags` | [`ServerFlags`]: conventional flags |
//! | `registration`, `tls` | APIServices, and serving with TLS (feature `runtime`) |

mod admission;
mod changes;
#[cfg(feature = "runtime")]
mod delegation;
mod deletion;
mod encoded;
mod flags;
mod guard;
mod kind;
mod protobuf;
mod reads;
#[cfg(feature = "runtime")]
mod registration;
mod rows;
mod server;
mod server_store;
mod storage;
mod store;
mod streams;
mod subresource;
#[cfg(feature = "runtime")]
mod tls;

pub use admission::Admission;
/// The attribute for implementations of the traits of this crate.
pub use async_trait::async_trait;
pub use changes::{Change, ChangeFeed, ChangeKind, Changes};
#[cfg(feature = "runtime")]
pub use delegation::{Delegation, DelegationError};
pub use deletion::GracefulDeletion;
pub use flags::{
    AuditError, AuditFlags, DelegationOptions, FlagError, Lookup, ProxyOptions, ServerFlags,
    StoreFlags,
};
pub use kind::{Kind, SubresourceVerbs};
#[cfg(feature = "runtime")]
pub use registration::Registration;
pub use rows::{Column, Rows};
pub use server::{BuildError, ExtensionServer, ExtensionServerBuilder};
pub use server_store::{OpenStoreError, ServerStore};
pub use storage::{ListQuery, Listing, ServedKind, Storage, Verbs};
pub use streams::{ExecSubresource, LogStream, LogSubresource, PortForwardSubresource, log_of};
pub use subresource::{Access, Subresource};
#[cfg(feature = "runtime")]
pub use tls::ServeError;
