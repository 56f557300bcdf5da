//! Port forwarding over SPDY: the client opens an error stream and a data stream for each connection.

use std::{collections::HashMap, sync::Arc};

use kubewright_machinery::go;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    task::JoinSet,
    time::Instant,
};

use super::{PortForward, run};
use crate::{
    StreamLimits,
    connection::{self, Outgoing, Queue},
    spdy::{DataEncoder, Headers, Incoming, RST_CANCEL, SpdyStream, reset},
    upgrade::Io,
    websocket::tunnel,
};

pub(crate) const PROTOCOLS: &[&str] = &["portforward.k8s.io"];

/// Forwards connections until the client disconnects.
pub(crate) async fn over_spdy(
    io: impl AsyncRead + AsyncWrite,
    handler: Arc<dyn PortForward>,
    limits: &StreamLimits,
) {
    connection::serve(io, DataEncoder, limits, |io, queue| {
        let (opened, mut streams) = mpsc::channel(1);
        let incoming = Incoming::new(io, queue.clone(), opened, check, limits.max_streams);
        let mut pairs = Pairs {
            queue,
            handler,
            limits,
            waiting: HashMap::new(),
            running: JoinSet::new(),
        };
        let work = async move {
            while let Some(stream) = pairs.next(&mut streams).await {
                pairs.add(stream).await;
            }
            // The client has closed the connection.
            std::future::pending().await
        };
        (incoming.run(), work)
    })
    .await;
}

/// Forwards connections over SPDY inside a WebSocket.
pub(crate) async fn over_tunnel(io: Io, handler: Arc<dyn PortForward>, limits: &StreamLimits) {
    tunnel(io, limits, |inner| over_spdy(inner, handler, limits)).await;
}

/// Validates the headers of a stream.
fn check(headers: &Headers) -> Result<(), String> {
    let port = headers.get("port");
    match port.parse::<u16>() {
        _ if port.is_empty() => return Err(r#""port" header is required"#.to_owned()),
        Ok(1..) => {}
        Ok(0) => return Err(format!("port {} must be > 0", go::quote(port))),
        Err(_) => return Err(format!("unable to parse {} as a port", go::quote(port))),
    }
    match headers.get("streamtype") {
        "error" | "data" => Ok(()),
        "" => Err(r#""streamType" header is required"#.to_owned()),
        other => Err(format!("invalid stream type {}", go::quote(other))),
    }
}

/// Streams that wait for their counterpart, and complete connections.
struct Pairs<'a> {
    queue: Queue,
    handler: Arc<dyn PortForward>,
    limits: &'a StreamLimits,
    waiting: HashMap<String, (SpdyStream, Instant)>,
    running: JoinSet<()>,
}

impl Pairs<'_> {
    /// Returns the next stream, or `None` after the last one. Streams that wait for too long are rejected.
    async fn next(&mut self, streams: &mut mpsc::Receiver<SpdyStream>) -> Option<SpdyStream> {
        loop {
            let oldest = self.waiting.iter().min_by_key(|(_, (_, since))| *since);
            let oldest = oldest.map(|(request, (_, since))| (request.clone(), *since));
            let expiry = oldest.as_ref().map(|(_, since)| *since);
            let expiry = expiry.unwrap_or_else(Instant::now) + self.limits.creation_timeout;
            tokio::select! {
                stream = streams.recv() => return stream,
                Some(_) = self.running.join_next() => {}
                () = tokio::time::sleep_until(expiry), if oldest.is_some() => {
                    if let Some((request, _)) = oldest {
                        self.give_up(&request).await;
                    }
                }
            }
        }
    }

    async fn give_up(&mut self, request: &str) {
        let Some((stream, _)) = self.waiting.remove(request) else {
            return;
        };
        tracing::debug!(request, "timed out waiting for streams");
        if stream.headers.get("streamtype") == "error" {
            let text = format!("(request={request}) timed out waiting for streams");
            self.queue.data(stream.id, text).await;
        }
        end(&self.queue, &stream).await;
    }

    async fn add(&mut self, stream: SpdyStream) {
        let is_data = |stream: &SpdyStream| stream.headers.get("streamtype") == "data";
        let request = request_of(&stream);
        let (data, error) = match self.waiting.remove(&request) {
            None => {
                self.waiting.insert(request, (stream, Instant::now()));
                return;
            }
            Some((first, _)) if is_data(&first) && !is_data(&stream) => (first, stream),
            Some((first, _)) if is_data(&stream) && !is_data(&first) => (stream, first),
            Some(first) => {
                let kind = stream.headers.get("streamtype").to_owned();
                let text = format!(
                    "error processing stream for request {request}: {kind} stream already assigned"
                );
                if kind == "error" {
                    self.queue.data(first.0.id, text).await;
                }
                self.waiting.insert(request, first);
                return cancel(&self.queue, &stream).await;
            }
        };
        let (queue, handler) = (self.queue.clone(), self.handler.clone());
        self.running.spawn(async move {
            let port = data.headers.get("port").parse().unwrap_or_default();
            let (id, state) = (data.id, data.state.clone());
            match run(handler, port, data.duplex).await {
                Ok(()) => {
                    if state.finish() {
                        queue.send(Outgoing::last(id)).await;
                    }
                    end(&queue, &error).await;
                }
                Err(failed) => {
                    queue.data(error.id, failed.to_string()).await;
                    end(&queue, &error).await;
                    state.reset();
                    queue.send(Outgoing::Frame(reset(id, RST_CANCEL))).await;
                }
            }
        });
    }
}

/// Returns the ID that pairs two streams. Very old clients send none, but open the error stream directly before the data stream.
fn request_of(stream: &SpdyStream) -> String {
    match stream.headers.get("requestid") {
        "" if stream.headers.get("streamtype") == "data" => stream.id.saturating_sub(2).to_string(),
        "" => stream.id.to_string(),
        id => id.to_owned(),
    }
}

/// Ends the server's side of a stream.
async fn end(queue: &Queue, stream: &SpdyStream) {
    if stream.state.finish() {
        queue.send(Outgoing::last(stream.id)).await;
    }
}

/// Resets a stream.
async fn cancel(queue: &Queue, stream: &SpdyStream) {
    stream.state.reset();
    queue
        .send(Outgoing::Frame(reset(stream.id, RST_CANCEL)))
        .await;
}
