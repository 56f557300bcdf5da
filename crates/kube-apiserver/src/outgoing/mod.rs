//! Calls to addresses that users of the API choose, such as webhooks.
//!
//! [`Outgoing`] is the only way out of this crate, so its policy holds for every call: HTTPS to the given address and nowhere
//! else, within a time limit, with an answer of bounded size. A redirect is an answer like any other and is not followed,
//! because it would let the endpoint choose an address inside the network of the server. Text of an answer that becomes part
//! of a message goes through [`excerpt`].
//!
//! | file | contents |
//! |---|---|
//! | `endpoint` | [`Endpoint`]: a `clientConfig` |
//! | `services` | [`Services`]: services in this process or at known addresses |
//! | `resolve` | services of the cluster, by their endpoints |
//! | `forward` | requests of users that are passed on as they are |
//! | `pool` | clients by configuration, and their idle connections |
//! | `connection` | HTTP/1.1 over TLS |
//! | `trust` | the certificates that are trusted |
//! | `answer` | decoding of answers, with the errors of client-go |

mod answer;
mod connection;
mod endpoint;
mod forward;
mod pool;
mod resolve;
mod services;
mod trust;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use kubewright_apiserver::Body;
use kubewright_machinery::go;
use kubewright_streams::{Kubelets, PodConnection};
use tokio::time::timeout;

use crate::admission::stored::Stored;
use connection::{Connection, Payload, SendError};
use pool::{Pool, PooledClient};
use services::ServiceTarget;

pub(crate) use answer::{check_registered, decode};
pub(crate) use endpoint::Endpoint;
pub(crate) use forward::{ForwardError, is_error, is_upgrade, not_upgraded, switched};
pub(crate) use resolve::SERVICE_NAME;
pub(crate) use services::ServicePort;
pub use services::{ServiceHandler, Services};
pub(crate) use trust::Identity;

/// The size that any answer may have, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// An answer may also be this many times as large as the request, since a converted list grows with the list.
const MAX_GROWTH: usize = 4;
/// The number of times that an endpoint is called again if it asks for it. The time limit of the call holds for all of them.
const MAX_RETRIES: usize = 10;
/// The maximum length of an answer's text in a message, in characters.
const MAX_EXCERPT: usize = 256;

/// Calls endpoints. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Outgoing(Arc<Inner>);

struct Inner {
    services: Services,
    stored: Stored,
    /// The simulated nodes, whose pods are on no network.
    kubelets: Option<Arc<dyn Kubelets>>,
    pool: Pool,
}

/// The answer of an endpoint.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
    /// The time after which an overloaded endpoint asks to be called again.
    retry_after: Option<Duration>,
}

impl Outgoing {
    /// Returns a caller that knows these services, and those of the cluster, whose pods may be those of simulated nodes. It presents
    /// its certificate to aggregated servers.
    pub(crate) fn new(
        services: Services,
        stored: Stored,
        kubelets: Option<Arc<dyn Kubelets>>,
        identity: Option<Identity>,
    ) -> Self {
        Self(Arc::new(Inner {
            services,
            stored,
            kubelets,
            pool: Pool::new(identity),
        }))
    }

    /// Returns whether this process knows how to reach a service, independently of the objects in the cluster.
    pub(crate) fn knows(&self, service: &ServicePort) -> bool {
        self.0.services.get(service).is_some()
    }

    /// Checks that an endpoint can be called as far as its configuration says.
    ///
    /// # Errors
    ///
    /// Returns the message of client-go for a bundle that holds no certificates.
    pub(crate) fn check(&self, endpoint: &Endpoint) -> Result<(), String> {
        let known = endpoint.service.as_ref();
        match known.and_then(|service| self.0.services.get(service)) {
            Some(ServiceTarget::Handler(_) | ServiceTarget::Server(_)) => Ok(()),
            _ => self.0.pool.client(endpoint).tls.clone().map(|_| ()),
        }
    }

