//! Streaming subresources: logs, commands and port forwarding.

use std::{marker::PhantomData, pin::Pin, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderValue, Method, Request, Response, header};
use kubewright_apiserver::{
    Body, BoxError,
    auth::authorize_creation,
    boxed_async,
    registry::{Connect, Get},
    request::{GetOptions, RequestContext},
};
use kubewright_machinery::{Status, status};
use kubewright_serve::OpenEnded;
use kubewright_streams::{Exec, ExecOptions, PortForward, Streams, is_upgrade, ports_from_query};

use crate::{guard, storage::ServedKind};

/// Chunks of bytes, which are sent as soon as they are available.
pub type LogStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// Returns a stream of known chunks.
///
/// ```
/// use kubewright_extension_apiserver::log_of;
///
/// let log = log_of(["first\n", "second\n"]);
/// # let _ = log;
/// ```
pub fn log_of<C: Into<Bytes>>(chunks: impl IntoIterator<Item = C>) -> LogStream {
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| Ok(chunk.into())).collect();
    Box::pin(stream::iter(chunks))
}

/// A subresource such as `pods/log`: a body that may be endless. WebSocket clients receive a message for each chunk.
///
/// ```
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { days: u32 }
/// use futures_util::stream;
/// use kubewright_apiserver::request::RequestContext;
/// use kubewright_extension_apiserver::{LogStream, LogSubresource};
/// use kubewright_machinery::Status;
///
/// struct Days;
///
/// #[async_trait]
/// impl LogSubresource<Planet> for Days {
///     async fn log(&self, _: &RequestContext, planet: Planet) -> Result<LogStream, Status> {
///         let days = (1..=planet.spec.days).map(|day| Ok(format!("day {day}\n").into()));
///         Ok(Box::pin(stream::iter(days)))
///     }
/// }
/// ```
#[async_trait]
pub trait LogSubresource<K: ServedKind>: Send + Sync + 'static {
    /// Returns the chunks. The parameters of the request are in `cx.query`.
    ///
    /// # Errors
    ///
    /// The error is returned to the client.
    async fn log(&self, cx: &RequestContext, parent: K) -> Result<LogStream, Status>;
}

/// A subresource such as `pods/exec`: the standard streams of a command, over WebSocket or SPDY. Users need the verb `create`,
/// even for WebSockets.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { days: u32 }
/// use kubewright_apiserver::request::RequestContext;
/// use kubewright_extension_apiserver::ExecSubresource;
/// use kubewright_machinery::Status;
/// use kubewright_streams::{Exec, ExecSession, Exit};
/// use tokio::io::AsyncWriteExt;
///
/// struct Calendar;
///
/// #[async_trait]
/// impl ExecSubresource<Planet> for Calendar {
///     async fn exec(&self, _: &RequestContext, planet: Planet) -> Result<Arc<dyn Exec>, Status> {
///         Ok(Arc::new(Year(planet.spec.days)))
///     }
/// }
///
/// struct Year(u32);
///
/// #[async_trait]
/// impl Exec for Year {
///     async fn exec(&self, mut session: ExecSession) -> Result<Exit, Status> {
///         let Some(stdout) = &mut session.stdout else { return Ok(Exit::code(2)) };
///         let text = format!("{} days\n", self.0);
///         Ok(stdout.write_all(text.as_bytes()).await.map_or(Exit::code(1), |()| Exit::SUCCESS))
///     }
/// }
/// ```
#[async_trait]
pub trait ExecSubresource<K: ServedKind>: Send + Sync + 'static {
    /// Returns the command for an object. It runs after the upgrade of the connection, with the options of the request.
    ///
    /// # Errors
    ///
    /// The error is returned to the client.
    async fn exec(&self, cx: &RequestContext, parent: K) -> Result<Arc<dyn Exec>, Status>;
}

