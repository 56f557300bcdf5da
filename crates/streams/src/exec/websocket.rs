//! Commands over WebSockets.

use std::sync::Arc;

use super::{Exec, ExecOptions, ExecSession, resize, result, run};
use crate::{
    Output, StreamLimits,
    connection::{self, Outgoing},
    pipe,
    upgrade::Io,
    websocket::{CLOSE_NORMAL, ChannelEncoder, Codec, Demultiplexer, Frames, close_frame},
};

pub(crate) const PROTOCOLS: &[&str] = &[
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "",
];

const STDOUT: u32 = 1;
const STDERR: u32 = 2;
const ERROR: u32 = 3;

/// Serves a command on the channels of a WebSocket.
pub(crate) async fn over_websocket(
    io: Io,
    protocol: &str,
    options: ExecOptions,
    handler: Arc<dyn Exec>,
    limits: &StreamLimits,
) {
    let codec = Codec {
        base64: protocol.contains("base64."),
        closes: protocol.starts_with("v5."),
    };
    let has_statuses = protocol.starts_with("v4.") || protocol.starts_with("v5.");
    connection::serve(io, ChannelEncoder(codec), limits, |io, queue| {
        let (to_stdin, stdin) = pipe::input();
        let (to_resize, sizes) = pipe::input();
        let (decoder, resizes) = resize::resizes();
        let channels = vec![
            options.stdin.then_some(to_stdin),
            None,
            None,
            None,
            Some(to_resize),
        ];
        let demultiplexer = Demultiplexer::new(codec, channels);
        let reading = demultiplexer.run(Frames::new(io, queue.clone()));
        let output = |wanted: bool, channel| wanted.then(|| Output::new(channel, queue.clone()));
        let session = ExecSession {
            stdin: options.stdin.then_some(stdin),
            stdout: output(options.stdout, STDOUT),
            stderr: output(options.stderr, STDERR),
            resizes,
            options: options.clone(),
        };
        let work = async move {
            // An empty message signals that the connection is established.
            let lowest = match (options.stdout, options.stderr) {
                (true, _) => STDOUT,
                (_, true) => STDERR,
                _ => ERROR,
            };
            queue.data(lowest, "").await;
            let result = tokio::select! {
                result = run(handler, session) => result,
                () = async { decoder.run(sizes).await; std::future::pending().await } => return,
            };
            match has_statuses {
                true => queue.data(ERROR, result::as_json(&result)).await,
                false => {
                    if let Some(text) = result::as_text(&result) {
                        queue.data(ERROR, text).await;
                    }
                }
            }
            queue.send(Outgoing::Frame(close_frame(CLOSE_NORMAL))).await;
            queue.send(Outgoing::End).await;
        };
        (reading, work)
    })
    .await;
}