    /// Posts a JSON document. The time limit, from the connection to the last byte of the answer, is part of the URL.
    ///
    /// # Errors
    ///
    /// Returns the message of Go's client if there is no response.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        document: Bytes,
        within: Duration,
    ) -> Result<Answer, String> {
        let seconds = within.as_secs() + u64::from(within.subsec_nanos() > 0);
        let url = format!("{}?timeout={seconds}s", endpoint.url);
        let answer = match timeout(within, self.persist(endpoint, &url, document)).await {
            Ok(answer) => answer,
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        answer.map_err(|e| format!("Post \"{url}\": {e}"))
    }

    /// Calls an endpoint again if it answers that it is overloaded and says when, as client-go does.
    async fn persist(
        &self,
        endpoint: &Endpoint,
        url: &str,
        document: Bytes,
    ) -> Result<Answer, String> {
        let mut answer = self.exchange(endpoint, url, document.clone()).await?;
        for _ in 0..MAX_RETRIES {
            let Some(pause) = answer.retry_after else {
                break;
            };
            tokio::time::sleep(pause).await;
            answer = self.exchange(endpoint, url, document.clone()).await?;
        }
        Ok(answer)
    }

    async fn exchange(
        &self,
        endpoint: &Endpoint,
        url: &str,
        document: Bytes,
    ) -> Result<Answer, String> {
        let uri: Uri = url.parse().map_err(|e| format!("invalid URL: {e}"))?;
        let scheme = uri.scheme_str().unwrap_or_default();
        if scheme != "https" {
            return Err(format!("unsupported protocol scheme {}", go::quote(scheme)));
        }
        let limit = document.len().saturating_mul(MAX_GROWTH).max(MAX_ANSWER);
        let known = endpoint.service.as_ref();
        let known = known.and_then(|service| self.0.services.get(service));
        if let Some(ServiceTarget::Handler(handler)) = known {
            let request = request(uri, &endpoint.url, document)?;
            let (parts, body) = handler.call(request).await?.into_parts();
            if body.len() > limit {
                return Err(too_large(limit));
            }
            return Ok(Answer::new(&parts, body));
        }
        if let Some(ServiceTarget::Server(server)) = known {
            let request = request(uri, &endpoint.url, document)?.map(Body::from);
            let (parts, body) = server.handle(request).await.into_parts();
            let body = body.collect_up_to(limit).await;
            let body = body.map_err(|e| e.to_string())?;
            return Ok(Answer::new(&parts, body.ok_or_else(|| too_large(limit))?));
        }
        let client = self.0.pool.client(endpoint);
        let target = uri.path_and_query().map_or("/", |p| p.as_str());
        let target = target.parse().map_err(|e| format!("invalid URL: {e}"))?;
        let request = request(target, &endpoint.url, document)?;
        let payload = |body| Full::new(body).map_err(|e| match e {}).boxed_unsync();
        let reused = match client.reuse() {
            None => None,
            Some(mut connection) => match connection.send(request.clone().map(payload)).await {
                Ok(response) => Some((connection, response)),
                Err(SendError::Failed(e)) => {
                    client.forget();
                    return Err(e);
                }
                // The endpoint closed the connection while it was idle. A review may be repeated: it changes nothing.
                Err(SendError::Unsent(_) | SendError::Ended(_)) => {
                    client.forget();
                    None
                }
            },
        };
        let (mut connection, response) = match reused {
            Some(answered) => answered,
            None => {
                let request = request.map(payload);
                self.send_anew(endpoint, &uri, &client, request).await?
            }
        };
        let (parts, body) = response.into_parts();
        let body = read(body, limit).await.inspect_err(|_| client.forget())?;
        if connection.is_reusable().await {
            client.keep(connection);
        }
        Ok(Answer::new(&parts, body))
    }

    /// Sends a request on a new connection.
    async fn send_anew(
        &self,
        endpoint: &Endpoint,
        uri: &Uri,
        client: &PooledClient,
        request: Request<Payload>,
    ) -> Result<(Connection, http::Response<Incoming>), String> {
        let mut connection = self.connect(endpoint, uri, client).await?;
        match connection.send(request).await {
            Ok(response) => Ok((connection, response)),
            Err(SendError::Failed(e) | SendError::Ended(e)) => Err(e),
            Err(SendError::Unsent(_)) => Err("EOF".to_owned()),
        }
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
        uri: &Uri,
        client: &PooledClient,
    ) -> Result<Connection, String> {
        let tls = client.tls.clone()?;
        let Some(service) = &endpoint.service else {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            let port = uri.port_u16().unwrap_or(443);
            let socket = connection::dial(host, port).await?;
            return Connection::open(socket, host, tls).await;
        };
        let (host, port) = self.address(service).await?;
        let socket = self.dial_service(&host, port).await?;
        Connection::open(socket, &service.host(), tls).await
    }

    /// Connects to the address of a service, which may be that of a pod on a simulated node.
    async fn dial_service(&self, host: &str, port: u16) -> Result<PodConnection, String> {
        if let (Some(kubelets), Ok(address)) = (&self.0.kubelets, host.parse()) {
            match kubelets.connect(address, port).await {
                Ok(socket) => return Ok(socket),
                // No simulated pod or node has the address.
                Err(e) if e.kind() == io::ErrorKind::HostUnreachable => {}
                Err(e) => return Err(connection::dial_failure(host, port, &e)),
            }
        }
        connection::dial(host, port).await
    }

    /// Returns the URL of an endpoint without a path: with its address, if it can be resolved, otherwise with its name.
    pub(crate) async fn origin_of(&self, endpoint: &Endpoint) -> String {
        let resolved = match &endpoint.service {
            Some(service) if !self.is_in_process(service) => self.address(service).await.ok(),
            _ => None,
        };
        match resolved {
            Some((host, port)) if host.contains(':') => format!("https://[{host}]:{port}"),
            Some((host, port)) => format!("https://{host}:{port}"),
            None => endpoint.origin().to_owned(),
        }
    }

    fn is_in_process(&self, service: &ServicePort) -> bool {
        let known = self.0.services.get(service);
        matches!(
            known,
            Some(ServiceTarget::Handler(_) | ServiceTarget::Server(_))
        )
    }

    /// Returns host and port of a service.
    async fn address(&self, service: &ServicePort) -> Result<(String, u16), String> {
        match self.0.services.get(service) {
            Some(ServiceTarget::Address(address)) => Ok((address.ip().to_string(), address.port())),
            _ => resolve::endpoint(&self.0.stored, service).await,
        }
    }
}

