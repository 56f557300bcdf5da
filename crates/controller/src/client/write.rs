//! Writing objects: create, update, patch, apply, delete.

use http_body_util::BodyExt;
use kube::{
    Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    client::Body,
    core::{NamespaceResourceScope, Request, Status},
};
use kubewright_client::Error;
use kubewright_informer::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Client;
use crate::object::Object;

/// The field manager of clients whose manager and controller do not name one.
const FIELD_MANAGER: &str = "kubewright";

impl Client {
    /// Returns a client that writes under that field manager.
    #[must_use]
    pub fn with_field_manager(mut self, name: &str) -> Self {
        self.field_manager = Some(name.into());
        self
    }

    /// Returns a client with the given field manager, and otherwise with its own or the default.
    pub(crate) fn or_field_manager(self, name: Option<&str>, default: &str) -> Self {
        match (name, &self.field_manager) {
            (Some(name), _) => self.with_field_manager(name),
            (None, Some(_)) => self,
            (None, None) => self.with_field_manager(default),
        }
    }

    /// Returns the field manager that writes are made under.
    pub fn field_manager(&self) -> &str {
        self.field_manager.as_deref().unwrap_or(FIELD_MANAGER)
    }

    /// Creates an object, and returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects it, for example because it exists already, or cannot be reached.
    pub async fn create<K: Object>(&self, object: &K) -> Result<K, Error> {
        let request = url::<K>(object).create(&self.post(), encode(object)?);
        self.write(request).await
    }

    /// Replaces an object, and returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the object has changed since it was read.
    pub async fn update<K: Object>(&self, object: &K) -> Result<K, Error> {
        let request = url::<K>(object).replace(name(object), &self.post(), encode(object)?);
        self.write(request).await
    }

    /// Replaces the status of an object and nothing else, and returns the object as the server stored it.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the object has changed since it was read.
    pub async fn replace_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        let body = encode(object)?;
        let request =
            url::<K>(object).replace_subresource("status", name(object), &self.post(), body);
        self.write(request).await
    }

    /// Replaces the status of an object and nothing else.
    ///
    /// The response is not decoded; the next read through this client waits for the new version. To get the response at
    /// once, use [`replace_status`](Self::replace_status).
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the object has changed since it was read.
    pub async fn update_status<K>(&self, object: &K) -> Result<(), Error>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let body = encode(object)?;
        let request =
            url::<K>(object).replace_subresource("status", name(object), &self.post(), body);
        self.send(request).await.map(drop)
    }

    /// Patches an object, and returns it as the server stored it.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::api::Patch;
    /// use kubewright_controller::Manager;
    /// use serde_json::json;
    ///
    /// let client = Manager::new(cluster.client()).client().clone();
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("colours".into());
    /// map.metadata.namespace = Some("default".into());
    /// let map = client.create(&map).await.unwrap();
    /// let patch = Patch::Merge(json!({"data": {"sky": "blue"}}));
    /// let map = client.patch(&map, &patch).await.unwrap();
    /// assert_eq!(map.data.unwrap()["sky"], "blue");
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the patch, or if the object does not exist.
    pub async fn patch<K: Object, P: Serialize>(
        &self,
        object: &K,
        patch: &Patch<P>,
    ) -> Result<K, Error> {
        let params = PatchParams {
            field_manager: Some(self.field_manager().to_owned()),
            force: matches!(patch, Patch::Apply(_)),
            ..PatchParams::default()
        };
        let request = url::<K>(object).patch(name(object), &params, patch);
        self.write(request).await
    }

    /// Applies an object by server-side apply, taking over fields that other managers own, and returns it as the server
    /// stored it. Creates it if it does not exist.
    ///
    /// The object should have the fields that this program sets and nothing else. Fields that were applied before and are
    /// left out now are removed.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Manager;
    ///
    /// let client = Manager::new(cluster.client()).client().clone().with_field_manager("painter");
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("colours".into());
    /// map.metadata.namespace = Some("default".into());
    /// map.data = Some([("sky".into(), "blue".into())].into());
    /// let map = client.apply(&map).await.unwrap();
    /// assert_eq!(map.metadata.managed_fields.unwrap()[0].manager.as_deref(), Some("painter"));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the object or cannot be reached.
    pub async fn apply<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.patch(object, &Patch::Apply(object)).await
    }

    /// Deletes an object, if it is still the one with that UID. Returns false if it did not exist.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if there is another object of that name, or if the server rejects the deletion.
    pub async fn delete<K: Object>(&self, object: &K) -> Result<bool, Error> {
        let params = DeleteParams {
            preconditions: object.meta().uid.clone().map(|uid| Preconditions {
                uid: Some(uid),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let request = url::<K>(object).delete(name(object), &params);
        match self.send(request).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object by its key. The response is not decoded.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ServiceAccount;
    /// use kube::api::DeleteParams;
    /// use kubewright_controller::Manager;
    /// use kubewright_informer::Key;
    ///
    /// let client = Manager::new(cluster.client()).client().clone();
    /// let key = Key::new(Some("default"), "nobody");
    /// let deleted = client.delete_key::<ServiceAccount>(&key, &DeleteParams::default()).await;
    /// assert!(matches!(deleted, Err(kube::Error::Api(status)) if status.code == 404));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the object does not exist, or if the server rejects the deletion or cannot be reached.
    pub async fn delete_key<K>(&self, key: &Key, params: &DeleteParams) -> kube::Result<()>
    where
        K: Resource<DynamicType = ()>,
    {
        let objects = Request::new(K::url_path(&(), key.namespace()));
        let request = objects.delete(key.name(), params);
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.live().request_text(request).await.map(drop)
    }

    /// Reads an object from the server and not from the cache; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached or rejects the request.
    pub async fn get_live<K: Object>(&self, key: &Key) -> Result<Option<K>, Error> {
        let url = Request::new(K::url_path(&(), key.namespace()));
        let request = url.get(key.name(), &Default::default());
        match self.write(request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn post(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.field_manager().to_owned()),
        }
    }

    async fn write<K: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<K, Error> {
        let body = self.send(request).await?;
        serde_json::from_slice(&body).map_err(|error| Error::Decode(error.to_string()))
    }

    /// Sends a request, records it if it writes, and returns the body of a successful response.
    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<bytes::Bytes, Error> {
        let request = request.map_err(kube::Error::BuildRequest)?.map(Body::from);
        // Every `kube::Client` passes requests through a task of its own, so the one below is used.
        let response = match &self.writes {
            Some(writes) => writes.send(&self.base, request).await?,
            None => self.tracking.send(&self.base, request).await?,
        };
        // The body is read to its end, so that the connection can be used again.
        let code = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if code.is_success() {
            return Ok(body);
        }
        let status = serde_json::from_slice(&body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&body);
            Status::failure(&text, "Failed to parse error data").with_code(code.as_u16())
        });
        Err(Error::Api(Box::new(status)))
    }
}

/// Returns the key of an object.
pub(crate) fn key_of<K: Object>(object: &K) -> Key {
    Key::new(object.meta().namespace.as_deref(), name(object))
}

/// Reports whether the objects of a type live in namespaces.
pub(crate) fn is_namespaced<K: Object>() -> bool {
    std::any::TypeId::of::<K::Scope>() == std::any::TypeId::of::<NamespaceResourceScope>()
}

fn url<K: Resource<DynamicType = ()>>(object: &K) -> Request {
    Request::new(K::url_path(&(), object.meta().namespace.as_deref()))
}

fn name<K: Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

fn encode<K: Serialize>(object: &K) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object).map_err(|error| Error::Request(error.to_string()))
}
