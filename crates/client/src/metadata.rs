//! [`MetadataClient`]: the metadata of objects of any kind.

use kube::api::PartialObjectMeta;
use kubewright_machinery::gvk::GroupVersionResource;

use crate::objects::{ObjectClient, form::MetadataOnly};

/// A client for the metadata of one resource: get, list, watch, patch, delete.
pub type MetadataResource = ObjectClient<PartialObjectMeta, MetadataOnly>;

/// A client that requests metadata only: labels, owners and finalizers of objects, however large they are.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kube::api::{ListParams, Patch, PatchParams};
/// use kubewright_client::MetadataClient;
/// use kubewright_machinery::gvk::GroupVersionResource;
/// use serde_json::json;
///
/// let metadata = MetadataClient::new(client);
/// let namespaces = metadata.resource(&GroupVersionResource::new("", "v1", "namespaces"));
/// let labels = Patch::Merge(json!({"metadata": {"labels": {"team": "shop"}}}));
/// namespaces.patch("default", &PatchParams::default(), &labels).await.unwrap();
///
/// let ours = namespaces.list(&ListParams::default().labels("team=shop")).await.unwrap();
/// assert_eq!(ours.items[0].metadata.name.as_deref(), Some("default"));
/// # });
/// ```
#[derive(Clone)]
pub struct MetadataClient {
    client: kube::Client,
}

impl MetadataClient {
    /// Creates a client.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Returns a client for a resource, in all namespaces unless [one is set](ObjectClient::namespace).
    pub fn resource(&self, resource: &GroupVersionResource) -> MetadataResource {
        ObjectClient::new(self.client.clone(), resource.clone())
    }
}