impl Answer {
    fn new(parts: &http::response::Parts, body: Bytes) -> Self {
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let overloaded =
            parts.status == StatusCode::TOO_MANY_REQUESTS || parts.status.is_server_error();
        let seconds = parts.headers.get(header::RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            status: parts.status,
            retry_after: seconds.filter(|_| overloaded).map(Duration::from_secs),
            content_type: content_type
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            body,
        }
    }
}

fn request(uri: Uri, url: &str, document: Bytes) -> Result<Request<Bytes>, String> {
    let host = url.strip_prefix("https://").unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    Request::post(uri)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::HOST, host)
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(document)
        .map_err(|e| e.to_string())
}

async fn read(body: Incoming, limit: usize) -> Result<Bytes, String> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(e) if e.is::<LengthLimitError>() => Err(too_large(limit)),
        Err(e) => match e.downcast_ref::<hyper::Error>() {
            Some(e) => Err(connection::describe(e)),
            None => Err(e.to_string()),
        },
    }
}

fn too_large(limit: usize) -> String {
    format!("the response is larger than {limit} bytes")
}

/// Returns the beginning of a text that an endpoint has chosen, with everything escaped that is not printable.
pub(crate) fn excerpt(text: &str) -> String {
    let mut out = String::new();
    for c in shortened(text).chars() {
        match go::is_print(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
    }
    out
}

/// Returns the beginning of a text that an endpoint has chosen, quoted as in Go.
pub(crate) fn quoted_excerpt(text: &str) -> String {
    go::quote(&shortened(text))
}

fn shortened(text: &str) -> String {
    let mut characters = text.trim().chars();
    let mut out: String = characters.by_ref().take(MAX_EXCERPT).collect();
    if characters.next().is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt("  no way\n"), "no way");
        assert_eq!(excerpt("a\u{1b}[2J\nb\u{202e}"), "a\\u{1b}[2J\\nb\\u{202e}");
        let long = excerpt(&"é".repeat(3000));
        assert_eq!(long.chars().count(), MAX_EXCERPT + 3);
        assert!(long.ends_with("é..."));
    }

    #[tokio::test]
    async fn only_https_is_spoken() {
        let store = Stored(Arc::new(kubewright_store::MemoryStore::new()));
        let outgoing = Outgoing::new(Services::default(), store, None, None);
        for url in ["http://127.0.0.1:1/", "file://a/etc/passwd", "gopher://a/"] {
            let endpoint = Endpoint::read(&serde_json::json!({"url": url}));
            let call = outgoing.post(&endpoint, Bytes::new(), Duration::from_secs(1));
            let refused = call.await.err().unwrap();
            assert!(refused.contains("unsupported protocol scheme"), "{refused}");
        }
    }
}
