//! [`DynamicClient`]: objects of any kind, known at run time.

use std::sync::Arc;

use kube::api::DynamicObject;
use kubewright_machinery::gvk::{GroupVersion, GroupVersionKind, GroupVersionResource};

use crate::{
    discovery::{Discovery, DiscoveryClient, MemoryCache},
    error::{Error, Result},
    objects::{ObjectClient, form::Unstructured},
    rest_mapper::DiscoveryRestMapper,
};

/// A client for the objects of one resource.
pub type DynamicResource = ObjectClient<DynamicObject, Unstructured>;

/// A client for objects of any kind.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kube::api::{DynamicObject, ListParams, PatchParams};
/// use kubewright_client::DynamicClient;
/// use kubewright_machinery::gvk::GroupVersionResource;
/// use serde_json::json;
///
/// let dynamic = DynamicClient::new(client);
/// let map: DynamicObject = serde_json::from_value(json!({
///     "apiVersion": "v1",
///     "kind": "ConfigMap",
///     "metadata": {"name": "colours", "namespace": "default"},
///     "data": {"sky": "blue"},
/// })).unwrap();
/// // The object's kind determines the resource.
/// let applied = dynamic.for_object(&map).await.unwrap().apply(&PatchParams::apply("me"), &map).await.unwrap();
/// assert_eq!(applied.data["data"]["sky"], "blue");
///
/// // By resource, without discovery.
/// let maps = dynamic.resource(&GroupVersionResource::new("", "v1", "configmaps")).namespace("default");
/// assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 1);
/// # });
/// ```
#[derive(Clone)]
pub struct DynamicClient {
    client: kube::Client,
    mapper: DiscoveryRestMapper,
}

impl DynamicClient {
    /// Creates a client that discovers kinds on demand.
    pub fn new(client: kube::Client) -> Self {
        let live = DiscoveryClient::new(client.clone());
        let cached: Arc<dyn Discovery> = Arc::new(MemoryCache::new(live));
        Self::with_mapper(client, DiscoveryRestMapper::new(cached))
    }

    /// Creates a client that uses this mapper.
    pub fn with_mapper(client: kube::Client, mapper: DiscoveryRestMapper) -> Self {
        Self { client, mapper }
    }

    /// Returns a client for a resource, in all namespaces unless [one is set](ObjectClient::namespace).
    pub fn resource(&self, resource: &GroupVersionResource) -> DynamicResource {
        ObjectClient::new(self.client.clone(), resource.clone())
    }

    /// Returns a client for a kind. The namespace is ignored for cluster-scoped kinds.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have the kind, or if discovery fails.
    pub async fn kind(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
    ) -> Result<DynamicResource> {
        let mapping = self
            .mapper
            .mapping(&kind.group_kind(), &[&kind.version])
            .await?;
        let objects = self.resource(&mapping.resource);
        Ok(match namespace.filter(|_| mapping.namespaced) {
            Some(namespace) => objects.namespace(namespace),
            None => objects,
        })
    }

    /// Returns a client for the resource of an object. The namespace defaults to the client's own.
    ///
    /// # Errors
    ///
    /// Fails if the object has no kind, if the server does not have it, or if discovery fails.
    pub async fn for_object(&self, object: &DynamicObject) -> Result<DynamicResource> {
        let types = object.types.as_ref();
        let kind = types
            .and_then(|types| Some(GroupVersion::parse(&types.api_version)?.with_kind(&types.kind)))
            .filter(|kind| !kind.kind.is_empty())
            .ok_or_else(|| Error::Request("the object has no apiVersion or kind".to_owned()))?;
        let namespace = object.metadata.namespace.as_deref();
        let namespace = namespace.unwrap_or(self.client.default_namespace());
        self.kind(&kind, Some(namespace)).await
    }

    /// Returns the mapper.
    pub fn mapper(&self) -> &DiscoveryRestMapper {
        &self.mapper
    }
}
