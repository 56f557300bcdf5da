//! [`Front`]: a server on a socket, plain HTTP, that may compress and ask for credentials.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use kubewright_apiserver::{Body, BoxError};
use kubewright_client::stream::{ByteStream, OpenError};
use kubewright_informer::ListerWatcher;
use kubewright_informer::{ListRequest, WatchRequest};
use kubewright_serve::Server as HttpServer;
use kubewright_testing::FaultyServer;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};
use tower::{Service, ServiceExt};

use super::proxy::{End, Proxy};
use crate::simulated::Server;

/// A server on a socket. Clones share it.
#[derive(Clone)]
pub(crate) struct Front(Arc<Shared>);

struct Shared {
    behind: Behind,
    address: OnceCell<SocketAddr>,
    proxy: OnceCell<Proxy>,
    plan: Mutex<Plan>,
    /// Moves when all answers under way are to end.
    epoch: watch::Sender<u64>,
}

enum Behind {
    Memory(Server),
    Cluster(FaultyServer),
}

#[derive(Default)]
struct Plan {
    /// The next answers are compressed, and end in the middle where a place is given.
    gzip_lists: VecDeque<Option<usize>>,
    gzip_watches: VecDeque<Option<usize>>,
    /// The accepted credentials; all if there are none.
    token: Option<String>,
    refused: usize,
}

impl Front {
    pub(crate) async fn of_memory(server: &Server) -> Self {
        Self::start(Behind::Memory(server.clone())).await
    }

    pub(crate) async fn of_cluster(cluster: &TestCluster) -> Self {
        Self::start(Behind::Cluster(cluster.service())).await
    }

    async fn start(behind: Behind) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let front = Self(Arc::new(Shared {
            behind,
            address: OnceCell::new_with(Some(address)),
            proxy: OnceCell::new(),
            plan: Mutex::default(),
            epoch: watch::Sender::new(0),
        }));
        let service = front.clone();
        tokio::spawn(async move {
            HttpServer::new(listener)
                .serve(service, std::future::pending())
                .await;
        });
        front
    }

    pub(crate) fn address(&self) -> SocketAddr {
        *self.0.address.get().expect("an address")
    }

    /// The address of a proxy that can end connections.
    pub(crate) async fn proxied(&self) -> SocketAddr {
        let proxy = self.0.proxy.get_or_init(|| Proxy::to(self.address())).await;
        proxy.address()
    }

    pub(crate) fn end_connections(&self, end: End, after: usize) {
        self.0.proxy.get().expect("a proxy").end(end, after);
    }

    pub(crate) fn client(&self, address: SocketAddr) -> kube::Client {
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
        kube::Client::try_from(config).expect("a client")
    }

    /// The next answers are compressed: whole, or cut after so many bytes.
    pub(crate) fn gzip(&self, list: Option<usize>, watch: Option<usize>) {
        let mut plan = self.0.plan.lock();
        plan.gzip_lists.push_back(list);
        plan.gzip_watches.push_back(watch);
    }

    /// The number of planned compressions that have not happened.
    pub(crate) fn planned(&self) -> usize {
        let plan = self.0.plan.lock();
        plan.gzip_lists.len() + plan.gzip_watches.len()
    }

    /// From now on only this token is good; answers to others end.
    pub(crate) fn demand(&self, token: &str) {
        self.0.plan.lock().token = Some(token.to_owned());
        self.disconnect();
    }

    /// The number of rejected requests.
    pub(crate) fn refused(&self) -> usize {
        self.0.plan.lock().refused
    }

    /// Ends all answers that are under way.
    pub(crate) fn disconnect(&self) {
        self.0.epoch.send_modify(|epoch| *epoch += 1);
    }

    fn admits<B>(&self, request: &Request<B>) -> bool {
        let mut plan = self.0.plan.lock();
        let Some(token) = &plan.token else {
            return true;
        };
        let wanted = format!("Bearer {token}");
        let admitted = request.headers().get(header::AUTHORIZATION)
            == Some(&HeaderValue::from_str(&wanted).expect("a header"));
        plan.refused += usize::from(!admitted);
        admitted
    }

    async fn answer(&self, mut request: Request<Body>) -> Response<Body> {
        // The token was for the front.
        request.headers_mut().remove(header::AUTHORIZATION);
        match &self.0.behind {
            Behind::Cluster(server) => match server.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Behind::Memory(server) => {
                let query = request.uri().query().unwrap_or_default().to_owned();
                let bytes = if query.contains("watch=true") {
                    server.watch(watch_request(&query)).await
                } else {
                    server.list(list_request(&query)).await
                };
                from_memory(bytes)
            }
        }
    }
}

