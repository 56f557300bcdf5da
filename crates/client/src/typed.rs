//! [`ClientSet`]: clients for Rust types.

use kube::{
    Api, Resource,
    core::{ClusterResourceScope, NamespaceResourceScope},
};
use kubewright_machinery::gvk::GroupVersionResource;

use crate::objects::{ObjectClient, form::Typed};

/// A client for the objects of a Rust type.
pub type TypedClient<K> = ObjectClient<K, Typed>;

/// Clients for every Rust type of a Kubernetes kind: those of `k8s-openapi`, and those with
/// `#[derive(kube::CustomResource)]`.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
/// use kube::api::{ListParams, PostParams};
/// use kubewright_client::ClientSet;
///
/// let set = ClientSet::new(client);
/// let maps = set.namespaced::<ConfigMap>("default");
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// let mut map = maps.create(&PostParams::default(), &map).await.unwrap();
/// map.data = Some([("sky".to_owned(), "blue".to_owned())].into());
/// maps.update(&PostParams::default(), &map).await.unwrap();
/// assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 1);
///
/// let namespaces = set.cluster::<Namespace>();
/// assert!(namespaces.get_opt("kube-system").await.unwrap().is_some());
/// // A `kube::Api` for everything that takes one.
/// let api: kube::Api<ConfigMap> = set.api_namespaced("default");
/// assert!(api.get_opt("colours").await.unwrap().is_some());
/// # });
/// ```
#[derive(Clone)]
pub struct ClientSet {
    client: kube::Client,
}

impl ClientSet {
    /// Creates a client set.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Returns a client for the objects of a namespace.
    pub fn namespaced<K>(&self, namespace: &str) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.all::<K>().namespace(namespace)
    }

    /// Returns a client for the objects of the client's own namespace.
    pub fn default_namespaced<K>(&self) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.namespaced(self.client.default_namespace())
    }

    /// Returns a client for cluster-scoped objects.
    pub fn cluster<K>(&self) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.all::<K>()
    }

    /// Returns a client for the objects of all namespaces, to list and watch.
    pub fn all<K: Resource<DynamicType = ()>>(&self) -> TypedClient<K> {
        ObjectClient::new(self.client.clone(), resource_of::<K>())
    }

    /// Returns a `kube::Api` for the objects of a namespace.
    pub fn api_namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Returns a `kube::Api` for cluster-scoped objects, or for all namespaces.
    pub fn api_all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// Returns the underlying client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }
}

/// Returns the resource of a Rust type.
pub(crate) fn resource_of<K: Resource<DynamicType = ()>>() -> GroupVersionResource {
    GroupVersionResource::new(K::group(&()), K::version(&()), K::plural(&()))
}

impl<K: Resource<DynamicType = ()>> From<Api<K>> for TypedClient<K> {
    /// Returns a client for the same objects.
    fn from(api: Api<K>) -> Self {
        let namespace = api.namespace().unwrap_or_default().to_owned();
        ObjectClient::new(api.into_client(), resource_of::<K>()).namespace(namespace)
    }
}
