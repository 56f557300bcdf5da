//! [`Connection`]: HTTP/1.1 over TLS to one endpoint.

use std::{io, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::{
    body::Incoming,
    client::conn::{
        TrySendError,
        http1::{self, SendRequest},
    },
};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::BoxError;
use kubewright_streams::PodConnection;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{net::TcpStream, task::AbortHandle};
use tokio_rustls::TlsConnector;

use super::trust;

/// The body of a request.
pub(super) type Payload = UnsyncBoxBody<Bytes, BoxError>;

/// An open connection. It is closed when it is dropped.
pub(super) struct Connection {
    sender: SendRequest<Payload>,
    _driver: AbortOnDrop,
}

/// A request that failed.
pub(super) enum SendError {
    /// Nothing was written, so it can be sent on another connection.
    Unsent(Box<Request<Payload>>),
    /// The connection ended before an answer. The request may have arrived, but an endpoint that closes idle connections most
    /// likely did not read it.
    Ended(String),
    /// It may have arrived.
    Failed(String),
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Starts a connection on a socket, where a certificate for `name` is expected.
    ///
    /// # Errors
    ///
    /// Returns the words of Go for a failure.
    pub(super) async fn open(
        socket: PodConnection,
        name: &str,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, String> {
        let name = ServerName::try_from(name.to_owned()).map_err(|e| e.to_string())?;
        let stream = TlsConnector::from(tls).connect(name, socket).await;
        let stream = stream.map_err(|e| trust::describe(&e))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|e| e.to_string())?;
        Ok(Self {
            sender,
            _driver: AbortOnDrop(tokio::spawn(connection.with_upgrades()).abort_handle()),
        })
    }

    /// Sends a request and returns the head of the answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Payload>,
    ) -> Result<Response<Incoming>, SendError> {
        let sent = self.sender.try_send_request(request).await;
        sent.map_err(|mut e: TrySendError<_>| match e.take_message() {
            Some(request) => SendError::Unsent(Box::new(request)),
            None => {
                let error = e.into_error();
                let text = describe(&error);
                match is_end(&error) {
                    true => SendError::Ended(text),
                    false => SendError::Failed(text),
                }
            }
        })
    }

    /// Waits until the connection can take another request, and reports whether it does.
    pub(super) async fn is_reusable(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Reports whether the connection was open at the last check.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }
}

/// Connects to an address of the network.
///
/// # Errors
///
/// Returns the words of Go for a failure.
pub(super) async fn dial(host: &str, port: u16) -> Result<PodConnection, String> {
    let socket = TcpStream::connect((host, port)).await;
    let socket = socket.map_err(|e| dial_failure(host, port, &e))?;
    // Reviews are small and wait for each other.
    let _ = socket.set_nodelay(true);
    Ok(Box::pin(socket))
}

/// Returns whether a connection ended, rather than that it had a wrong answer.
fn is_end(error: &hyper::Error) -> bool {
    let kind = cause(error).map(io::Error::kind);
    let ends = |kind| {
        matches!(
            kind,
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
        )
    };
    error.is_incomplete_message() || kind.is_some_and(ends)
}

fn cause(error: &hyper::Error) -> Option<&io::Error> {
    use std::error::Error;

    error.source().and_then(|e| e.downcast_ref::<io::Error>())
}

/// Returns the words of Go for a connection that ended before the answer.
pub(super) fn describe(error: &hyper::Error) -> String {
    let io = cause(error);
    let cut = io.is_some_and(|e| {
        matches!(
            e.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionAborted
        )
    });
    if error.is_incomplete_message() || cut {
        return "EOF".to_owned();
    }
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) fn dial_failure(host: &str, port: u16, e: &io::Error) -> String {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    match e.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("dial tcp {host}:{port}: connect: connection refused")
        }
        _ => format!("dial tcp {host}:{port}: {e}"),
    }
}
