//! Requests of users that are passed on as they are: bodies are streams in both directions, and upgrades are passed through.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{Body, request::UserInfo};

use super::{
    MAX_ANSWER, Outgoing,
    connection::{self, Connection, Payload, SendError},
    endpoint::Endpoint,
    pool::PooledClient,
    services::ServiceTarget,
    too_large,
};

/// A request that was not passed on.
#[derive(Debug)]
pub(crate) enum ForwardError {
    /// The certificates of the endpoint cannot be used.
    Tls(String),
    /// There is no address for the service.
    Unresolved(String),
    /// The server could not be reached, or ended the connection.
    Unreachable(String),
    /// The server answered a request to upgrade with this code, which is neither an upgrade nor an error.
    NotUpgraded(StatusCode),
}

impl Outgoing {
    /// Passes on a request, whose URI is a path. Code in this process gets the user instead of headers that name the user.
    ///
    /// # Errors
    ///
    /// Fails if there is no answer. The messages are those of Go's client.
    pub(crate) async fn forward(
        &self,
        endpoint: &Endpoint,
        user: &Arc<UserInfo>,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, ForwardError> {
        let known = endpoint.service.as_ref();
        match known.and_then(|service| self.0.services.get(service)) {
            Some(ServiceTarget::Server(server)) => {
                return Ok(server.handle_as(user.clone(), request).await);
            }
            Some(ServiceTarget::Handler(handler)) => {
                let (parts, body) = request.into_parts();
                let body = body.collect_up_to(MAX_ANSWER).await;
                let body = body.map_err(|e| ForwardError::Unreachable(e.to_string()))?;
                let body = body.ok_or_else(|| ForwardError::Unreachable(too_large(MAX_ANSWER)))?;
                let answer = handler.call(Request::from_parts(parts, body)).await;
                return Ok(answer.map_err(ForwardError::Unreachable)?.map(Body::from));
            }
            Some(ServiceTarget::Address(_)) | None => {}
        }
        let upgrade = is_upgrade(&request).then(|| hyper::upgrade::on(&mut request));
        let client = self.0.pool.client(endpoint);
        let (connection, response) = self.send(endpoint, &client, request).await?;
        let code = response.status();
        if code != StatusCode::SWITCHING_PROTOCOLS {
            if upgrade.is_some() && !is_error(code) {
                return Err(ForwardError::NotUpgraded(code));
            }
            // The backend may have switched protocols in spite of its answer: what it reads next as a request of this server could
            // be bytes of the client.
            let pool = upgrade.is_none().then_some(client);
            let body = |body| Returning {
                body,
                connection: Some((connection, pool)),
            };
            return Ok(response.map(|incoming| Body::wrap(body(incoming))));
        }
        let Some(upgrade) = upgrade else {
            let text = "the backend switched protocols without being asked";
            return Err(ForwardError::Unreachable(text.to_owned()));
        };
        Ok(switched(upgrade, connection, response))
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        client: &Arc<PooledClient>,
        request: Request<Body>,
    ) -> Result<(Connection, Response<Incoming>), ForwardError> {
        let mut request: Request<Payload> = request.map(BodyExt::boxed_unsync);
        let reused = client.reuse();
        if let Some(mut connection) = reused {
            match connection.send(request).await {
                Ok(response) => return Ok((connection, response)),
                Err(SendError::Failed(e) | SendError::Ended(e)) => {
                    client.forget();
                    return Err(ForwardError::Unreachable(e));
                }
                // The endpoint had closed the connection before anything was sent.
                Err(SendError::Unsent(unsent)) => {
                    client.forget();
                    request = *unsent;
                }
            }
        }
        let mut connection = self.dial(endpoint, client).await?;
        match connection.send(request).await {
            Ok(response) => Ok((connection, response)),
            Err(SendError::Failed(e) | SendError::Ended(e)) => Err(ForwardError::Unreachable(e)),
            Err(SendError::Unsent(_)) => Err(ForwardError::Unreachable("EOF".to_owned())),
        }
    }

    async fn dial(
        &self,
        endpoint: &Endpoint,
        client: &PooledClient,
    ) -> Result<Connection, ForwardError> {
        let tls = client.tls.clone().map_err(ForwardError::Tls)?;
        let Some(service) = &endpoint.service else {
            return Err(ForwardError::Unresolved("no service".to_owned()));
        };
        let address = self.address(service).await;
        let (host, port) = address.map_err(ForwardError::Unresolved)?;
        let socket = self.dial_service(&host, port).await;
        let socket = socket.map_err(ForwardError::Unreachable)?;
        Connection::open(socket, &service.host(), tls)
            .await
            .map_err(ForwardError::Unreachable)
    }
}

/// Returns whether a request asks for another protocol.
pub(crate) fn is_upgrade(request: &Request<Body>) -> bool {
    request.headers().contains_key(http::header::UPGRADE)
}

/// Returns whether an answer to a request to upgrade may be passed on although it is no upgrade. A redirect may not: it would
/// lead the client elsewhere with its credentials.
pub(crate) fn is_error(code: StatusCode) -> bool {
    code.is_client_error() || code.is_server_error()
}

/// Returns the message for another answer to a request to upgrade.
pub(crate) fn not_upgraded(code: StatusCode) -> String {
    format!("invalid upgrade response: status code {}", code.as_u16())
}

/// Answers with the protocol that the backend switched to, and copies bytes between the two connections until one ends.
pub(crate) fn switched(
    upgrade: hyper::upgrade::OnUpgrade,
    connection: impl Send + 'static,
    mut response: Response<Incoming>,
) -> Response<Body> {
    let backend = hyper::upgrade::on(&mut response);
    tokio::spawn(async move {
        let (backend, client) = match tokio::try_join!(backend, upgrade) {
            Ok(both) => both,
            Err(error) => {
                tracing::debug!(%error, "a connection was not upgraded");
                return;
            }
        };
        // The driver of the connection has handed over its socket.
        drop(connection);
        let (mut backend, mut client) = (TokioIo::new(backend), TokioIo::new(client));
        // A connection that breaks ends the other one; there is nobody to report it to.
        if let Err(error) = tokio::io::copy_bidirectional(&mut client, &mut backend).await {
            tracing::debug!(%error, "an upgraded connection ended");
        }
    });
    response.map(|_| Body::empty())
}

/// The body of an answer. Once it has been read, its connection takes other requests, if there is a client to keep it; if it is
/// dropped before, the connection is closed.
struct Returning {
    body: Incoming,
    connection: Option<(Connection, Option<Arc<PooledClient>>)>,
}

impl HttpBody for Returning {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.give_back();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|e| connection::describe(&e))))
    }

    fn is_end_stream(&self) -> bool {
        // Only after the last frame is the connection given back.
        self.body.is_end_stream() && self.connection.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Returning {
    fn give_back(&mut self) {
        if let Some((mut connection, Some(client))) = self.connection.take() {
            tokio::spawn(async move {
                if connection.is_reusable().await {
                    client.keep(connection);
                }
            });
        }
    }
}