/// A subresource such as `pods/portforward`: connections to ports, over WebSocket or SPDY. Users need the verb `create`, even for
/// WebSockets.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { days: u32 }
/// use kubewright_apiserver::request::RequestContext;
/// use kubewright_extension_apiserver::PortForwardSubresource;
/// use kubewright_machinery::Status;
/// use kubewright_streams::{Duplex, ForwardError, PortForward};
///
/// struct Probes;
///
/// #[async_trait]
/// impl PortForwardSubresource<Planet> for Probes {
///     async fn port_forward(&self, _: &RequestContext, _: Planet) -> Result<Arc<dyn PortForward>, Status> {
///         Ok(Arc::new(Echo))
///     }
/// }
///
/// struct Echo;
///
/// #[async_trait]
/// impl PortForward for Echo {
///     async fn forward(&self, port: u16, mut connection: Duplex) -> Result<(), ForwardError> {
///         let copied = tokio::io::copy(&mut connection.input, &mut connection.output).await;
///         copied.map(|_| ()).map_err(|e| ForwardError::new(port, e))
///     }
/// }
/// ```
#[async_trait]
pub trait PortForwardSubresource<K: ServedKind>: Send + Sync + 'static {
    /// Returns the ports of an object. Connections are forwarded after the upgrade of the client's connection.
    ///
    /// # Errors
    ///
    /// The error is returned to the client.
    async fn port_forward(
        &self,
        cx: &RequestContext,
        parent: K,
    ) -> Result<Arc<dyn PortForward>, Status>;
}

/// The kinds of streams.
pub(crate) enum Handler<K> {
    Log(Arc<dyn LogSubresource<K>>),
    Exec(Arc<dyn ExecSubresource<K>>),
    PortForward(Arc<dyn PortForwardSubresource<K>>),
}

impl<K> Clone for Handler<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Log(log) => Self::Log(log.clone()),
            Self::Exec(exec) => Self::Exec(exec.clone()),
            Self::PortForward(forward) => Self::PortForward(forward.clone()),
        }
    }
}

impl<K> Handler<K> {
    /// Returns the methods of the requests.
    pub(crate) fn methods(&self) -> &'static [Method] {
        match self {
            Self::Log(_) => &[Method::GET],
            Self::Exec(_) | Self::PortForward(_) => &[Method::GET, Method::POST],
        }
    }
}

/// Returns a stream as a handler of the underlying framework. `parents` reads the parent in the version of `K`.
pub(crate) fn connect<K: ServedKind>(
    handler: Handler<K>,
    parents: &Arc<dyn Get>,
) -> Arc<dyn Connect> {
    Arc::new(Endpoint {
        handler,
        parents: parents.clone(),
        streams: Streams::default(),
        parent: PhantomData::<fn() -> K>,
    })
}

struct Endpoint<K> {
    handler: Handler<K>,
    parents: Arc<dyn Get>,
    streams: Streams,
    parent: PhantomData<fn() -> K>,
}

impl<K: ServedKind> Endpoint<K> {
    async fn parent(&self, cx: &RequestContext, name: &str) -> Result<K, Status> {
        let parent = self.parents.get(cx, name, &GetOptions::default()).await?;
        serde_json::from_slice(&parent.bytes).map_err(status::internal)
    }

    /// Responds with a body, or with WebSocket messages.
    fn log(&self, mut request: Request<Body>, chunks: LogStream) -> Result<Response<Body>, Status> {
        if is_upgrade(request.headers()) {
            let response = self.streams.messages(&mut request, chunks)?;
            return Ok(response.map(Body::from));
        }
        let mut response = Response::new(Body::stream(chunks));
        response.extensions_mut().insert(OpenEnded);
        let plain = HeaderValue::from_static("text/plain");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        Ok(response)
    }
}

#[boxed_async]
impl<K: ServedKind> Connect for Endpoint<K> {
    fn methods(&self) -> &[Method] {
        self.handler.methods()
    }

    fn takes_path(&self) -> bool {
        false
    }

    fn is_admitted(&self) -> bool {
        !matches!(self.handler, Handler::Log(_))
    }

    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        if self.is_admitted() {
            authorize_creation(cx).await?;
        }
        let parent = self.parent(cx, name).await?;
        let query = request.uri().query().unwrap_or_default().to_owned();
        let response = match &self.handler {
            Handler::Log(handler) => {
                let chunks = guard::chunks(handler.log(cx, parent).await?);
                return self.log(request, chunks);
            }
            Handler::Exec(handler) => {
                let command = handler.exec(cx, parent).await?;
                let options = ExecOptions::from_query(&query);
                self.streams.exec(&mut request, options, command)?
            }
            Handler::PortForward(handler) => {
                let ports = ports_from_query(&query)?;
                let handler = handler.port_forward(cx, parent).await?;
                self.streams.port_forward(&mut request, ports, handler)?
            }
        };
        Ok(response.map(Body::from))
    }
}
