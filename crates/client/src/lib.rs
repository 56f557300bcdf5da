//! Clients for the Kubernetes API, built on [`kube::Client`].
//!
//! Every client here is made of a [`kube::Client`] and can be used beside [`kube::Api`]. What they add is what Go programs
//! find in client-go:
//!
//! | you want | use |
//! |---|---|
//! | any path, any verb | [`RestClient`] |
//! | objects as Rust types | [`ClientSet`] |
//! | objects of any kind | [`DynamicClient`] |
//! | labels, owners, finalizers and nothing else | [`MetadataClient`] |
//! | what the server has | [`DiscoveryClient`], with [`MemoryCache`](discovery::MemoryCache) and [`DiskCache`](discovery::DiskCache) |
//! | from kinds to resources and back | [`DiscoveryRestMapper`] |
//! | the number of replicas | [`ScaleClient`] |
//! | rate limits, retries, timeouts, warnings, defaults | [`ClientOptions`] |
//! | a list or a watch as bytes, item by item | [`stream`] |
//! | a kubeconfig | [`kube::Config`]; what it lacks: [`kubeconfig`] |
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::api::ListParams;
//! use kubewright_client::{ClientOptions, ClientSet, DynamicClient};
//!
//! // Rules for all requests; the result is a `kube::Client`.
//! let client = ClientOptions::new().field_manager("tour").wrap(client);
//!
//! let namespaces = ClientSet::new(client.clone()).cluster::<Namespace>();
//! assert!(namespaces.get("default").await.unwrap().metadata.uid.is_some());
//!
//! let dynamic = DynamicClient::new(client);
//! let namespaces = dynamic.mapper().find("ns").await.unwrap();
//! let list = dynamic.resource(&namespaces.resource).list(&ListParams::default()).await.unwrap();
//! assert!(list.items.iter().any(|object| object.metadata.name.as_deref() == Some("default")));
//! # });
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`policy`] | [`ClientOptions`] and the tower layers it is made of |
//! | [`rest`] | [`RestClient`], answers and refusals, watches |
//! | [`objects`] | the verbs on one resource, which three clients share |
//! | [`typed`], [`dynamic`], [`metadata`] | these three |
//! | [`scale`] | [`ScaleClient`] |
//! | [`discovery`] | [`DiscoveryClient`] and its caches |
//! | [`rest_mapper`] | [`DiscoveryRestMapper`] |
//! | [`conflict`] | [`retry_on_conflict`] |
//! | [`stream`] | lists and watches as they arrive: objects cut out of the byte stream, undecoded |
//! | [`error`] | [`Error`] |
//! | [`kubeconfig`] | a page: kubeconfig files and credentials, and what is not there |

pub mod conflict;
pub mod discovery;
pub mod dynamic;
pub mod error;
pub mod kubeconfig;
pub mod metadata;
pub mod objects;
pub mod policy;
pub mod rest;
pub mod rest_mapper;
pub mod scale;
pub mod stream;
pub mod typed;

pub use conflict::retry_on_conflict;
pub use discovery::DiscoveryClient;
pub use dynamic::{DynamicClient, DynamicResource};
pub use error::{Error, Result, api_status, is_conflict, is_not_found};
pub use metadata::{MetadataClient, MetadataResource};
pub use objects::ObjectClient;
pub use policy::ClientOptions;
pub use rest::{RestClient, Watch};
pub use rest_mapper::DiscoveryRestMapper;
pub use scale::ScaleClient;
pub use typed::{ClientSet, TypedClient};
