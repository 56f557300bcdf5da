//! [`InProcess`]: a server that clients call without a socket.

use std::task::{Context, Poll};

use futures_util::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, Either, MapErr},
};
use http::{Request, Response, header};
use hyper::{body::Incoming, client, server, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::client::Body as ClientBody;
use kubewright_apiserver::{Body, BoxError};
use tower::{Service, ServiceExt};

/// The number of bytes that are buffered in each direction of an upgraded connection.
const BUFFER: usize = 64 << 10;

/// A service that calls a server without a socket. A request that upgrades its connection, such as `exec`, `attach` and
/// `portforward`, goes through a connection in memory, so that these work as they do over a socket.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::{Cluster, InProcess};
///
/// let cluster = Cluster::builder().start().await?;
/// let server = cluster.api_server().server().clone();
/// // A client without credentials.
/// let client = kube::Client::new(InProcess::new(server), "default");
/// let error = client.apiserver_version().await.unwrap_err();
/// assert!(matches!(error, kube::Error::Api(status) if status.code == 401));
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct InProcess<S>(S);

impl<S> InProcess<S> {
    /// Wraps a server.
    pub fn new(server: S) -> Self {
        Self(server)
    }
}

impl<S> Service<Request<ClientBody>> for InProcess<S>
where
    S: Service<Request<ClientBody>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Either<
        MapErr<S::Future, fn(S::Error) -> BoxError>,
        BoxFuture<'static, Result<Response<Body>, BoxError>>,
    >;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        if request.headers().contains_key(header::UPGRADE) {
            return Either::Right(upgraded(self.0.clone(), request).boxed());
        }
        let failed: fn(S::Error) -> BoxError = Into::into;
        Either::Left(self.0.call(request).map_err(failed))
    }
}

/// Sends a request through a connection of its own, so that the connection can be upgraded.
async fn upgraded<S>(server: S, request: Request<ClientBody>) -> Result<Response<Body>, BoxError>
where
    S: Service<Request<ClientBody>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    let (near, far) = tokio::io::duplex(BUFFER);
    let service = service_fn(move |request: Request<Incoming>| {
        // Requests that upgrade have no body.
        let request = request.map(|_| ClientBody::empty());
        server.clone().oneshot(request)
    });
    let serving = server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(far), service)
        .with_upgrades();
    // Both ends end with the connection, whose errors the other end sees.
    tokio::spawn(async move { serving.await.ok() });
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(near)).await?;
    tokio::spawn(async move { connection.with_upgrades().await.ok() });
    let response = sender.send_request(request).await?;
    Ok(response.map(Body::wrap))
}
