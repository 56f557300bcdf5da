//! [`ClientSet`]: clients for Rust types.

use kube::{
    Api, Resource,
    core::{ClusterResourceScope, NamespaceResourceScope},
};
use kubewright_machinery::gvk::GroupVersionResource;

use crate::objects::{ObjectClient, form::Typed};

/// The verbs on the objects of a Rust type.
pub type TypedClient<K> = ObjectClient<K, Typed>;

/// Clients for every Rust type that stands for a kind: those of `k8s-openapi`, and those with
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
/// // Whatever takes a `kube::Api` gets one.
/// let api: kube::Api<ConfigMap> = set.api_namespaced("default");
/// assert!(api.get_opt("colours").await.unwrap().is_some());
/// # });
/// ```
#[derive(Clone)]
pub struct ClientSet {
    client: kube::Client,
}

impl ClientSet {
    /// Clients on this one.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Objects in a namespace.
    pub fn namespaced<K>(&self, namespace: &str) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.all::<K>().namespace(namespace)
    }

    /// Objects in the client's own namespace.
    pub fn default_namespaced<K>(&self) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.namespaced(self.client.default_namespace())
    }

    /// Objects without namespaces.
    pub fn cluster<K>(&self) -> TypedClient<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.all::<K>()
    }

    /// Objects in all namespaces, to be listed and watched.
    pub fn all<K: Resource<DynamicType = ()>>(&self) -> TypedClient<K> {
        ObjectClient::new(self.client.clone(), resource_of::<K>())
    }

    /// kube's own client for the objects of a namespace.
    pub fn api_namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// kube's own client for the objects of the cluster, or of all namespaces.
    pub fn api_all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// The client underneath.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }
}

/// Where the objects of a Rust type are.
pub fn resource_of<K: Resource<DynamicType = ()>>() -> GroupVersionResource {
    GroupVersionResource::new(K::group(&()), K::version(&()), K::plural(&()))
}

impl<K: Resource<DynamicType = ()>> From<Api<K>> for TypedClient<K> {
    /// The same objects, with the verbs that are here.
    fn from(api: Api<K>) -> Self {
        let namespace = api.namespace().unwrap_or_default().to_owned();
        ObjectClient::new(api.into_client(), resource_of::<K>()).namespace(namespace)
    }
}
