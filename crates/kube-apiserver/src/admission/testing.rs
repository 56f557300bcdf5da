//! Support for the tests of plugins: a store, a request, and minimal objects.

use std::sync::Arc;

use http::Method;
use kubewright_apiserver::{
    admission::{AdmissionChain, Attributes, Plugin},
    auth::{AlwaysAllow, Authorizer},
    registry::{Handlers, Resource, ResourceSpec},
    request::{
        Annotations, DeleteOptions, Query, RequestContext, RequestInfo, UserInfo, WriteOptions,
    },
};
use kubewright_machinery::{Status, gvk::GroupVersionKind};
use kubewright_store::{Key, MemoryStore, Store};
use serde_json::{Value, json};

use super::stored::Stored;

/// A store, and requests in the namespace `ns` for one resource.
pub(super) struct Scene {
    store: Arc<MemoryStore>,
    cx: RequestContext,
    pub(super) dry_run: bool,
}

impl Scene {
    pub(super) fn new(group: &str, resource: &str) -> Self {
        Self::at(group, resource, "")
    }

    /// Returns a scene for a subresource.
    pub(super) fn at(group: &str, resource: &str, subresource: &str) -> Self {
        let query = Query::default();
        let mut info = RequestInfo::new(&Method::POST, "/api/v1/namespaces/ns/x", &query);
        info.group = group.to_owned();
        info.resource = resource.to_owned();
        info.subresource = subresource.to_owned();
        let kind = GroupVersionKind::new(group, "v1", "Thing");
        let cx = RequestContext {
            info: Arc::new(info),
            query: Arc::new(query),
            user: Arc::new(UserInfo::default()),
            user_agent: "test".into(),
            warnings: Default::default(),
            resource: Arc::new(Resource::computed(
                ResourceSpec::new(kind, resource).namespaced(),
                Handlers::default(),
            )),
            admission: AdmissionChain::default(),
            authorizer: Arc::new(AlwaysAllow),
            annotations: Default::default(),
            deadline: None,
        };
        Self {
            store: Arc::new(MemoryStore::new()),
            cx,
            dry_run: false,
        }
    }

    /// Sets the authorizer (default: allow everything).
    pub(super) fn with_authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.cx.authorizer = authorizer;
        self
    }

    /// Sets the user (default: one without a name).
    pub(super) fn with_user(mut self, user: UserInfo) -> Self {
        self.cx.user = Arc::new(user);
        self
    }

    /// Records annotations.
    pub(super) fn recording(mut self) -> Self {
        self.cx.annotations = Annotations::recording();
        self
    }

    /// Removes and returns the recorded annotations.
    pub(super) fn annotations(&self) -> Vec<(String, String)> {
        self.cx.annotations.take()
    }

    /// Removes and returns the warnings.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.cx.warnings.take()
    }

    /// Sets the namespace of the request (default: `ns`).
    pub(super) fn in_namespace(mut self, namespace: &str) -> Self {
        Arc::make_mut(&mut self.cx.info).namespace = namespace.to_owned();
        self
    }

    pub(super) fn store(&self) -> Stored {
        Stored(self.store.clone())
    }

    /// Stores an object, and replaces the previous one.
    pub(super) async fn put(&self, collection: &str, path: &str, object: Value) {
        let key = Key::new(collection, path);
        let payload = kubewright_apiserver::registry::payload(&object);
        match self.store.get(&key).await.unwrap() {
            Some(entry) => drop(
                self.store
                    .update(key, entry.revision, payload)
                    .await
                    .unwrap(),
            ),
            None => drop(self.store.create(key, payload).await.unwrap()),
        }
    }

    pub(super) async fn read(&self, collection: &str, path: &str) -> Value {
        self.store()
            .get(collection, path)
            .await
            .unwrap()
            .unwrap_or_default()
    }

    /// Returns the object after mutation by a create.
    pub(super) async fn mutate(
        &self,
        plugin: &dyn Plugin,
        object: &mut Value,
    ) -> Result<(), Status> {
        let name = name(object);
        let options = self.options();
        let attributes = Attributes::create(&name, &options);
        plugin.mutate(&self.cx, &attributes, Some(object)).await
    }

    /// Runs the mutating pass of an update.
    pub(super) async fn mutate_update(
        &self,
        plugin: &dyn Plugin,
        old: &Value,
        object: &Value,
    ) -> Result<(), Status> {
        let (name, mut object) = (name(object), object.clone());
        let options = self.options();
        let attributes = Attributes::update(&name, old, &options);
        plugin
            .mutate(&self.cx, &attributes, Some(&mut object))
            .await
    }

    /// Runs the mutating pass of a delete.
    pub(super) async fn mutate_delete(
        &self,
        plugin: &dyn Plugin,
        old: &Value,
    ) -> Result<(), Status> {
        let (name, options) = (name(old), DeleteOptions::default());
        let attributes = Attributes::delete(&name, old, &options);
        plugin.mutate(&self.cx, &attributes, None).await
    }

    /// Validates a create.
    pub(super) async fn create(&self, plugin: &dyn Plugin, object: &Value) -> Result<(), Status> {
        let name = name(object);
        let options = self.options();
        let attributes = Attributes::create(&name, &options);
        plugin.validate(&self.cx, &attributes, Some(object)).await
    }

    /// Validates an update.
    pub(super) async fn update(
        &self,
        plugin: &dyn Plugin,
        old: &Value,
        object: &Value,
    ) -> Result<(), Status> {
        let name = name(object);
        let options = self.options();
        let attributes = Attributes::update(&name, old, &options);
        plugin.validate(&self.cx, &attributes, Some(object)).await
    }

    fn options(&self) -> WriteOptions {
        WriteOptions {
            dry_run: self.dry_run,
            ..WriteOptions::default()
        }
    }
}

/// Returns a pod `p` with one container `c` and no requests.
pub(super) fn pod() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
    })
}

/// Returns a claim `c` for this much storage.
pub(super) fn claim(size: &str) -> Value {
    json!({
        "metadata": {"name": "c", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"resources": {"requests": {"storage": size}}},
    })
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
