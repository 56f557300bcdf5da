//! WebSocket frames.

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncRead;

use crate::connection::{Buffered, Encode, Outgoing, Queue};

pub(crate) const CLOSE_NORMAL: u16 = 1000;
const CLOSE_PROTOCOL: u16 = 1002;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The longest payload of a control frame.
const CONTROL: usize = 125;

/// Reads the frames of a client, and responds to pings.
pub(crate) struct Frames<R> {
    io: Buffered<R>,
    queue: Queue,
    /// The number of unread bytes of the current payload.
    remaining: u64,
    mask: [u8; 4],
    /// The position in the mask.
    offset: usize,
    /// Whether the current frame is the last one of its message.
    is_final: bool,
    /// Whether a message has begun.
    in_message: bool,
}

/// A part of a message. Messages are not assembled, so that their length is unlimited.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) bytes: Bytes,
    /// Whether this is the start of a message.
    pub(crate) first: bool,
    /// Whether this is the end of a message.
    pub(crate) last: bool,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(crate) fn new(io: Buffered<R>, queue: Queue) -> Self {
        Self {
            io,
            queue,
            remaining: 0,
            mask: [0; 4],
            offset: 0,
            is_final: true,
            in_message: false,
        }
    }

    /// Returns the next part of a message, or `None` once the client has closed the connection.
    ///
    /// # Errors
    ///
    /// Fails if the client violates the protocol, which it is notified of, or disconnects.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Event>> {
        let mut first = false;
        while self.remaining == 0 {
            match self.header().await? {
                Header::Data { first: begins } => first = begins,
                Header::Control => continue,
                Header::Closed => return Ok(None),
            }
            if self.remaining == 0 {
                // A frame without a payload.
                self.in_message = !self.is_final;
                return Ok(Some(Event {
                    bytes: Bytes::new(),
                    first,
                    last: self.is_final,
                }));
            }
        }
        let mut bytes = self.io.some(self.remaining).await?;
        self.unmask(&mut bytes);
        self.remaining -= bytes.len() as u64;
        let last = self.remaining == 0 && self.is_final;
        self.in_message = !last;
        Ok(Some(Event {
            bytes: bytes.freeze(),
            first,
            last,
        }))
    }

    fn unmask(&mut self, bytes: &mut BytesMut) {
        self.mask.rotate_left(self.offset % 4);
        for (byte, mask) in bytes.iter_mut().zip(self.mask.iter().cycle()) {
            *byte ^= mask;
        }
        self.offset = bytes.len() % 4;
    }

    /// Reads the header of a frame, and the payload of a control frame.
    async fn header(&mut self) -> io::Result<Header> {
        if !self.io.fill(2).await? {
            return Ok(Header::Closed);
        }
        let head = self.io.take(2).await?;
        let (flags, length) = (head[0], head[1]);
        let (is_final, opcode) = (flags & 0x80 != 0, flags & 0x0f);
        if flags & 0x70 != 0 || length & 0x80 == 0 {
            return self
                .violation("a frame has reserved bits, or no mask")
                .await;
        }
        let length = match length & 0x7f {
            126 => {
                let length = self.io.take(2).await?;
                u64::from(u16::from_be_bytes([length[0], length[1]]))
            }
            127 => {
                let length = self.io.take(8).await?;
                length
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
            short => u64::from(short),
        };
        let mask = self.io.take(4).await?;
        self.mask = [mask[0], mask[1], mask[2], mask[3]];
        self.offset = 0;
        if opcode >= CLOSE {
            return self.control(opcode, is_final, length).await;
        }
        let first = opcode != 0;
        if opcode > BINARY || first == self.in_message || length >> 63 != 0 {
            return self.violation("a frame is out of place").await;
        }
        self.in_message = true;
        self.is_final = is_final;
        self.remaining = length;
        Ok(Header::Data { first })
    }

    async fn control(&mut self, opcode: u8, is_final: bool, length: u64) -> io::Result<Header> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !is_final || length > CONTROL {
            return self.violation("a control frame is too long").await;
        }
        let mut payload = self.io.take(length).await?;
        self.unmask(&mut payload);
        match opcode {
            PING => {
                let pong = control_frame(PONG, &payload);
                self.queue.send(Outgoing::Frame(pong)).await;
                Ok(Header::Control)
            }
            PONG => Ok(Header::Control),
            CLOSE => {
                // The client's status is echoed without its text.
                let code = payload.get(..2).unwrap_or_default();
                let close = control_frame(CLOSE, code);
                self.queue.send(Outgoing::Frame(close)).await;
                self.queue.send(Outgoing::End).await;
                Ok(Header::Closed)
            }
            _ => self.violation("a frame has an unknown type").await,
        }
    }

    async fn violation(&mut self, text: &'static str) -> io::Result<Header> {
        let close = close_frame(CLOSE_PROTOCOL);
        self.queue.send(Outgoing::Frame(close)).await;
        self.queue.send(Outgoing::End).await;
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

enum Header {
    /// A frame of a message. Its payload has not been read.
    Data { first: bool },
    /// A control frame, which was handled.
    Control,
    /// The end of the connection.
    Closed,
}

/// Returns a close frame.
pub(crate) fn close_frame(code: u16) -> Bytes {
    control_frame(CLOSE, &code.to_be_bytes())
}

fn control_frame(opcode: u8, payload: &[u8]) -> Bytes {
    let mut frame = vec![0x80 | opcode, payload.len() as u8];
    frame.extend_from_slice(payload);
    frame.into()
}

/// Appends the header of an unfragmented server message, which has no mask.
fn append_header(is_text: bool, length: usize, out: &mut Vec<u8>) {
    out.push(0x80 | if is_text { TEXT } else { BINARY });
    match length {
        0..126 => out.push(length as u8),
        126..65536 => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// Appends a message: an optional channel number, and bytes, encoded as base64 text if requested.
pub(super) fn append_message(channel: Option<u8>, base64: bool, bytes: &[u8], out: &mut Vec<u8>) {
    let prefix = usize::from(channel.is_some());
    match base64 {
        false => {
            append_header(false, bytes.len() + prefix, out);
            out.extend(channel);
            out.extend_from_slice(bytes);
        }
        true => {
            let encoded = STANDARD.encode(bytes);
            append_header(true, encoded.len() + prefix, out);
            out.extend(channel.map(|channel| b'0'.wrapping_add(channel)));
            out.extend_from_slice(encoded.as_bytes());
        }
    }
}

/// Encodes the bytes of a single stream as messages.
pub(crate) struct MessageEncoder {
    pub(crate) base64: bool,
}

impl Encode for MessageEncoder {
    fn data(&mut self, _stream: u32, bytes: &Bytes, last: bool, out: &mut Vec<u8>) {
        if !last || !bytes.is_empty() {
            append_message(None, self.base64, bytes, out);
        }
    }
}
