//! [`Container`]: a running container, as an image that is a function sees it.

use std::{
    collections::BTreeMap, convert::Infallible, io, net::Ipv4Addr, sync::Arc, time::Duration,
};

use bytes::Bytes;
use http::Response;

use kubewright_controller::{Request, RequestSender};
use kubewright_serve::Tls;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    sync::watch,
};

use super::http::HttpBody;
use crate::{
    inside::Inside,
    logs::{Log, LogWriter, Stream},
    network::{Listener, Network, UdpSocket},
    shell::{Reader, Stdio, Writer},
};

/// A running container, passed to the function of an image.
///
/// ```
/// use kubewright_nodes::{Behavior, Container};
///
/// // Becomes ready after a warm-up, and runs until it is stopped.
/// let server = Behavior::function(|container: Container| async move {
///     container.set_ready(false);
///     container.log("warming up");
///     container.set_ready(true);
///     container.stopped().await;
///     0
/// });
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct Container {
    pub(crate) inner: Arc<Inner>,
    /// The time for which it goes on after the signal to stop.
    pub(crate) linger: Duration,
}

pub(crate) struct Inner {
    pub(crate) request: Request,
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) ip: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) log: Log,
    pub(crate) clock: kubewright_controller::Clock,
    pub(crate) signals: Arc<Signals>,
    pub(crate) wake: RequestSender,
    pub(crate) network: Network,
    /// The number of the container in its pod.
    pub(crate) index: usize,
    pub(crate) uid: String,
    pub(crate) message_path: String,
}

/// The capacity of standard input, in bytes.
const INPUT: usize = 16 << 10;

/// The state that a function shares with its node.
pub(crate) struct Signals {
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) state: Mutex<Reported>,
    /// Standard input: attached clients write to it, and the container reads from it.
    pub(crate) stdin: tokio::sync::Mutex<Option<DuplexStream>>,
    read: Mutex<Option<DuplexStream>>,
}

/// The state that a function has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) is_ready: bool,
    pub(crate) is_alive: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) message: Option<String>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            stop: watch::Sender::new(false),
            stdin: tokio::sync::Mutex::new(None),
            read: Mutex::new(None),
            state: Mutex::new(Reported {
                is_ready: true,
                is_alive: true,
                exit_code: None,
                message: None,
            }),
        }
    }
}

impl Signals {
    /// Returns the signals of a container whose standard input is open.
    pub(crate) fn with_stdin() -> Self {
        let (near, far) = tokio::io::duplex(INPUT);
        Self {
            stdin: tokio::sync::Mutex::new(Some(near)),
            read: Mutex::new(Some(far)),
            ..Self::default()
        }
    }
}

impl Container {
    /// Returns the namespace of the pod.
    pub fn namespace(&self) -> &str {
        self.inner.request.namespace().unwrap_or_default()
    }

    /// Returns the name of the pod.
    pub fn pod(&self) -> &str {
        self.inner.request.name()
    }

    /// Returns the name of the container.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the image.
    pub fn image(&self) -> &str {
        &self.inner.image
    }

    /// Returns the IP address of the pod.
    pub fn ip(&self) -> Option<&str> {
        self.inner.ip.as_deref()
    }

    /// Returns the command and its arguments.
    pub fn arguments(&self) -> &[String] {
        &self.inner.arguments
    }

