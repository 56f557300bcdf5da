//! [`Cluster`]: a running cluster.

use std::{
    future::Future,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use kubewright_apiserver::SharedClock;
use kubewright_controller::{Manager, ManagerError, Unsettled};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_serve::BoxError;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    CertificateAuthority, ClusterBuilder, ClusterUser, Credential, Endpoint, Error, KubeconfigUser,
    ServingCertificate,
    endpoint::{Serving, bind},
};

/// The lifetime of tokens for kubeconfigs. They become invalid with the cluster anyway.
const TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A running cluster. Dropping it stops everything immediately; [`stop`](Self::stop) lets requests finish.
///
/// See the [crate documentation](crate) for an example.
pub struct Cluster {
    pub(crate) name: String,
    pub(crate) server: KubeApiServer,
    pub(crate) client: kube::Client,
    pub(crate) direct_client: kube::Client,
    pub(crate) token: Option<String>,
    pub(crate) certificate: ServingCertificate,
    pub(crate) authority: CertificateAuthority,
    pub(crate) front_proxy_authority: CertificateAuthority,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) controllers: Option<RunningControllers>,
    #[cfg(feature = "workloads")]
    pub(crate) nodes: Option<kubewright_nodes::Nodes>,
    pub(crate) _maintenance: Option<Background>,
    /// Closed last.
    #[cfg(feature = "durable")]
    pub(crate) durable: Option<crate::data_dir::OpenStore>,
}

impl Cluster {
    /// Returns a builder for a cluster in memory, without a socket and without controllers.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::new()
    }

    /// Returns a client that calls the server without a socket, as the user of the first token.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Returns a client that the faults of a [`Lab`](crate::Lab) do not affect. Otherwise, it is as [`client`](Self::client).
    pub fn direct_client(&self) -> kube::Client {
        self.direct_client.clone()
    }

    /// Returns the API server.
    pub fn api_server(&self) -> &KubeApiServer {
        &self.server
    }

    /// Returns the endpoint of the address that was passed to [`ClusterBuilder::listen`].
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Returns the endpoint of the address that was passed to [`ClusterBuilder::listen`], to change its kubeconfig or certificate.
    pub fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        self.endpoint.as_mut()
    }

    /// Returns the authority that signs the certificates of the cluster and of its users.
    pub fn authority(&self) -> &CertificateAuthority {
        &self.authority
    }

    /// Returns the authority of proxies that pass users in headers.
    pub fn front_proxy_authority(&self) -> &CertificateAuthority {
        &self.front_proxy_authority
    }

    /// Issues a credential: a token for a service account, which is created if it is missing, or a certificate for any other user.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use kubewright_cluster::{Cluster, Credential};
    ///
    /// let cluster = Cluster::builder().start().await?;
    /// let alice = cluster.credential(&"alice=dev".parse().unwrap()).await?;
    /// assert!(matches!(alice.credential, Credential::Certificate(_)));
    /// let web = cluster.credential(&"system:serviceaccount:shop:web".parse().unwrap()).await?;
    /// assert!(matches!(web.credential, Credential::Token(_)));
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the service account cannot be created.
    pub async fn credential(&self, user: &ClusterUser) -> Result<KubeconfigUser, Error> {
        let named = |credential, namespace: Option<&str>| KubeconfigUser {
            name: user.name().to_owned(),
            credential,
            namespace: namespace.map(str::to_owned),
        };
        let Some((namespace, name)) = user.service_account() else {
            let (name, groups) = (user.name(), user.groups().iter().cloned());
            let own = self.authority.sign_user(name, groups, SystemTime::now())?;
            return Ok(named(Credential::Certificate(own), None));
        };
        let failed = |status| Error::Server(Box::new(status));
        let ensured = self.server.ensure_service_account(namespace, name);
        ensured.await.map_err(failed)?;
        let token = self
            .server
            .service_account_token(namespace, name, TOKEN_LIFETIME);
        let token = token.await.map_err(failed)?;
        Ok(named(Credential::Token(token), Some(namespace)))
    }

    /// Serves the cluster on a further address, until the endpoint is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be listened on.
    pub async fn listen(&self, address: SocketAddr) -> Result<Endpoint, Error> {
        self.listen_with(address, self.server.server().clone())
            .await
    }

    /// Serves a service on an address with the cluster's kubeconfig. Use it for services that wrap the cluster's own.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be listened on.
    pub async fn listen_with<S, B>(
        &self,
        address: SocketAddr,
        service: S,
    ) -> Result<Endpoint, Error>
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let listener = bind(address).await?;
        let serving = Serving {
            name: &self.name,
            credential: self.token.clone().map(Credential::Token),
            certificate: &self.certificate,
            authority: &self.authority,
            client_authorities: self.server.client_authorities(),
            peer_addresses: self.server.server().is_audited(),
        };
        Endpoint::start(listener, service, serving)
    }

    /// Waits until the built-in controllers, the scheduler and the nodes have processed all stored objects and have no work left.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ServiceAccount;
    /// use kube::Api;
    /// use kubewright_cluster::{Cluster, Controllers};
    ///
    /// let cluster = Cluster::builder().controllers(Controllers::default()).start().await?;
    /// cluster.settled(Duration::from_secs(60)).await.unwrap();
    /// let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "default");
    /// assert!(accounts.get_opt("default").await.unwrap().is_some());
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Fails after `most`, with the work that is left.
    pub async fn settled(&self, most: Duration) -> Result<(), Unsettled> {
        match &self.controllers {
            Some(controllers) => controllers.manager.settled(most).await,
            None => Ok(()),
        }
    }

    /// Stops the controllers and the endpoint: open watches end, and requests in flight finish.
    ///
    /// # Errors
    ///
    /// Fails if the built-in controllers failed while they ran.
    pub async fn stop(mut self) -> Result<(), Error> {
        // Requests on connections that are still open see it.
        self.api_server().server().begin_shutdown();
        let mut controllers = self.controllers.take();
        if let Some(controllers) = &mut controllers {
            controllers.signal();
        }
        if let Some(endpoint) = self.endpoint.take() {
            endpoint.stop().await;
        }
        if let Some(controllers) = controllers {
            controllers.join().await?;
        }
        #[cfg(feature = "durable")]
        if let Some(durable) = self.durable.take() {
            // Waits for the disk. A panic has already been reported.
            let _ = tokio::task::spawn_blocking(move || drop(durable)).await;
        }
        Ok(())
    }
}

/// A task that is aborted when this is dropped.
pub(crate) struct Background(JoinHandle<()>);

impl Background {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The built-in controllers. Dropping them aborts their task.
pub(crate) struct RunningControllers {
    manager: Manager,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl RunningControllers {
    pub(crate) fn start(manager: Manager, clock: SharedClock) -> Self {
        manager.set_clock(Arc::new(move || clock.now()));
        let running = manager.clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let shutdown = async {
                // A message and a dropped sender both mean shutdown.
                let _ = stopped.await;
            };
            running.run(shutdown).await
        });
        Self {
            manager,
            stop: Some(stop),
            task,
        }
    }

    /// Asks the controllers to stop.
    fn signal(&mut self) {
        self.stop.take();
    }

    /// Waits until they have stopped.
    async fn join(mut self) -> Result<(), ManagerError> {
        self.signal();
        // The runtime has already reported a panic of the task.
        (&mut self.task).await.unwrap_or(Ok(()))
    }
}

impl Drop for RunningControllers {
    fn drop(&mut self) {
        self.task.abort();
    }
}
