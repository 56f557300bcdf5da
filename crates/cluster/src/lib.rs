//! A running Kubernetes API in your process.
//!
//! [`Cluster`] owns everything that makes an API server a cluster to work with: the store and its maintenance, the
//! server, the identities of its users, TLS certificates, a kubeconfig, and the built-in controllers. It starts in
//! milliseconds, and stops when it is dropped.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::Api;
//! use kubewright_cluster::{Cluster, Controllers};
//!
//! let cluster = Cluster::builder()
//!     .controllers(Controllers::default())
//!     .listen("127.0.0.1:0".parse().unwrap())
//!     .start()
//!     .await?;
//!
//! // In this process no socket is needed.
//! let namespaces: Api<Namespace> = Api::all(cluster.client());
//! assert!(namespaces.get_opt("kube-system").await.unwrap().is_some());
//!
//! // Other programs connect with the kubeconfig.
//! let endpoint = cluster.endpoint().expect("the cluster listens");
//! assert!(endpoint.kubeconfig().contains(endpoint.url()));
//!
//! cluster.stop().await?;
//! # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
//! ```
//!
//! For tests there is `kubewright-testing`, which adds virtual time, faults and forks.

mod access_log;
mod builder;
mod certificates;
mod cluster;
mod data_dir;
mod endpoint;
mod error;
mod identity;
mod kept_keys;
mod kubeconfig;
mod profile;
mod secret_file;
mod secret_tokens;
mod serving;
mod storage;
mod users;

pub use access_log::{Access, AccessLog};
pub use builder::ClusterBuilder;
pub use certificates::{CertificateAuthority, CertificateError, CertifiedKey, SelfSigned};
pub use cluster::Cluster;
pub use data_dir::DataDir;
pub use endpoint::Endpoint;
pub use error::Error;
pub use identity::{Tokens, TokensError};
pub use kubeconfig::{Credential, Kubeconfig, KubeconfigUser};
pub use kubewright_builtin_controllers::Controllers;
pub use kubewright_kube_apiserver::{AuthorizationMode, ServiceHandler, Services};
pub use kubewright_nodes::Nodes;
pub use kubewright_rbac::{Advice, Permission};
pub use kubewright_scheduler::Scheduler;
pub use kubewright_store_durable::{DurableStore, OpenError, SyncMode};
pub use profile::{Profile, UnknownProfile};
pub use secret_file::write_secret_file;
pub use serving::ServingCertificate;
pub use storage::Storage;
pub use users::{ClusterUser, ClusterUserError};
