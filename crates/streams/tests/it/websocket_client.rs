//! A minimal WebSocket client.

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::commands::TestServer;

/// An open WebSocket.
pub(crate) struct WebSocket {
    pub(crate) io: DuplexStream,
}

/// Returns the head of an upgrade request.
pub(crate) fn head(path: &str, protocols: &str) -> String {
    let mut head = format!(
        "GET {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    );
    if !protocols.is_empty() {
        head += &format!("\r\nSec-WebSocket-Protocol: {protocols}");
    }
    head
}

impl WebSocket {
    pub(crate) async fn open(server: &TestServer, path: &str, protocol: &str) -> Self {
        let (io, response) = server.open(&head(path, protocol)).await;
        assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
        let lower = response.to_ascii_lowercase();
        assert!(lower.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{response}");
        let named = format!("sec-websocket-protocol: {protocol}\r\n");
        assert_eq!(lower.contains(&named), !protocol.is_empty(), "{response}");
        Self { io }
    }

    /// Sends a masked frame.
    pub(crate) async fn send_frame(&mut self, first: u8, payload: &[u8]) {
        let mask = [7, 11, 13, 17];
        let mut frame = vec![first];
        match payload.len() {
            0..126 => frame.push(0x80 | payload.len() as u8),
            126..65536 => {
                frame.push(0x80 | 126);
                frame.extend((payload.len() as u16).to_be_bytes());
            }
            _ => {
                frame.push(0x80 | 127);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
        self.io.write_all(&frame).await.unwrap();
    }

    /// Sends a binary message.
    pub(crate) async fn send(&mut self, payload: &[u8]) {
        self.send_frame(0x82, payload).await;
    }

    /// Returns the first byte of a frame and its payload, or `None` at the end of the connection.
    pub(crate) async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = self.io.read_u8().await.ok()?;
        let length = match self.io.read_u8().await.unwrap() {
            126 => usize::from(self.io.read_u16().await.unwrap()),
            127 => self.io.read_u64().await.unwrap() as usize,
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        self.io.read_exact(&mut payload).await.unwrap();
        Some((first, payload))
    }

    /// Returns the payload of a binary message.
    pub(crate) async fn message(&mut self) -> Vec<u8> {
        let (first, payload) = self.frame().await.expect("a message");
        assert_eq!(first, 0x82, "{payload:?}");
        payload
    }

    /// Reads until the server closes. Returns the bytes of each of five channels, and the close code.
    pub(crate) async fn rest(&mut self) -> ([Vec<u8>; 5], u16) {
        let mut channels: [Vec<u8>; 5] = Default::default();
        while let Some((first, payload)) = self.frame().await {
            match first {
                0x82 => channels[usize::from(payload[0])].extend(&payload[1..]),
                0x88 => return (channels, u16::from_be_bytes([payload[0], payload[1]])),
                _ => {}
            }
        }
        (channels, 0)
    }
}
