//! [`ExtensionServer`]: an API server of typed kinds.

use std::{future::Future, sync::Arc};

use http::{Request, Response};
use kubewright_apiserver::{
    ApiServer, ApiServerBuilder, Body,
    admission::{AdmissionChain, Plugin},
    registry::{Registry, RegistryBuilder, Resource},
};
use kubewright_machinery::version::compare_kube_versions;
use kubewright_serve::Server;
use kubewright_store::Store;
use tokio::net::TcpListener;

use crate::{
    kind::{Built, Kind},
    storage::{ServedKind, Storage},
};

/// An API server of one's own. Clones share it.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use http::Request;
/// use kube::CustomResource;
/// use kubewright_apiserver::Body;
/// use kubewright_extension_apiserver::ExtensionServer;
/// use kubewright::Schema;
/// use kubewright_store::MemoryStore;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
/// #[kube(group = "sky.example.com", version = "v1", kind = "Comet")]
/// pub struct CometSpec {
///     #[schema(minimum = 1)]
///     years: i32,
/// }
///
/// let store = Arc::new(MemoryStore::new());
/// let server = ExtensionServer::builder().store::<Comet>(store).build()?;
/// let comet = r#"{"apiVersion": "sky.example.com/v1", "kind": "Comet",
///                 "metadata": {"name": "halley"}, "spec": {"years": 0}}"#;
/// let request = Request::post("/apis/sky.example.com/v1/comets")
///     .header("content-type", "application/json")
///     .body(Body::from(comet))?;
/// assert_eq!(server.handle(request).await.status(), 422);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ExtensionServer {
    api: ApiServer,
}

/// Configures and builds an [`ExtensionServer`].
#[derive(Default)]
pub struct ExtensionServerBuilder {
    kinds: Vec<Result<Built, BuildError>>,
    resources: Vec<Resource>,
    plugins: Vec<Arc<dyn Plugin>>,
    configure: Option<Configure>,
}

type Configure = Box<dyn FnOnce(ApiServerBuilder) -> ApiServerBuilder + Send>;

/// A kind that cannot be served.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the kind {kind} cannot be served: {reason}")]
pub struct BuildError {
    /// The kind.
    pub kind: String,
    /// The reason.
    pub reason: String,
}

impl ExtensionServer {
    /// Returns a builder of a server without kinds, on which everybody is anonymous and allowed everything.
    pub fn builder() -> ExtensionServerBuilder {
        ExtensionServerBuilder::default()
    }

    /// Returns the server of the framework, a `tower::Service`.
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// Answers a request.
    pub async fn handle(&self, request: Request<Body>) -> Response<Body> {
        self.api.handle(request).await
    }

    /// Serves HTTP without TLS until `shutdown` completes, and finishes the requests in flight.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()> + Send) {
        let server = Server::new(listener);
        server.serve(self.api.clone(), shutdown).await;
    }
}

impl ExtensionServerBuilder {
    /// Serves a kind whose data is in a [`Storage`].
    #[must_use]
    pub fn serve<K: ServedKind>(self, storage: impl Storage<K>) -> Self {
        self.kind(Kind::computed(storage))
    }

    /// Serves a kind whose objects are kept in a store, with every verb.
    #[must_use]
    pub fn store<K: ServedKind>(self, store: Arc<dyn Store>) -> Self {
        self.kind(Kind::<K>::stored(store))
    }

    /// Serves a kind with subresources, admission or a table of its own.
    #[must_use]
    pub fn kind<K: ServedKind>(mut self, kind: Kind<K>) -> Self {
        self.kinds.push(kind.build());
        self
    }

    /// Serves a resource of the framework, which has no type.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<Resource>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Adds an admission plugin, which runs after the admission of the kinds.
    #[must_use]
    pub fn plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Configures the server of the framework: authentication, authorization, health checks. Several calls add up.
    #[must_use]
    pub fn configure(
        mut self,
        configure: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder + Send + 'static,
    ) -> Self {
        self.configure = Some(match self.configure {
            Some(before) => Box::new(|server| configure(before(server))),
            None => Box::new(configure),
        });
        self
    }

    /// Delegates authentication and authorization to the API server of a cluster.
    #[cfg(feature = "runtime")]
    #[must_use]
    pub fn delegate(self, delegation: &crate::Delegation) -> Self {
        let delegation = delegation.clone();
        self.configure(move |server| delegation.apply(server))
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// Fails if the schema of a kind is invalid.
    pub fn build(self) -> Result<ExtensionServer, BuildError> {
        let mut resources = self.resources;
        let mut plugins = Vec::new();
        for kind in self.kinds {
            let kind = kind?;
            resources.extend(kind.resources);
            plugins.extend(kind.plugins);
        }
        plugins.extend(self.plugins);
        let chain = match plugins.is_empty() {
            true => AdmissionChain::new(plugins).sparing_custom_objects(),
            false => AdmissionChain::new(plugins),
        };
        let builder = ApiServer::builder(registry(resources)).admission(chain);
        let builder = match self.configure {
            Some(configure) => configure(builder),
            None => builder,
        };
        Ok(ExtensionServer {
            api: builder.build(),
        })
    }
}

/// Returns the registry of these resources: versions by priority, otherwise in the order in which they were added.
fn registry(mut resources: Vec<Resource>) -> Registry {
    resources.sort_by(|a, b| {
        let (a, b) = (&a.spec().group_version, &b.spec().group_version);
        match a.group == b.group && a.version != b.version {
            true => compare_kube_versions(&b.version, &a.version),
            false => a.group.cmp(&b.group),
        }
    });
    let mut builder = RegistryBuilder::default();
    for resource in resources {
        builder.add(resource);
    }
    builder.build()
}
