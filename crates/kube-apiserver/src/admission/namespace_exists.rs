//! `NamespaceExists` and `NamespaceAutoProvision`: what becomes of a request in a namespace that does not exist.

use std::sync::OnceLock;

use kubewright_apiserver::{
    ApiServer, WeakApiServer,
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use kubewright_store::Key;
use serde_json::{Value, json};

use super::{forbidden::forbidden, stored::Stored};
use crate::bootstrap;

/// The `NamespaceExists` plugin: the request is rejected.
pub(crate) struct NamespaceExists(Stored);

/// The `NamespaceAutoProvision` plugin: a create makes the namespace first.
pub(crate) struct NamespaceAutoProvision {
    store: Stored,
    server: OnceLock<WeakApiServer>,
}

impl NamespaceExists {
    /// Returns a plugin that reads the namespaces of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

impl NamespaceAutoProvision {
    /// Returns a plugin that reads the namespaces of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self {
            store,
            server: OnceLock::new(),
        }
    }

    /// Sets the server that creates the namespaces.
    pub(crate) fn start(&self, server: &ApiServer) {
        let _ = self.server.set(server.downgrade());
    }
}

#[boxed_async]
impl Plugin for NamespaceExists {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        _object: Option<&Value>,
    ) -> Result<(), Status> {
        if attributes.operation == Operation::Connect || is_present(&self.0, cx).await? {
            return Ok(());
        }
        let namespaces = GroupResource::new("", "namespaces");
        Err(status::not_found(&namespaces, cx.namespace()))
    }
}

#[boxed_async]
impl Plugin for NamespaceAutoProvision {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let creates = attributes.operation == Operation::Create && !attributes.dry_run;
        if !creates || is_present(&self.store, cx).await? {
            return Ok(());
        }
        let Some(server) = self.server.get().and_then(WeakApiServer::upgrade) else {
            return Ok(());
        };
        let namespace = json!({"metadata": {"name": cx.namespace()}});
        let created = bootstrap::create(&server, "/api/v1/namespaces", &namespace).await;
        created.map_err(|error| {
            let object = object.as_deref().unwrap_or(&Value::Null);
            forbidden(cx, attributes, object, error.message)
        })
    }
}

/// Reports whether the namespace of a request exists; also if the request is not in one.
async fn is_present(store: &Stored, cx: &RequestContext) -> Result<bool, Status> {
    let info = &cx.info;
    let is_namespace = info.group.is_empty() && info.resource == "namespaces";
    if is_namespace || info.namespace.is_empty() {
        return Ok(true);
    }
    let found = store
        .0
        .get(&Key::new("namespaces", info.namespace.as_str()))
        .await;
    Ok(found.map_err(status::internal)?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn a_namespace_that_does_not_exist_is_not_found() {
        let scene = Scene::new("", "pods");
        let plugin = NamespaceExists::new(scene.store());
        let refused = scene.create(&plugin, &pod()).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (404, "namespaces \"ns\" not found")
        );
        scene
            .put("namespaces", "ns", json!({"metadata": {"name": "ns"}}))
            .await;
        scene.create(&plugin, &pod()).await.unwrap();
        let namespaces = Scene::new("", "namespaces");
        let plugin = NamespaceExists::new(namespaces.store());
        namespaces.create(&plugin, &pod()).await.unwrap();
    }
}
