//! A running Kubernetes API in your process.
//!
//! A [`Cluster`] consists of an API server, its store and maintenance, the identities of its users, TLS certificates, a
//! kubeconfig, and built-in controllers. It starts in milliseconds, and stops when it is dropped.
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
//! // Clients in this process need no socket.
//! let namespaces: Api<Namespace> = Api::all(cluster.client());
//! assert!(namespaces.get_opt("kube-system").await.unwrap().is_some());
//! // Other programs connect with the kubeconfig.
//! let endpoint = cluster.endpoint().expect("the cluster listens");
//! assert!(endpoint.kubeconfig().contains(endpoint.url()));
//!
//! cluster.stop().await?;
//! # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
//! ```
//!
//! A [`Lab`] injects faults into a cluster, moves its clock, and forks it. For tests, use `kubewright-testing`, which adds virtual
//! time and waiting.

mod access_log;
mod builder;
mod certificates;
mod cluster;
#[cfg(feature = "durable")]
mod data_dir;
#[cfg(feature = "etcd")]
mod encryption;
mod endpoint;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod faults;
mod identity;
mod in_process;
#[cfg_attr(not(any(feature = "durable", feature = "etcd")), allow(dead_code))]
mod kept_keys;
mod kubeconfig;
mod lab;
#[cfg(feature = "workloads")]
mod metrics;
#[cfg(feature = "workloads")]
mod profile;
mod secret_file;
mod secret_tokens;
mod serving;
#[cfg(feature = "workloads")]
mod simulation;
mod storage;
mod users;

pub use access_log::{Access, AccessLog};
pub use builder::ClusterBuilder;
pub use certificates::{CertificateAuthority, CertificateError, CertifiedKey, SelfSigned};
pub use cluster::Cluster;
#[cfg(feature = "durable")]
pub use data_dir::DataDir;
#[cfg(feature = "etcd")]
pub use encryption::{Encryption, EncryptionError};
pub use endpoint::Endpoint;
pub use error::Error;
#[cfg(feature = "etcd")]
pub use etcd::{Etcd, StorageMediaType, StorageMediaTypeError};
pub use faults::{
    Fault, Faults, FaultyServer, FaultyService, Match, PlannedFault, RequestObserver, WebhookFault,
};
pub use identity::{Tokens, TokensError};
pub use in_process::InProcess;
pub use kubeconfig::{Credential, Kubeconfig, KubeconfigUser};
pub use kubewright_builtin_controllers::Controllers;
pub use kubewright_kube_apiserver::{AuthorizationMode, ServiceHandler, Services};
#[cfg(feature = "workloads")]
pub use kubewright_nodes::Nodes;
pub use kubewright_rbac::{Advice, Permission};
#[cfg(feature = "workloads")]
pub use kubewright_scheduler::Scheduler;
#[cfg(feature = "durable")]
pub use kubewright_store_durable::{DurableStore, OpenError, SyncMode};
#[cfg(feature = "etcd")]
pub use kubewright_store_etcd::{EtcdFork, SnapshotError};
pub use lab::{Lab, LabClock};
#[cfg(feature = "workloads")]
pub use metrics::serve_metrics;
#[cfg(feature = "workloads")]
pub use profile::{Profile, UnknownProfile};
pub use secret_file::write_secret_file;
pub use serving::ServingCertificate;
pub use storage::Storage;
pub use users::{ClusterUser, ClusterUserError};
