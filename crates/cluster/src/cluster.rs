//! [`Cluster`]: everything that runs, and how it stops.

use std::{future::Future, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::ManagerError;
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_serve::BoxError;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{ClusterBuilder, Endpoint, Error, endpoint::bind};

/// A running cluster. Dropping it stops everything at once; [`stop`](Self::stop) lets requests finish.
///
/// See the [crate documentation](crate) for an example.
pub struct Cluster {
    pub(crate) name: String,
    pub(crate) server: KubeApiServer,
    pub(crate) client: kube::Client,
    pub(crate) token: Option<String>,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) controllers: Option<RunningControllers>,
    pub(crate) _maintenance: Option<Background>,
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

    /// Returns the API server.
    pub fn api_server(&self) -> &KubeApiServer {
        &self.server
    }

    /// Returns the endpoint that [`ClusterBuilder::listen`] asked for.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
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

    /// Serves a service on an address with the cluster's kubeconfig, for services that wrap the cluster's own.
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
        Endpoint::start(listener, service, &self.name, self.token.clone())
    }

    /// Stops the controllers and the endpoint: open watches end, requests in flight finish.
    ///
    /// # Errors
    ///
    /// Fails if the built-in controllers failed while they ran.
    pub async fn stop(mut self) -> Result<(), Error> {
        let mut controllers = self.controllers.take();
        if let Some(controllers) = &mut controllers {
            controllers.signal();
        }
        if let Some(endpoint) = self.endpoint.take() {
            endpoint.stop().await;
        }
        match controllers {
            Some(controllers) => Ok(controllers.join().await?),
            None => Ok(()),
        }
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
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl RunningControllers {
    pub(crate) fn start(
        controllers: Controllers,
        client: kube::Client,
    ) -> Result<Self, ManagerError> {
        let manager = controllers.manager(client)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let shutdown = async {
                // A message and a dropped sender both mean shutdown.
                let _ = stopped.await;
            };
            manager.run(shutdown).await
        });
        Ok(Self {
            stop: Some(stop),
            task,
        })
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