impl<B> Service<Request<B>> for Front
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move {
            if !front.admits(&request) {
                return Ok(status(401, "Unauthorized"));
            }
            let is_watch = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"));
            let gzip = {
                let mut plan = front.0.plan.lock();
                if is_watch {
                    plan.gzip_watches.pop_front()
                } else {
                    plan.gzip_lists.pop_front()
                }
            };
            let mut epoch = front.0.epoch.subscribe();
            let response = front.answer(request.map(Body::wrap)).await;
            if !response.status().is_success() {
                return Ok(response);
            }
            let (mut parts, body) = response.into_parts();
            let chunks = body.into_data_stream().take_until(async move {
                let _ = epoch.changed().await;
            });
            let body = match gzip {
                None => Body::stream(chunks),
                Some(cut) => {
                    parts.headers.remove(header::CONTENT_LENGTH);
                    let encoding = HeaderValue::from_static("gzip");
                    parts.headers.insert(header::CONTENT_ENCODING, encoding);
                    Body::stream(compressed(chunks, cut))
                }
            };
            Ok(Response::from_parts(parts, body))
        })
    }
}

/// Compresses chunk by chunk, and ends after so many bytes of the result, as if that were all.
fn compressed<E: Into<BoxError> + Send + 'static>(
    chunks: impl futures_util::Stream<Item = Result<Bytes, E>> + Send,
    cut: Option<usize>,
) -> impl futures_util::Stream<Item = Result<Bytes, BoxError>> + Send {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let state = (Box::pin(chunks), Some(encoder), cut.unwrap_or(usize::MAX));
    stream::unfold(state, |(mut chunks, encoder, left)| async move {
        let mut encoder = encoder.filter(|_| left > 0)?;
        let (mut packed, encoder) = match chunks.next().await {
            Some(Ok(chunk)) => {
                encoder.write_all(&chunk).expect("memory");
                encoder.flush().expect("memory");
                (std::mem::take(encoder.get_mut()), Some(encoder))
            }
            Some(Err(error)) => return Some((Err(error.into()), (chunks, None, 0))),
            None => (encoder.finish().expect("memory"), None),
        };
        packed.truncate(left);
        let left = left - packed.len();
        Some((Ok(Bytes::from(packed)), (chunks, encoder, left)))
    })
}

fn status(code: u16, reason: &str) -> Response<Body> {
    let text = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{reason}","message":"{reason}","code":{code}}}"#
    );
    let body = Body::stream(stream::iter([Ok::<_, BoxError>(Bytes::from(text))]));
    let response = Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json");
    response.body(body).expect("a response")
}

fn from_memory(answer: Result<ByteStream, OpenError>) -> Response<Body> {
    match answer {
        Ok(chunks) => {
            let mut response = Response::new(Body::stream(chunks));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
        Err(error) => match error.status() {
            Some(refusal) => status(refusal.code, &refusal.reason),
            None => status(500, "InternalError"),
        },
    }
}

fn parameter(query: &str, name: &str) -> String {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| *key == name);
    found.map_or_else(String::new, |(_, value)| value.to_owned())
}

fn list_request(query: &str) -> ListRequest {
    ListRequest {
        resource_version: parameter(query, "resourceVersion"),
        limit: parameter(query, "limit").parse().ok(),
        continue_token: parameter(query, "continue"),
    }
}

fn watch_request(query: &str) -> WatchRequest {
    WatchRequest {
        resource_version: parameter(query, "resourceVersion"),
        send_initial_events: parameter(query, "sendInitialEvents") == "true",
        timeout: Duration::from_secs(parameter(query, "timeoutSeconds").parse().unwrap_or(300)),
    }
}
