//! `/containerLogs`: the logs of containers.

use std::{
    collections::HashMap,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{Response, StatusCode};
use http_body::{Body, Frame};
use jiff::{SignedDuration, Timestamp};
use kubewright_informer::Key;
use kubewright_streams::KubeletBody;

use super::{Refused, text};
use crate::{
    log_options::{LogOptions, Printer},
    logs::Log,
    nodes::Shared,
};

impl Shared {
    /// Responds with the log of a container.
    pub(super) fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        query: &str,
    ) -> Result<Response<KubeletBody>, Refused> {
        let (options, follows) = self.options(query);
        let known = self
            .pods
            .lock()
            .get(&Key::new(Some(namespace), pod))
            .cloned();
        let known =
            known.ok_or_else(|| (StatusCode::NOT_FOUND, format!("pod {pod:?} does not exist")))?;
        let log = {
            let state = known.state.lock();
            let found = state.names.iter().position(|name| **name == *container);
            let i = found.ok_or_else(|| {
                let text = format!("container {container:?} not found in pod {pod:?}");
                (StatusCode::NOT_FOUND, text)
            })?;
            let log = state.containers[i].log_of(&options, pod, container);
            log.map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?
        };
        if !follows {
            return Ok(text(StatusCode::OK, options.print(&log)));
        }
        let body: KubeletBody = Box::pin(Chunks(Box::pin(followed(log, options))));
        let mut response = text(StatusCode::OK, "");
        *response.body_mut() = body;
        Ok(response)
    }

    fn options(&self, query: &str) -> (LogOptions, bool) {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: HashMap<&str, &str> = pairs.collect();
        let flag = |name| {
            pairs
                .get(name)
                .is_some_and(|value| matches!(*value, "true" | "1"))
        };
        let number = |name| {
            pairs
                .get(name)
                .and_then(|value| value.parse::<usize>().ok())
        };
        let seconds = number("sinceSeconds").and_then(|seconds| i64::try_from(seconds).ok());
        let seconds = seconds.and_then(|seconds| {
            let before = SignedDuration::from_secs(seconds);
            (self.clock())().saturating_sub(before).ok()
        });
        let time = pairs
            .get("sinceTime")
            .map(|time| time.replace("%3A", ":").replace("%2B", "+"));
        let time = time.and_then(|time| time.parse::<Timestamp>().ok());
        let options = LogOptions {
            previous: flag("previous"),
            since: time.or(seconds),
            tail_lines: number("tailLines"),
            timestamps: flag("timestamps"),
            limit_bytes: number("limitBytes"),
        };
        (options, flag("follow"))
    }
}

/// Streams the lines of a log as they are written, until the container ends.
fn followed(log: Log, options: LogOptions) -> impl Stream<Item = Bytes> + Send {
    let printer = Printer::new(options);
    stream::unfold((log, printer, 0), |(log, mut printer, from)| async move {
        let mut from = from;
        loop {
            let (lines, next, has_ended) = log.read(from);
            let printed = printer.print(&lines);
            from = next;
            if !printed.is_empty() {
                return Some((Bytes::from(printed), (log, printer, from)));
            }
            if has_ended || printer.is_done() {
                return None;
            }
            log.grown(from).await;
        }
    })
}

/// A body of chunks.
struct Chunks(Pin<Box<dyn Stream<Item = Bytes> + Send>>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.0.as_mut().poll_next(cx);
        next.map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