    /// Returns an environment variable. Only variables with a literal value or a field of the pod are available.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.inner.env.get(name).map(String::as_str)
    }

    /// Returns all known environment variables.
    pub(crate) fn environment(&self) -> &BTreeMap<String, String> {
        &self.inner.env
    }

    /// Returns the time of the cluster.
    pub fn now(&self) -> jiff::Timestamp {
        (self.inner.clock)()
    }

    /// Writes a line to the log.
    pub fn log(&self, line: impl AsRef<str>) {
        self.inner.log.write(self.now(), line.as_ref());
    }

    /// Sets whether readiness and startup probes succeed (default: they do).
    pub fn set_ready(&self, ready: bool) {
        self.report(|state| state.is_ready = ready);
    }

    /// Sets whether liveness probes succeed (default: they do).
    pub fn set_alive(&self, alive: bool) {
        self.report(|state| state.is_alive = alive);
    }

    /// Sets the termination message.
    pub fn set_termination_message(&self, message: impl Into<String>) {
        self.inner.signals.state.lock().message = Some(message.into());
    }

    /// Listens on a port of the pod. Clients reach it through the pod's address, Services, probes, proxies and port forwarding.
    ///
    /// # Errors
    ///
    /// Fails if another container of the pod listens on the port, or if the pod has no address.
    pub fn listen(&self, port: u16) -> io::Result<Listener> {
        let address = self.inner.ip.as_deref().and_then(|ip| ip.parse().ok());
        let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.inner.network.listen(address, port)
    }

    /// Serves HTTP on a port until the container is asked to stop. Requests have the address of the client, an
    /// [`Ipv4Addr`], as an extension.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use kubewright_nodes::{Behavior, Container, HttpBody};
    ///
    /// let hello = Behavior::function(|container: Container| async move {
    ///     let service = tower::service_fn(|_: Request<HttpBody>| async {
    ///         Ok::<_, Infallible>(Response::new(Bytes::from("hello")))
    ///     });
    ///     match container.serve(8080, service).await {
    ///         Ok(()) => 0,
    ///         Err(_) => 1,
    ///     }
    /// });
    /// # let _ = hello;
    /// ```
    ///
    /// # Errors
    ///
    /// Fails as [`listen`](Self::listen) does.
    pub async fn serve<S>(&self, port: u16, service: S) -> io::Result<()>
    where
        S: tower::Service<http::Request<HttpBody>, Response = Response<Bytes>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
    {
        self.serve_connections(port, move |connection, from| {
            super::http::serve(connection, from, service.clone())
        })
        .await
    }

    /// Serves HTTPS on a port until the container is asked to stop. The certificate and its key are PEM. Clients verify the
    /// certificate, as the API server does when it calls a webhook.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use kubewright_nodes::{Behavior, Container, HttpBody};
    ///
    /// let webhook = Behavior::function(|container: Container| async move {
    ///     let service = tower::service_fn(|_: Request<HttpBody>| async {
    ///         Ok::<_, Infallible>(Response::new(Bytes::from("{}")))
    ///     });
    ///     let served = async {
    ///         let certificate = container.read_file("/certs/tls.crt").await?;
    ///         let key = container.read_file("/certs/tls.key").await?;
    ///         container.serve_tls(9443, &certificate, &key, service).await
    ///     };
    ///     i32::from(served.await.is_err())
    /// });
    /// # let _ = webhook;
    /// ```
    ///
    /// # Errors
    ///
    /// Fails as [`listen`](Self::listen) does, or if certificate and key cannot be used.
    pub async fn serve_tls<S>(
        &self,
        port: u16,
        certificate: &[u8],
        key: &[u8],
        service: S,
    ) -> io::Result<()>
    where
        S: tower::Service<http::Request<HttpBody>, Response = Response<Bytes>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
    {
        let tls = Tls::from_pem(certificate, key).map_err(io::Error::other)?;
        let tls = tls.without_http2();
        self.serve_connections(port, move |connection, from| {
            let (tls, service) = (tls.clone(), service.clone());
            async move {
                match tls.accept(connection).await {
                    Ok(connection) => super::http::serve(connection, from, service).await,
                    Err(error) => {
                        tracing::debug!(%error, "a TLS handshake with a container failed")
                    }
                }
            }
        })
        .await
    }

    async fn serve_connections<R>(
        &self,
        port: u16,
        serve: impl Fn(DuplexStream, Ipv4Addr) -> R,
    ) -> io::Result<()>
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let mut listener = self.listen(port)?;
        let serving = async {
            let mut connections = tokio::task::JoinSet::new();
            while let Some((connection, from)) = listener.accept_from().await {
                // Makes room by removing connections that have ended.
                while connections.try_join_next().is_some() {}
                connections.spawn(serve(connection, from));
            }
        };
        tokio::select! {
            () = serving => {}
            () = self.stopped() => {}
        }
        Ok(())
    }

    /// Connects to a port of another pod, by address or by the name of a Service.
    ///
    /// # Errors
    ///
    /// Fails with [`NotFound`](io::ErrorKind::NotFound) if the name does not resolve, with
    /// [`HostUnreachable`](io::ErrorKind::HostUnreachable) if no pod has the address, and with
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nothing listens on the port.
    pub async fn connect(
        &self,
        host: &str,
        port: u16,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static + use<>> {
        let own = self.inner.ip.as_deref();
        let connected = self
            .inner
            .network
            .connect(self.namespace(), own, host, port);
        Ok(connected.await?)
    }

    /// Binds a UDP port of the pod.
    ///
    /// # Errors
    ///
    /// Fails if another container of the pod has bound the port, or if the pod has no address.
    pub fn bind_udp(&self, port: u16) -> io::Result<UdpSocket> {
        let address = self.inner.ip.as_deref().and_then(|ip| ip.parse().ok());
        let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.inner.network.bind_udp(address, port)
    }

    /// Sends a datagram to another pod, by address or by the name of a Service, and waits for the answer.
    ///
    /// # Errors
    ///
    /// Fails as [`connect`](Self::connect) does, and with [`TimedOut`](io::ErrorKind::TimedOut) if there is no answer within
    /// the time.
    pub async fn ask_udp(
        &self,
        host: &str,
        port: u16,
        bytes: impl Into<Bytes>,
        timeout: Duration,
    ) -> io::Result<Bytes> {
        let own = self.inner.ip.as_deref();
        let network = &self.inner.network;
        let sent = network.send_udp(self.namespace(), own, (host, port), bytes.into());
        let mut answers = sent.await?;
        let answer = tokio::time::timeout(timeout, answers.recv()).await;
        answer
            .ok()
            .flatten()
            .ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// Returns the files, environment and processes of the container.
    pub(crate) async fn inside(&self) -> Option<Arc<Inside>> {
        let nodes = self.inner.network.nodes()?;
        let key = kubewright_informer::Key::new(Some(self.namespace()), self.pod());
        let known = nodes.pods.lock().get(&key).cloned();
        let known = known.filter(|known| *known.uid == *self.inner.uid)?;
        nodes.inside(&key, &known, self.inner.index).await
    }

    /// Returns the standard streams. Output goes to the log and to attached clients.
    pub(crate) fn stdio(&self) -> Stdio {
        let stdin = self.inner.signals.read.lock().take();
        let writer = |stream| {
            let (log, clock) = (self.inner.log.clone(), self.inner.clock.clone());
            Writer::log(LogWriter::new(log, stream, clock))
        };
        Stdio {
            stdin: stdin.map_or_else(Reader::empty, Reader::new),
            stdout: writer(Stream::Out),
            stderr: writer(Stream::Error),
        }
    }

    pub(crate) fn message_path(&self) -> &str {
        &self.inner.message_path
    }

    /// Waits for the signal to stop.
    pub async fn stopped(&self) {
        let mut stop = self.inner.signals.stop.subscribe();
        // The sender lives as long as the container.
        let _ = stop.wait_for(|stop| *stop).await;
        if !self.linger.is_zero() {
            tokio::time::sleep(self.linger).await;
        }
    }

    /// Returns the container as one that goes on for some time after the signal to stop.
    pub(crate) fn lingering(&self, linger: Duration) -> Self {
        Self {
            linger,
            ..self.clone()
        }
    }

    pub(crate) fn ended(&self, code: i32) {
        self.report(|state| state.exit_code = Some(code));
    }

    fn report(&self, change: impl FnOnce(&mut Reported)) {
        let mut state = self.inner.signals.state.lock();
        let before = state.clone();
        change(&mut state);
        let changed = *state != before;
        drop(state);
        if changed && !self.inner.wake.try_send(self.inner.request.clone()) {
            let (wake, request) = (self.inner.wake.clone(), self.inner.request.clone());
            tokio::spawn(async move { wake.send(request).await });
        }
    }
}
