//! [`KubeApiServer`]: an [`ApiServer`] that serves the API of a Kubernetes cluster.
//!
//! | module | contents |
//! |---|---|
//! | `builder` | [`KubeApiServerBuilder`]: the options |
//! | `start` | building the server from its options, and creating the objects of a new cluster |
//! | `health` | the health checks |

mod builder;
mod health;
mod start;

use std::{sync::Arc, time::Duration};

use http::Method;
use kubewright_apiserver::{ApiServer, SharedClock};
use kubewright_machinery::{Status, json::Read};
use kubewright_store::{Revision, Store};
use serde_json::json;

use crate::{ServiceAccountKeys, bootstrap, rbac};

pub use builder::KubeApiServerBuilder;

/// The revision at which a new store starts. It is not 0, because clients give resourceVersion 0 a special meaning.
pub const FIRST_REVISION: Revision = Revision(1);

/// An API server with the built-in kinds of Kubernetes. Clones share the server and its store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::Body;
/// use kubewright_kube_apiserver::KubeApiServer;
///
/// let api = KubeApiServer::builder().build().await.unwrap();
/// let before = api.store().current().await.unwrap();
/// let colours = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}}"#;
/// let request = Request::post("/api/v1/namespaces/default/configmaps")
///     .header("content-type", "application/json")
///     .body(Body::from(colours))
///     .unwrap();
/// assert_eq!(api.server().handle(request).await.status(), 201);
/// assert!(api.store().current().await.unwrap() > before);
/// # });
/// ```
#[derive(Clone)]
pub struct KubeApiServer {
    server: ApiServer,
    store: Arc<dyn Store>,
    clock: SharedClock,
    service_account_keys: ServiceAccountKeys,
    client_authorities: Arc<[u8]>,
}

impl KubeApiServer {
    /// Returns a builder whose defaults are an in-memory store, anonymous access and no authorization.
    pub fn builder() -> KubeApiServerBuilder {
        KubeApiServerBuilder::new()
    }

    /// Returns the server, a `tower::Service` that can be called directly or served on a socket.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Returns the store that holds the objects.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the authorities of users and proxies as PEM, for
    /// `Tls::request_client_certificates` of `kubewright-serve`.
    pub fn client_authorities(&self) -> &[u8] {
        &self.client_authorities
    }

    /// Issues a token for a service account, which must exist. Its audience is the server itself.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    ///
    /// use kubewright_kube_apiserver::KubeApiServer;
    ///
    /// let api = KubeApiServer::builder().build().await?;
    /// let hour = Duration::from_secs(3600);
    /// let error = api.service_account_token("default", "missing", hour).await.unwrap_err();
    /// assert!(error.message.contains("not found"), "{}", error.message);
    /// # Ok::<_, kubewright_machinery::Status>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the account does not exist, or if the lifetime is out of bounds.
    pub async fn service_account_token(
        &self,
        namespace: &str,
        name: &str,
        lifetime: Duration,
    ) -> Result<String, Status> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let request = json!({"spec": {"expirationSeconds": lifetime.as_secs()}});
        let media = "application/json";
        let answer = bootstrap::send(&self.server, Method::POST, &path, media, &request).await?;
        let token = answer.unwrap_or_default()["status"]["token"]
            .text()
            .to_owned();
        Ok(token)
    }

    /// Creates a service account and its namespace, unless they exist.
    ///
    /// # Errors
    ///
    /// Fails if one of the names is invalid.
    pub async fn ensure_service_account(&self, namespace: &str, name: &str) -> Result<(), Status> {
        let object = |name: &str| json!({"metadata": {"name": name}});
        bootstrap::create(&self.server, "/api/v1/namespaces", &object(namespace)).await?;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        bootstrap::create(&self.server, &path, &object(name)).await
    }

    /// Creates the roles and bindings of a new cluster, unless they exist. A server with
    /// [`AuthorizationMode::Rbac`](crate::AuthorizationMode::Rbac) does so when it starts.
    ///
    /// # Errors
    ///
    /// Returns the [`Status`] of the first read or write of the store that fails.
    pub async fn ensure_default_policy(&self) -> Result<(), Status> {
        rbac::bootstrap(&self.server, &self.store, &*self.clock).await
    }

    /// Returns the keys of service-account tokens. Another server with the same keys accepts the tokens of this one.
    pub fn service_account_keys(&self) -> &ServiceAccountKeys {
        &self.service_account_keys
    }
}
