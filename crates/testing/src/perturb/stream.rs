//! The watches of the program: delayed by some events, or blind for a while.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use kubewright_apiserver::{Body, BoxError};
use tokio::time::Instant;

use super::link::Wire;

/// The maximum delay of an event. It is shorter than the time that reads wait for the program's own writes.
const HELD: Duration = Duration::from_secs(5);

/// The annotation of the bookmark after the initial objects.
const INITIAL_END: &[u8] = b"k8s.io/initial-events-end";

type Chunks = std::pin::Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// A watch whose last events are held back.
struct Late {
    chunks: Chunks,
    /// The start of an incomplete line.
    buffer: BytesMut,
    held: VecDeque<Held>,
    events: usize,
    /// The initial objects are not delayed.
    initial: bool,
    ended: bool,
}

struct Held {
    line: Bytes,
    until: Instant,
    bookmark: bool,
}

/// Holds back a number of events.
pub(super) fn late(body: Body, events: usize, initial: bool) -> Body {
    let late = Late {
        chunks: Box::pin(body.into_chunks()),
        buffer: BytesMut::new(),
        held: VecDeque::new(),
        events,
        initial,
        ended: false,
    };
    Body::stream(stream::unfold(late, |mut late| async move {
        let line = late.next().await?;
        Some((line, late))
    }))
}

/// Drops events while the wire is blind, and breaks when it recovers.
pub(super) fn blind(body: Body, path: String, wire: Arc<Wire>) -> Body {
    let chunks: Chunks = Box::pin(body.into_chunks());
    let state = Some((chunks, path, wire));
    Body::stream(stream::unfold(state, |state| async move {
        let (mut chunks, path, wire) = state?;
        let mut changes = wire.changes();
        let sees = async {
            // The sender lives as long as the wire.
            let _ = changes.wait_for(|condition| condition.blind).await;
            let _ = changes.wait_for(|condition| !condition.blind).await;
        };
        let next = async {
            let chunk = chunks.next().await;
            if wire.condition().blind {
                // This chunk and everything after it are lost.
                return std::future::pending().await;
            }
            chunk
        };
        let chunk = tokio::select! {
            biased;
            () = sees => {
                wire.missed(&path);
                let broken: BoxError = "the connection broke".into();
                return Some((Err(broken), None));
            }
            chunk = next => chunk?,
        };
        Some((chunk, Some((chunks, path, wire))))
    }))
}

impl Late {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            let waiting = self.held.iter().filter(|held| !held.bookmark).count();
            let front = self.held.front().map(|held| held.until);
            if waiting > self.events || (self.ended && front.is_some()) {
                return self.held.pop_front().map(|held| Ok(held.line));
            }
            if self.ended {
                return None;
            }
            let due = async {
                match front {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let chunk = tokio::select! {
                biased;
                chunk = self.chunks.next() => chunk,
                () = due => return self.held.pop_front().map(|held| Ok(held.line)),
            };
            match chunk {
                Some(Ok(chunk)) if self.initial => {
                    // The initial objects end with the chunk that has the bookmark.
                    self.initial = !contains(&chunk, INITIAL_END);
                    return Some(Ok(chunk));
                }
                Some(Ok(chunk)) => self.hold(&chunk),
                Some(Err(error)) => return Some(Err(error)),
                None => self.ended = true,
            }
        }
    }

    fn hold(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line = self.buffer.split_to(end + 1).freeze();
            self.held.push_back(Held {
                bookmark: line.starts_with(br#"{"type":"BOOKMARK""#),
                until: Instant::now() + HELD,
                line,
            });
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
