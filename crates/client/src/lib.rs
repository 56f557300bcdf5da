//! Clients for the Kubernetes API, built on [`kube::Client`].
//!
//! Every client here wraps a [`kube::Client`] and works beside [`kube::Api`]. Together they offer what Go programs find in
//! client-go:
//!
//! | for | use |
//! |---|---|
//! | any path and any verb | [`RestClient`] |
//! | objects as Rust types | [`ClientSet`] |
//! | objects of any kind | [`DynamicClient`] |
//! | metadata only: labels, owners, finalizers | [`MetadataClient`] |
//! | the resources that a server has | [`DiscoveryClient`], with [`MemoryCache`] and [`DiskCache`] |
//! | mapping kinds to resources and back | [`DiscoveryRestMapper`] |
//! | the number of replicas | [`ScaleClient`] |
//! | rate limits, retries, timeouts, warnings, defaults | [`ClientOptions`] |
//! | lists and watches as bytes, item by item | [`stream`] |
//! | a read-modify-write cycle | [`retry_on_conflict`] |
//! | asking an error of any type what the server answered | [`ErrorExt`] |
//! | a kubeconfig | [`kube::Config`]; how it compares with client-go: [`kubeconfig`] |
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::api::ListParams;
//! use kubewright_client::{ClientOptions, ClientSet, DynamicClient};
//!
//! // Settings for all requests; the result is a `kube::Client`.
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
//! | module | contents |
//! |---|---|
//! | [`policy`] | the tower layers that [`ClientOptions`] combines, warnings, request metrics |
//! | [`discovery`] | the [`Discovery`] trait and its caches |
//! | [`stream`] | lists and watches as they arrive: objects cut out of the byte stream, not decoded |
//! | [`kubeconfig`] | a page on kubeconfig files and credentials, compared with client-go |

mod conflict;
pub mod discovery;
mod dynamic;
mod error;
mod error_ext;
pub mod kubeconfig;
mod metadata;
mod objects;
pub mod policy;
mod rest;
mod rest_mapper;
mod scale;
pub mod stream;
mod typed;

pub use conflict::retry_on_conflict;
pub use discovery::{Discovered, Discovery, DiskCache, MemoryCache, client::DiscoveryClient};
pub use dynamic::{DynamicClient, DynamicResource};
pub use error::{BoxError, Error, Result, api_status, find_source, is_conflict, is_not_found};
pub use error_ext::ErrorExt;
pub use metadata::{MetadataClient, MetadataResource};
pub use objects::{
    Deletion, Form, Listing, MetadataOnly, ObjectClient, Pages, Typed, Unstructured, Whole,
};
pub use policy::options::ClientOptions;
pub use rest::{RestClient, RestRequest, RestResponse, WatchStream};
pub use rest_mapper::{DiscoveryRestMapper, RestMapperSnapshot};
pub use scale::ScaleClient;
pub use typed::{ClientSet, TypedClient};
