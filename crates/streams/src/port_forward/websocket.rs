//! Port forwarding over the channels of a WebSocket, two for each port.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{PortForward, run};
use crate::{
    Duplex, Output, StreamLimits,
    connection::{self, Outgoing},
    pipe,
    upgrade::Io,
    websocket::{CLOSE_NORMAL, ChannelEncoder, Codec, Demultiplexer, Frames, close_frame},
};

pub(crate) const PROTOCOLS: &[&str] = &[
    "SPDY/3.1+portforward.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "",
];

/// Forwards one connection for each port.
pub(crate) async fn over_websocket(
    io: Io,
    protocol: &str,
    ports: &[u16],
    handler: Arc<dyn PortForward>,
    limits: &StreamLimits,
) {
    let codec = Codec {
        base64: protocol.contains("base64."),
        closes: false,
    };
    connection::serve(io, ChannelEncoder(codec), limits, |io, queue| {
        let mut channels = Vec::new();
        let mut connections = Vec::new();
        for (i, port) in (0u32..).zip(ports) {
            let (reader, input) = pipe::input();
            channels.extend([Some(reader), None]);
            let output = Output::new(2 * i, queue.clone());
            connections.push((i, *port, Duplex { input, output }));
        }
        let demultiplexer = Demultiplexer::new(codec, channels);
        let reading = demultiplexer.run(Frames::new(io, queue.clone()));
        let work = async move {
            // The first message of each channel is its port.
            for (i, port, _) in &connections {
                let port = port.to_le_bytes().to_vec();
                queue.data(2 * i, port.clone()).await;
                queue.data(2 * i + 1, port).await;
            }
            let forwarded = connections.into_iter().map(|(i, port, connection)| {
                let (handler, queue) = (handler.clone(), queue.clone());
                async move {
                    if let Err(error) = run(handler, port, connection).await {
                        queue.data(2 * i + 1, error.to_string()).await;
                    }
                }
            });
            join_all(forwarded).await;
            queue.send(Outgoing::Frame(close_frame(CLOSE_NORMAL))).await;
            queue.send(Outgoing::End).await;
        };
        (reading, work)
    })
    .await;
}
