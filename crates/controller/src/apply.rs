//! Server-side apply.
//!
//! An applied object contains the fields that its manager cares about and nothing else. Fields that the manager applied
//! before and leaves out now are removed, unless others own them too.

use std::fmt;

use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};

/// The settings of server-side apply.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_controller::Apply;
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("stock".into());
/// map.data = Some([("apples".to_owned(), "3".to_owned())].into());
/// let applied = Apply::new("shop").force().object(&maps, &map).await.unwrap();
/// assert_eq!(applied.data, map.data);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Apply(PatchParams);

impl Apply {
    /// Applies as the field manager of that name. A field that another manager owns with another value is a conflict.
    pub fn new(manager: &str) -> Self {
        Self(PatchParams::apply(manager))
    }

    /// Takes over fields that other managers own, as controllers usually do.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.0.force = true;
        self
    }

    /// Validates without persisting anything.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.0.dry_run = true;
        self
    }

    /// Applies the object, creating it if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects it or cannot be reached.
    pub async fn object<K>(&self, api: &Api<K>, object: &K) -> kube::Result<K>
    where
        K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
    {
        let name = object.meta().name.as_deref().unwrap_or_default();
        api.patch(name, &self.0, &Patch::Apply(object)).await
    }

    /// Applies the status of an existing object.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects it or cannot be reached.
    pub async fn status<K>(&self, api: &Api<K>, object: &K) -> kube::Result<K>
    where
        K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
    {
        let name = object.meta().name.as_deref().unwrap_or_default();
        api.patch_status(name, &self.0, &Patch::Apply(object)).await
    }
}

/// Applies the object as that manager, taking over fields of other managers.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_controller::apply;
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.data = Some([("sky".into(), "blue".into())].into());
/// let applied = apply(&maps, "painter", &map).await.unwrap();
/// assert_eq!(applied.data, map.data);
/// # });
/// ```
///
/// # Errors
///
/// Fails if the server rejects it or cannot be reached.
pub async fn apply<K>(api: &Api<K>, manager: &str, object: &K) -> kube::Result<K>
where
    K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
{
    Apply::new(manager).force().object(api, object).await
}
