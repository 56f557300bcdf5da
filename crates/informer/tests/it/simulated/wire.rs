//! The bytes of answers, and how they are cut.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream;
use kube::core::Status;
use kubewright_client::stream::{ByteStream, OpenError};

use super::{Fault, State, status};

/// The next step of a list.
pub(super) enum Step {
    Chunk(Bytes),
    Broken,
    Hang,
}

pub(super) fn play(steps: VecDeque<Step>) -> ByteStream {
    Box::pin(stream::unfold(steps, |mut steps| async move {
        match steps.pop_front()? {
            Step::Chunk(chunk) => Some((Ok(chunk), steps)),
            Step::Broken => Some((Err("connection reset by peer".into()), VecDeque::new())),
            Step::Hang => std::future::pending().await,
        }
    }))
}

pub(super) fn frame(event: &str, json: &str) -> String {
    format!("{{\"type\":\"{event}\",\"object\":{json}}}\n")
}

pub(super) fn bookmark(version: u64, end: bool) -> String {
    let annotations = if end {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    let json = format!(
        r#"{{"kind":"Widget","apiVersion":"example.com/v1","metadata":{{"resourceVersion":"{version}","creationTimestamp":null{annotations}}}}}"#
    );
    frame("BOOKMARK", &json)
}

pub(super) fn cut(mut bytes: &[u8], fault: &Fault, state: &mut State) -> Vec<Bytes> {
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let size = match state.random() % 4 {
            _ if matches!(fault, Fault::ByteByByte) => 1,
            0 => 1,
            1 => 1 + state.random() as usize % 16,
            _ => 1 + state.random() as usize % 2000,
        };
        let (chunk, rest) = bytes.split_at(size.min(bytes.len()));
        chunks.push(Bytes::copy_from_slice(chunk));
        bytes = rest;
    }
    chunks
}

pub(super) fn too_large() -> Status {
    let mut status = status(504, "Timeout");
    "Too large resource version: 1000, current: 100".clone_into(&mut status.message);
    status
}

pub(super) fn no_connection() -> OpenError {
    OpenError::Transport(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into())
}
