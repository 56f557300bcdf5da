//! Commands over SPDY.

use std::{future::pending, sync::Arc};

use tokio::sync::mpsc;

use super::{
    Exec, ExecOptions, ExecSession,
    resize::{self, Decoder},
    result, run,
};
use crate::{
    Input, StreamLimits,
    connection::{self, Outgoing, Queue},
    spdy::{DataEncoder, Incoming, SpdyStream, go_away},
    upgrade::Io,
};

pub(crate) const PROTOCOLS: &[&str] = &[
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
];

/// The largest number of streams of a command.
const STREAMS: usize = 8;

/// Serves a command on the streams that a client opens.
pub(crate) async fn over_spdy(
    io: Io,
    protocol: &str,
    options: ExecOptions,
    handler: Arc<dyn Exec>,
    limits: &StreamLimits,
) {
    let has_statuses = protocol.starts_with("v4.");
    let resizes = options.tty && (has_statuses || protocol.starts_with("v3."));
    connection::serve(io, DataEncoder, limits, |io, queue| {
        let (opened, mut streams) = mpsc::channel(1);
        let max = limits.max_streams.min(STREAMS);
        let reading = Incoming::new(io, queue.clone(), opened, |_| Ok(()), max).run();
        let work = async move {
            let opening = Opened::wait(&mut streams, &options, resizes);
            match tokio::time::timeout(limits.creation_timeout, opening).await {
                Ok(Some(opened)) => {
                    let rest = async { while streams.recv().await.is_some() {} };
                    tokio::select! {
                        () = opened.run(&queue, options, has_statuses, handler) => {}
                        // Additional streams are ignored.
                        () = async { rest.await; pending().await } => {}
                    }
                }
                Ok(None) => {}
                Err(_) => tracing::debug!("timed out waiting for client to create streams"),
            }
            queue.send(Outgoing::Frame(go_away(0))).await;
            queue.send(Outgoing::End).await;
        };
        (reading, work)
    })
    .await;
}

/// The streams of a command.
#[derive(Default)]
struct Opened {
    error: Option<SpdyStream>,
    stdin: Option<SpdyStream>,
    stdout: Option<SpdyStream>,
    stderr: Option<SpdyStream>,
    resize: Option<SpdyStream>,
}

impl Opened {
    /// Waits until the client has opened the streams that the options request.
    async fn wait(
        streams: &mut mpsc::Receiver<SpdyStream>,
        options: &ExecOptions,
        resizes: bool,
    ) -> Option<Self> {
        let mut opened = Self::default();
        while opened.is_incomplete(options, resizes) {
            let stream = streams.recv().await?;
            let slot = match stream.headers.get("streamtype") {
                "error" => &mut opened.error,
                "stdin" => &mut opened.stdin,
                "stdout" => &mut opened.stdout,
                "stderr" => &mut opened.stderr,
                "resize" => &mut opened.resize,
                other => {
                    tracing::debug!(stream_type = other, "unexpected stream type");
                    continue;
                }
            };
            *slot = Some(stream);
        }
        Some(opened)
    }

    fn is_incomplete(&self, options: &ExecOptions, resizes: bool) -> bool {
        self.error.is_none()
            || options.stdin && self.stdin.is_none()
            || options.stdout && self.stdout.is_none()
            || options.stderr && self.stderr.is_none()
            || resizes && self.resize.is_none()
    }

    /// Runs the command, sends its result, and closes the streams.
    async fn run(
        self,
        queue: &Queue,
        options: ExecOptions,
        has_statuses: bool,
        handler: Arc<dyn Exec>,
    ) {
        let all = [&self.stdout, &self.stderr, &self.error];
        let ends: Vec<_> = all
            .into_iter()
            .flatten()
            .map(|stream| (stream.id, stream.state.clone()))
            .collect();
        let (decoder, resizes) = resize::resizes();
        let session = ExecSession {
            options,
            stdin: self.stdin.map(|stream| stream.duplex.input),
            stdout: self.stdout.map(|stream| stream.duplex.output),
            stderr: self.stderr.map(|stream| stream.duplex.output),
            resizes,
        };
        let sizes = self.resize.map(|stream| stream.duplex.input);
        let result = tokio::select! {
            result = run(handler, session) => result,
            () = decoded(decoder, sizes) => return,
        };
        if let Some(error) = &self.error {
            match has_statuses {
                true => queue.data(error.id, result::as_json(&result)).await,
                false => {
                    if let Some(text) = result::as_text(&result) {
                        queue.data(error.id, text).await;
                    }
                }
            }
        }
        for (id, state) in ends {
            if state.finish() {
                queue.send(Outgoing::last(id)).await;
            }
        }
    }
}

/// Decodes sizes forever.
async fn decoded(decoder: Decoder, sizes: Option<Input>) {
    if let Some(sizes) = sizes {
        decoder.run(sizes).await;
    }
    pending().await
}
