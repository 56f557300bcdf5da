//! [`ExtensionServer`]: an API server of typed kinds.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use http::{Request, Response};
use kubewright_apiserver::{
    ApiServer, ApiServerBuilder, Body,
    admission::{AdmissionChain, Plugin},
    audit::{Policy, Sink},
    registry::{Registry, RegistryBuilder, Resource},
};
use kubewright_machinery::version::compare_kube_versions;
use kubewright_serve::Server;
use kubewright_store::Store;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::{
    kind::{Built, Kind},
    storage::{ServedKind, Storage},
};

/// An API server with your own kinds. Clones share it.
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
    shutdown_delay: Duration,
    /// Work beside the requests, until it is started.
    background: Arc<Mutex<Vec<BoxFuture<'static, ()>>>>,
}

/// Configures and builds an [`ExtensionServer`].
#[derive(Default)]
pub struct ExtensionServerBuilder {
    kinds: Vec<BuildKind>,
    store: Option<Arc<dyn Store>>,
    resources: Vec<Resource>,
    plugins: Vec<Arc<dyn Plugin>>,
    configure: Option<Configure>,
    shutdown_delay: Duration,
}

/// Builds a kind, whose objects may be in the store of the server.
type BuildKind = Box<dyn FnOnce(Option<&Arc<dyn Store>>) -> Result<Built, BuildError> + Send>;

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
    /// Returns a builder of a server without kinds, where every user is anonymous and may do everything.
    pub fn builder() -> ExtensionServerBuilder {
        ExtensionServerBuilder::default()
    }

    /// Returns the underlying server, a `tower::Service`.
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// Handles a request.
    pub async fn handle(&self, request: Request<Body>) -> Response<Body> {
        self.api.handle(request).await
    }

    /// Serves HTTP without TLS until `shutdown` completes.
    ///
    /// Then `/readyz` fails, and after [`shutdown_delay`](ExtensionServerBuilder::shutdown_delay) the listener is closed. Requests
    /// in flight finish, and upgraded connections have some seconds to end.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()> + Send) {
        let server = Server::new(listener);
        tokio::select! {
            () = server.serve(self.api.clone(), self.stopping(shutdown)) => {}
            () = self.maintain() => {}
        }
    }

    /// Continues [graceful deletions](crate::GracefulDeletion) that were interrupted. Never returns.
    ///
    /// A server that is served does so by itself. Call this for one whose requests come in process.
    pub async fn maintain(&self) {
        let tasks = std::mem::take(&mut *self.background.lock());
        join_all(tasks).await;
        // There is nothing to do, or somebody else does it.
        std::future::pending().await
    }

    /// Completes when the listener must be closed: some time after `shutdown`.
    pub(crate) async fn stopping(&self, shutdown: impl Future<Output = ()>) {
        shutdown.await;
        self.api.begin_shutdown();
        tokio::time::sleep(self.shutdown_delay).await;
    }
}

impl ExtensionServerBuilder {
    /// Serves a kind with the data of a [`Storage`].
    #[must_use]
    pub fn serve<K: ServedKind>(self, storage: impl Storage<K>) -> Self {
        self.kind(Kind::computed(storage))
    }

    /// Serves a kind with objects in a store, with every verb.
    #[must_use]
    pub fn store<K: ServedKind>(self, store: Arc<dyn Store>) -> Self {
        self.kind(Kind::<K>::stored(store))
    }

    /// Serves a kind, which may have subresources, admission or a custom table.
    #[must_use]
    pub fn kind<K: ServedKind>(mut self, kind: Kind<K>) -> Self {
        self.kinds.push(Box::new(move |store| kind.build(store)));
        self
    }

    /// Sets the store of the kinds that are [stored by the server](Kind::stored_by_server).
    #[must_use]
    pub fn default_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Serves a resource of the underlying framework, without a Rust type.
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

    /// Configures the underlying server: authentication, authorization, health checks. Can be called several times.
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

    /// Records audit events: the policy selects them, and the sink takes them (default: none). The
    /// [flags](crate::AuditFlags) can do it too.
    #[must_use]
    pub fn audit(self, policy: Policy, sink: Arc<dyn Sink>) -> Self {
        self.configure(|server| server.audit(policy, sink))
    }

    /// Sets how long the server accepts requests after the shutdown has begun and `/readyz` fails (default: not at all). A
    /// load balancer needs some seconds to stop sending them.
    #[must_use]
    pub fn shutdown_delay(mut self, delay: Duration) -> Self {
        self.shutdown_delay = delay;
        self
    }

    /// Delegates authentication and authorization to the API server of a cluster.
    #[cfg(feature = "runtime")]
    #[must_use]
    pub fn delegate(self, delegation: &crate::Delegation) -> Self {
        let delegation = delegation.clone();
        self.configure(move |server| delegation.apply(server))
    }

    /// Rejects objects in namespaces that do not exist in the cluster, and new objects in terminating namespaces, as the
    /// admission plugin `NamespaceLifecycle` does. Otherwise, objects can be created in a namespace after its contents were
    /// deleted. The account of the server needs the permission to get namespaces.
    #[cfg(feature = "runtime")]
    #[must_use]
    pub fn check_namespaces(self, delegation: &crate::Delegation) -> Self {
        self.check_namespaces_with(delegation.client())
    }

    /// Enables [`check_namespaces`](Self::check_namespaces) with a client, for servers that do not delegate.
    #[cfg(feature = "runtime")]
    #[must_use]
    pub fn check_namespaces_with(self, client: kube::Client) -> Self {
        self.plugin(Arc::new(crate::delegation::namespace_lifecycle(client)))
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// Fails if the schema of a kind is invalid, or if a kind needs the store of the server and none is set.
    pub fn build(self) -> Result<ExtensionServer, BuildError> {
        let mut resources = self.resources;
        let mut plugins = Vec::new();
        let mut background = Vec::new();
        for kind in self.kinds {
            let kind = kind(self.store.as_ref())?;
            background.extend(kind.background);
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
            shutdown_delay: self.shutdown_delay,
            background: Arc::new(Mutex::new(background)),
        })
    }
}

/// Returns the registry of the resources: versions by priority, otherwise in the order of registration.
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
