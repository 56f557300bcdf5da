//! One process: the API server and the built-in kinds, on any store.
//!
//! [`ControlPlane`] puts together what a cluster's API is made of: every stable kind of the catalog over the generic registry,
//! with the rules of `kubewright-builtins`, the special cases (namespaces, services, pods), the reviews that are answered and
//! never stored, and the namespaces that every cluster begins with.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use kubewright_apiserver::body::Body;
//! use kubewright_controlplane::ControlPlane;
//!
//! let plane = ControlPlane::builder().build().await.unwrap();
//! let request = http::Request::get("/api/v1/namespaces/default").body(Body::empty()).unwrap();
//! assert_eq!(plane.server().handle(request).await.status(), 200);
//! # });
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`admission`] | the plugins that change and refuse writes |
//! | [`crds`] | custom resource definitions: kinds that are declared at run time |
//! | [`plane`] | [`ControlPlane`] and its builder |
//! | [`kinds`] | from the catalog to resources; strategies; tables; conversion |
//! | [`openapi`] | what the schemas of the built-in kinds say to people |
//! | [`subresources`] | `status`, `scale`, `binding`, `eviction`, `token` and the others |
//! | [`reviews`] | token and access reviews |
//! | `scaling` | what every `scale` does |

pub mod admission;
pub mod crds;
pub mod kinds;
pub mod openapi;
pub mod plane;
pub mod reviews;
mod scaling;
pub mod subresources;

pub use plane::{ControlPlane, ControlPlaneBuilder};
