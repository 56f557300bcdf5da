//! [`Services`]: services that this process knows how to reach, before the cluster is asked.

use std::{collections::BTreeMap, fmt, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::{ApiServer, boxed_async};
use parking_lot::RwLock;

/// Code in this process that answers the calls to a service, in place of a connection.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use kubewright_kube_apiserver::ServiceHandler;
///
/// struct Echo;
///
/// #[boxed_async]
/// impl ServiceHandler for Echo {
///     async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
///         Ok(Response::new(request.into_body()))
///     }
/// }
/// ```
#[boxed_async]
pub trait ServiceHandler: Send + Sync {
    /// Answers a request. Its URI is that of the service: `https://name.namespace.svc:443/path?timeout=10s`.
    ///
    /// # Errors
    ///
    /// An error is treated as a failed connection, with its text as the reason.
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String>;
}

/// A service by namespace, name and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ServicePort {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// The place where a service answers.
#[derive(Clone)]
pub(crate) enum ServiceTarget {
    /// Code in this process.
    Handler(Arc<dyn ServiceHandler>),
    /// An API server in this process.
    Server(ApiServer),
    /// A socket that serves TLS with the certificate of the service.
    Address(SocketAddr),
}

/// Services that webhooks and aggregated servers can be called at without a network: code in this process, or addresses of this machine. They go
/// before the services that the cluster has. Clones share one table, which can be changed at any time.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use kubewright_kube_apiserver::{KubeApiServer, ServiceHandler, Services};
///
/// struct AllowEverything;
///
/// #[boxed_async]
/// impl ServiceHandler for AllowEverything {
///     async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
///         let mut review: serde_json::Value =
///             serde_json::from_slice(request.body()).map_err(|e| e.to_string())?;
///         let uid = review["request"]["uid"].take();
///         review["response"] = serde_json::json!({"uid": uid, "allowed": true});
///         Ok(Response::new(review.to_string().into()))
///     }
/// }
///
/// let services = Services::default();
/// services.set_handler("system", "hooks", 443, Arc::new(AllowEverything));
/// services.set_address("system", "other-hooks", 443, ([127, 0, 0, 1], 9443).into());
/// let builder = KubeApiServer::builder().services(services.clone());
/// # let _ = builder;
/// services.remove("system", "hooks", 443);
/// ```
#[derive(Clone, Default)]
pub struct Services(Arc<RwLock<BTreeMap<ServicePort, ServiceTarget>>>);

impl Services {
    /// Lets code in this process answer the calls to a service. No connection is made, and no certificate is checked.
    pub fn set_handler(
        &self,
        namespace: impl Into<String>,
        name: impl Into<String>,
        port: u16,
        handler: Arc<dyn ServiceHandler>,
    ) {
        let target = ServiceTarget::Handler(handler);
        self.set(namespace.into(), name.into(), port, target);
    }

    /// Lets an API server in this process serve the requests for APIServices that name a service. It gets the users that this
    /// server has authenticated and authorized. No connection is made, and no certificate is checked.
    pub fn set_server(
        &self,
        namespace: impl Into<String>,
        name: impl Into<String>,
        port: u16,
        server: ApiServer,
    ) {
        let target = ServiceTarget::Server(server);
        self.set(namespace.into(), name.into(), port, target);
    }

    /// Sends calls for a service to an address, which must serve TLS with a certificate for `name.namespace.svc`.
    pub fn set_address(
        &self,
        namespace: impl Into<String>,
        name: impl Into<String>,
        port: u16,
        address: SocketAddr,
    ) {
        let target = ServiceTarget::Address(address);
        self.set(namespace.into(), name.into(), port, target);
    }

    /// Forgets a service.
    pub fn remove(&self, namespace: &str, name: &str, port: u16) {
        self.0.write().remove(&ServicePort {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        });
    }

    fn set(&self, namespace: String, name: String, port: u16, target: ServiceTarget) {
        let service = ServicePort {
            namespace,
            name,
            port,
        };
        self.0.write().insert(service, target);
    }

    /// Returns the place where a service answers, if this process knows it.
    pub(super) fn get(&self, service: &ServicePort) -> Option<ServiceTarget> {
        self.0.read().get(service).cloned()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
