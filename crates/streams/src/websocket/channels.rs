//! Messages that begin with the number of a channel: `channel.k8s.io` and its successors.

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::{Buf, Bytes};
use tokio::{io::AsyncRead, sync::mpsc};

use super::frame::{Event, Frames, append_message};
use crate::connection::Encode;

/// The channel of messages that close another channel, in the fifth version of the protocol.
const CLOSE_SIGNAL: u8 = 255;

/// The encoding of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codec {
    /// Whether payloads are text in base64, after a digit instead of a byte.
    pub(crate) base64: bool,
    /// Whether clients can close a channel.
    pub(crate) closes: bool,
}

/// Encodes the bytes of channels.
pub(crate) struct ChannelEncoder(pub(crate) Codec);

impl Encode for ChannelEncoder {
    fn data(&mut self, stream: u32, bytes: &Bytes, last: bool, out: &mut Vec<u8>) {
        // The protocol cannot express the end of a server's channel.
        if !last || !bytes.is_empty() {
            append_message(Some(stream as u8), self.0.base64, bytes, out);
        }
    }
}

/// Distributes the messages of a client to channels.
pub(crate) struct Demultiplexer {
    codec: Codec,
    /// The channels that can receive bytes.
    channels: Vec<Option<mpsc::Sender<Bytes>>>,
    /// The channel of the current message.
    current: Option<u8>,
    /// The first bytes of a message that closes a channel.
    signal: Vec<u8>,
    /// Base64 characters that do not form whole bytes yet.
    rest: Vec<u8>,
}

impl Demultiplexer {
    pub(crate) fn new(codec: Codec, channels: Vec<Option<mpsc::Sender<Bytes>>>) -> Self {
        Self {
            codec,
            channels,
            current: None,
            signal: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Reads messages until the client closes the connection.
    ///
    /// # Errors
    ///
    /// Fails if the client violates the protocol or disconnects.
    pub(crate) async fn run<R>(mut self, mut frames: Frames<R>) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
    {
        while let Some(event) = frames.next().await? {
            self.take(event).await?;
        }
        Ok(())
    }

    async fn take(&mut self, event: Event) -> io::Result<()> {
        let Event {
            mut bytes,
            first,
            last,
        } = event;
        if first {
            self.current = None;
            self.signal.clear();
            self.rest.clear();
        }
        if self.current.is_none() && bytes.has_remaining() {
            self.current = Some(bytes.get_u8());
        }
        match self.current {
            None => {}
            Some(CLOSE_SIGNAL) if self.codec.closes => {
                let room = 2usize.saturating_sub(self.signal.len());
                self.signal.extend(bytes.iter().take(room));
                if last {
                    return self.close();
                }
            }
            Some(channel) => self.deliver(channel, bytes, last).await,
        }
        Ok(())
    }

    /// Closes the channel that the client named.
    fn close(&mut self) -> io::Result<()> {
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidData, text);
        let [channel] = self.signal[..] else {
            return Err(invalid("a close signal names no channel, or several"));
        };
        let channel = self.channels.get_mut(usize::from(channel));
        *channel.ok_or_else(|| invalid("a close signal names an unknown channel"))? = None;
        Ok(())
    }

    async fn deliver(&mut self, channel: u8, bytes: Bytes, last: bool) {
        let number = match self.codec.base64 {
            true => channel.wrapping_sub(b'0'),
            false => channel,
        };
        let reader = self.channels.get(usize::from(number));
        // Bytes for a channel without a reader are dropped.
        let Some(reader) = reader.and_then(Option::as_ref).cloned() else {
            return;
        };
        let bytes = match self.codec.base64 {
            true => self.decode(&bytes, last),
            false => bytes,
        };
        if !bytes.is_empty() {
            // The reader may be gone.
            let _ = reader.send(bytes).await;
        }
    }

    /// Decodes complete groups of characters. Invalid base64 is dropped, as in the real server.
    fn decode(&mut self, bytes: &[u8], last: bool) -> Bytes {
        self.rest.extend_from_slice(bytes);
        let whole = match last {
            true => self.rest.len(),
            false => self.rest.len() / 4 * 4,
        };
        let characters: Vec<u8> = self.rest.drain(..whole).collect();
        STANDARD.decode(characters).unwrap_or_default().into()
    }
}
