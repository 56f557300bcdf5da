//! [`Wire`]: what lies between a client and the embedded server, and what happens to bytes on it.
//!
//! Faults are planned list by list and watch by watch, as in [`simulated`](crate::simulated); here the bytes are those of the
//! real server. Only config maps are struck.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Request, Response};
use http_body_util::BodyExt;
use kubewright_apiserver::{Body, BoxError};
use kubewright_machinery::Status;
use kubewright_testing::FaultyServer;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::{Service, ServiceExt};

use crate::cut::{Cutter, Place};

/// The fault of one list or watch.
#[derive(Clone, Debug)]
pub(crate) enum Strike {
    /// It is refused.
    Refuse(Status),
    /// Only a page after the first is refused.
    RefusePage(Status),
    /// Nobody listens.
    NoConnection,
    /// The connection breaks there: with `true` by an error, else as if it had ended.
    Cut(Place, bool),
    /// From there on nothing more comes.
    Silence(Place),
    /// It comes byte by byte.
    ByteByByte,
    /// After so many events there is an event of type ERROR.
    ErrorEvent(usize, Status),
    /// After so many events these bytes come.
    Garbage(usize, &'static str),
    /// Every event comes twice.
    Twice,
    /// Changed objects are called new ones.
    AddedAgain,
    /// There are no bookmarks, the marker aside.
    NoBookmarks,
    /// The end of the initial events is not marked.
    NoMarker,
    /// It begins with the deletion of something that nobody knew.
    Ghost,
    /// The list of an earlier server is answered.
    Stale,
}

/// The wire. Clones share it.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Moves when all watches are to break.
    epoch: watch::Sender<u64>,
}

struct State {
    server: FaultyServer,
    earlier: Option<FaultyServer>,
    lists: VecDeque<Strike>,
    watches: VecDeque<Strike>,
    seed: u64,
}

impl Wire {
    pub(crate) fn to(server: FaultyServer, seed: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                server,
                earlier: None,
                lists: VecDeque::new(),
                watches: VecDeque::new(),
                seed,
            }),
            epoch: watch::Sender::new(0),
        }))
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// The server that answers stale lists.
    pub(crate) fn remember(&self, earlier: FaultyServer) {
        self.0.state.lock().earlier = Some(earlier);
    }

    /// Another server takes over; connections break.
    pub(crate) fn switch(&self, server: FaultyServer) {
        self.0.state.lock().server = server;
        self.disconnect();
    }

    pub(crate) fn strike_lists(&self, strikes: impl IntoIterator<Item = Strike>) {
        self.0.state.lock().lists.extend(strikes);
    }

    pub(crate) fn strike_watches(&self, strikes: impl IntoIterator<Item = Strike>) {
        self.0.state.lock().watches.extend(strikes);
    }

    /// Breaks all watches that are under way.
    pub(crate) fn disconnect(&self) {
        self.0.epoch.send_modify(|epoch| *epoch += 1);
    }

    /// The server, what strikes this request, and a seed for it.
    fn plan<B>(&self, request: &Request<B>) -> (FaultyServer, Option<Strike>, u64) {
        let mut state = self.0.state.lock();
        let seed = state.seed;
        state.seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let query = request.uri().query().unwrap_or_default();
        let strike = if !request.uri().path().ends_with("/configmaps") {
            None
        } else if query.contains("watch=true") {
            state.watches.pop_front()
        } else {
            match state.lists.front() {
                Some(Strike::RefusePage(_)) if !query.contains("continue=") => None,
                _ => state.lists.pop_front(),
            }
        };
        let server = match (&strike, &state.earlier) {
            (Some(Strike::Stale), Some(earlier)) => earlier.clone(),
            _ => state.server.clone(),
        };
        (server, strike, seed)
    }
}

impl Service<Request<kube::client::Body>> for Wire {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<kube::client::Body>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let (server, strike, seed) = wire.plan(&request);
            let is_watch = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"));
            match &strike {
                Some(Strike::Refuse(status) | Strike::RefusePage(status)) => {
                    return Ok(refused(status));
                }
                Some(Strike::NoConnection) => {
                    return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into());
                }
                // A list of an earlier server at a revision of the later one would be refused.
                Some(Strike::Stale) => *request.uri_mut() = request.uri().path().parse()?,
                _ => {}
            }
            let epoch = wire.0.epoch.subscribe();
            let response = match server.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            Ok(response.map(|body| {
                let chunks = body.into_data_stream();
                if is_watch {
                    Body::stream(struck(until_disconnected(chunks, epoch), strike, seed))
                } else {
                    Body::stream(struck(chunks, strike, seed))
                }
            }))
        })
    }
}

type Chunk = Result<Bytes, BoxError>;

fn refused(status: &Status) -> Response<Body> {
    let body = serde_json::to_vec(status).unwrap_or_default();
    let body = Body::stream(stream::iter([Ok::<_, BoxError>(Bytes::from(body))]));
    let response = Response::builder()
        .status(status.code)
        .header("content-type", "application/json");
    response.body(body).expect("a response")
}

fn until_disconnected(
    chunks: impl Stream<Item = Chunk> + Send,
    mut epoch: watch::Receiver<u64>,
) -> impl Stream<Item = Chunk> + Send {
    chunks.take_until(async move {
        let _ = epoch.changed().await;
    })
}

