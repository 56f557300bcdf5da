//! The Kubernetes API server: the built-in kinds, in-tree admission and custom resources on [`kubewright_apiserver`].
//!
//! This crate stands to `kubewright-apiserver` as cmd/kube-apiserver stands to k8s.io/apiserver. [`KubeApiServer`] registers
//! every stable kind of the catalog over the generic registry, applies the rules of `kubewright-builtins`, and adds the special
//! cases (namespaces, services, pods), the reviews that are answered and never stored, and the namespaces of a new cluster.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use kubewright_apiserver::Body;
//! use kubewright_kube_apiserver::KubeApiServer;
//!
//! let api = KubeApiServer::builder().build().await.unwrap();
//! let request = http::Request::get("/api/v1/namespaces/default").body(Body::empty()).unwrap();
//! assert_eq!(api.server().handle(request).await.status(), 200);
//! # });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `admission` | the in-tree admission plugins |
//! | `authentication` | the authenticators of a cluster, and the options that select them |
//! | `authorization` | the authorizers of a server |
//! | `bootstrap` | the objects of a new cluster |
//! | `crds` | custom resources: CustomResourceDefinitions and the kinds that they define |
//! | `kinds` | resources built from the catalog; strategies, tables, conversion |
//! | `layout` | keys and values in etcd |
//! | `openapi` | descriptions of the built-in types |
//! | `outgoing` | calls to webhooks and other servers, and the policy for all of them |
//! | `pod_references` | the secrets that a pod refers to |
//! | `rbac` | decisions by roles and bindings, checks against escalation, the policy of a new cluster |
//! | `subresources` | `status`, `scale`, `binding`, `eviction`, `token` and the others |
//! | `service_accounts` | tokens of service accounts: keys, issuing, checking |
//! | `reviews` | token and access reviews |
//! | `scaling` | the logic that every `scale` subresource shares |
//! | `server` | [`KubeApiServer`] and its builder |

mod admission;
mod aggregation;
mod authentication;
mod authorization;
mod bootstrap;
mod crds;
mod flow_control;
mod follow;
mod kinds;
mod layout;
mod node_authorizer;
mod openapi;
mod outgoing;
mod pod_references;
mod rbac;
mod reviews;
mod server;
mod service_accounts;
mod service_range;
mod subresources;

pub use admission::{
    InvalidPluginConfiguration, InvalidPodSecurityLevel, InvalidPodSecurityVersion, PluginName,
    PodSecurityConfiguration, PodSecurityLevel, PodSecurityVersion, UnknownPlugin,
    UnsupportedPlugin,
};
pub use authentication::{AnonymousAccess, FrontProxy};
pub use authorization::{AuthorizationMode, UnknownMode};
pub use crds::Conversions;
pub use flow_control::PriorityAndFairness;
pub use kinds::component_statuses::Component;
pub use layout::StorageLayout;
pub use node_authorizer::NodeAuthorizer;
pub use outgoing::{ServiceHandler, Services};
pub use rbac::Rbac;
pub use server::{FIRST_REVISION, KubeApiServer, KubeApiServerBuilder};
pub use service_accounts::{KeyError as ServiceAccountKeyError, ServiceAccountKeys};
pub use service_range::{ServiceRange, ServiceRangeError};