fn struck(
    chunks: impl Stream<Item = Chunk> + Send + 'static,
    strike: Option<Strike>,
    seed: u64,
) -> impl Stream<Item = Chunk> + Send {
    let chunks: Pin<Box<dyn Stream<Item = Chunk> + Send>> = match &strike {
        Some(
            Strike::ErrorEvent(..)
            | Strike::Garbage(..)
            | Strike::Twice
            | Strike::AddedAgain
            | Strike::NoBookmarks
            | Strike::NoMarker
            | Strike::Ghost,
        ) => Box::pin(by_event(chunks, strike.clone())),
        _ => Box::pin(chunks),
    };
    let sizes = match &strike {
        Some(Strike::ByteByByte) => Sizes::One,
        _ => Sizes::Seeded(seed | 1),
    };
    let (place, end) = match strike {
        Some(Strike::Cut(place, reset)) => (place, Some(reset)),
        Some(Strike::Silence(place)) => (place, None),
        _ => (Place::Byte(usize::MAX), None),
    };
    cut(rechunked(chunks, sizes), Cutter::at(place), end)
}

/// Cuts chunks anew, so that the server's own boundaries do not reach the client.
enum Sizes {
    One,
    Seeded(u64),
}

impl Sizes {
    fn next(&mut self) -> usize {
        match self {
            Self::One => 1,
            Self::Seeded(seed) => {
                *seed ^= *seed << 13;
                *seed ^= *seed >> 7;
                *seed ^= *seed << 17;
                if *seed % 3 == 0 {
                    1
                } else {
                    1 + (*seed >> 8) as usize % 700
                }
            }
        }
    }
}

fn rechunked(
    chunks: Pin<Box<dyn Stream<Item = Chunk> + Send>>,
    sizes: Sizes,
) -> impl Stream<Item = Chunk> + Send {
    stream::unfold(
        (chunks, Bytes::new(), sizes),
        |(mut chunks, mut rest, mut sizes)| async {
            while rest.is_empty() {
                match chunks.next().await? {
                    Ok(chunk) => rest = chunk,
                    Err(error) => return Some((Err(error), (chunks, rest, sizes))),
                }
            }
            let now = rest.split_to(sizes.next().min(rest.len()));
            Some((Ok(now), (chunks, rest, sizes)))
        },
    )
}

/// Ends where the cutter says: `Some(true)` by an error, `Some(false)` quietly, `None` never.
fn cut(
    chunks: impl Stream<Item = Chunk> + Send,
    cutter: Cutter,
    end: Option<bool>,
) -> impl Stream<Item = Chunk> + Send {
    let chunks = Box::pin(chunks);
    stream::unfold(
        (chunks, cutter, end),
        |(mut chunks, mut cutter, end)| async move {
            if cutter.is_over() {
                return match end {
                    Some(true) => {
                        let reset = Err("connection reset by peer".into());
                        Some((reset, (chunks, cutter, Some(false))))
                    }
                    Some(false) => None,
                    None => std::future::pending().await,
                };
            }
            let chunk = chunks.next().await?.map(|chunk| cutter.pass(&chunk));
            Some((chunk, (chunks, cutter, end)))
        },
    )
}

/// Changes a watch event by event.
fn by_event(
    chunks: impl Stream<Item = Chunk> + Send + 'static,
    strike: Option<Strike>,
) -> impl Stream<Item = Chunk> + Send {
    let begin = match &strike {
        Some(Strike::Ghost) => Some(Ok(Bytes::from_static(GHOST.as_bytes()))),
        _ => None,
    };
    let mut line = Vec::new();
    let mut events = 0;
    let changed = chunks.map(move |chunk| {
        let mut out = Vec::new();
        for byte in chunk? {
            line.push(byte);
            if byte == b'\n' {
                let text = String::from_utf8(std::mem::take(&mut line)).expect("UTF-8");
                change(&text, &strike, &mut events, &mut out);
            }
        }
        Ok(Bytes::from(out))
    });
    stream::iter(begin).chain(changed)
}

const GHOST: &str = "{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"ghost\",\"namespace\":\"default\",\"uid\":\"7\",\"resourceVersion\":\"2\"}}}\n";

fn change(line: &str, strike: &Option<Strike>, events: &mut usize, out: &mut Vec<u8>) {
    let is_bookmark = line.starts_with("{\"type\":\"BOOKMARK\"");
    let is_marker = line.contains("k8s.io/initial-events-end");
    if !is_bookmark {
        *events += 1;
    }
    let text = match strike {
        Some(Strike::NoBookmarks) if is_bookmark && !is_marker => String::new(),
        Some(Strike::NoMarker) if is_marker => String::new(),
        Some(Strike::ErrorEvent(after, status)) if !is_bookmark && *events > *after => {
            let status = serde_json::to_string(status).unwrap_or_default();
            format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n")
        }
        Some(Strike::Garbage(after, bytes)) if !is_bookmark && *events > *after => {
            (*bytes).to_owned()
        }
        Some(Strike::Twice) => line.repeat(2),
        Some(Strike::AddedAgain) => line.replacen("\"MODIFIED\"", "\"ADDED\"", 1),
        _ => line.to_owned(),
    };
    out.extend_from_slice(text.as_bytes());
}
