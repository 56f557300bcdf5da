//! Incoming frames, and their streams.

use std::{collections::HashMap, io, sync::Arc};

use bytes::Bytes;
use tokio::{io::AsyncRead, sync::mpsc};

use super::{
    frame::{
        self, FIN, GO_AWAY, HEADERS, PING, RST_PROTOCOL_ERROR, RST_REFUSED, RST_STREAM, SYN_REPLY,
        SYN_STREAM,
    },
    headers::{Compressor, Decompressor, Headers, MAX_BLOCK},
};
use crate::{
    Duplex, Output,
    connection::{Buffered, Outgoing, Queue, u32_at},
    pipe::{self, State},
};

/// A stream that the client has opened.
#[derive(Debug)]
pub(crate) struct SpdyStream {
    pub(crate) id: u32,
    pub(crate) headers: Headers,
    pub(crate) duplex: Duplex,
    pub(crate) state: Arc<State>,
}

/// Reads the frames of a client.
pub(crate) struct Incoming<R> {
    io: Buffered<R>,
    queue: Queue,
    /// Receives new streams.
    opened: mpsc::Sender<SpdyStream>,
    /// Decides whether to accept a stream.
    accepts: fn(&Headers) -> Result<(), String>,
    max_streams: usize,
    streams: HashMap<u32, Entry>,
    last_stream: u32,
    decompressor: Decompressor,
    compressor: Compressor,
}

/// An open stream.
struct Entry {
    /// The receiver of its bytes, until the client closes the stream.
    reader: Option<mpsc::Sender<Bytes>>,
    state: Arc<State>,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    pub(crate) fn new(
        io: Buffered<R>,
        queue: Queue,
        opened: mpsc::Sender<SpdyStream>,
        accepts: fn(&Headers) -> Result<(), String>,
        max_streams: usize,
    ) -> Self {
        Self {
            io,
            queue,
            opened,
            accepts,
            max_streams,
            streams: HashMap::new(),
            last_stream: 0,
            decompressor: Decompressor::new(),
            compressor: Compressor::default(),
        }
    }

    /// Reads frames until the client ends the connection, or announces its end.
    ///
    /// # Errors
    ///
    /// Fails if the client violates the protocol or disconnects.
    pub(crate) async fn run(mut self) -> io::Result<()> {
        while self.io.fill(8).await? {
            let head = self.io.take(8).await?;
            let (first, second) = (u32_at(&head, 0), u32_at(&head, 4));
            let (flags, length) = ((second >> 24) as u8, second & 0x00ff_ffff);
            if first & 0x8000_0000 == 0 {
                self.data(first, flags, u64::from(length)).await?;
                continue;
            }
            let length = length as usize;
            if length > MAX_BLOCK {
                return Err(invalid("a control frame is too long"));
            }
            let payload = self.io.take(length).await?;
            match (first & 0xffff) as u16 {
                GO_AWAY => return Ok(()),
                kind => self.control(kind, flags, &payload).await?,
            }
        }
        Ok(())
    }

    async fn control(&mut self, kind: u16, flags: u8, payload: &[u8]) -> io::Result<()> {
        let stream = u32_at(payload, 0) & 0x7fff_ffff;
        match kind {
            SYN_STREAM => {
                let block = payload.get(10..);
                let block = block.ok_or_else(|| invalid("a frame is too short"))?;
                let headers = self.decompressor.read(block)?;
                self.open(stream, flags, headers).await;
            }
            SYN_REPLY | HEADERS => {
                // The headers are ignored, but must be decompressed since later ones refer to them.
                let block = payload.get(4..);
                let block = block.ok_or_else(|| invalid("a frame is too short"))?;
                self.decompressor.read(block)?;
                if flags & FIN != 0 {
                    self.finish(stream);
                }
            }
            RST_STREAM => {
                if let Some(entry) = self.streams.remove(&stream) {
                    entry.state.reset();
                }
            }
            // Pings of a client have odd numbers; others are responses.
            PING if u32_at(payload, 0) % 2 == 1 => {
                let pong = frame::ping(u32_at(payload, 0));
                self.queue.send(Outgoing::Frame(pong)).await;
            }
            // Settings and window updates are ignored.
            _ => {}
        }
        Ok(())
    }

    async fn open(&mut self, id: u32, flags: u8, headers: Headers) {
        let refuse = |status| Outgoing::Frame(frame::reset(id, status));
        if id.is_multiple_of(2) || id <= self.last_stream {
            return self.queue.send(refuse(RST_PROTOCOL_ERROR)).await;
        }
        self.last_stream = id;
        self.streams
            .retain(|_, entry| entry.reader.is_some() || !entry.state.is_finished());
        if self.streams.len() >= self.max_streams {
            return self.queue.send(refuse(RST_REFUSED)).await;
        }
        if let Err(reason) = (self.accepts)(&headers) {
            tracing::debug!(reason, "a stream was refused");
            return self.queue.send(refuse(frame::RST_CANCEL)).await;
        }
        let (reader, input) = pipe::input();
        let output = Output::new(id, self.queue.clone());
        let state = output.state();
        let entry = Entry {
            reader: (flags & FIN == 0).then_some(reader),
            state: state.clone(),
        };
        self.streams.insert(id, entry);
        let reply = frame::reply(id, &mut self.compressor);
        self.queue.send(Outgoing::Frame(reply)).await;
        let stream = SpdyStream {
            id,
            headers,
            duplex: Duplex { input, output },
            state,
        };
        // Streams after the end are ignored.
        let _ = self.opened.send(stream).await;
    }

    /// Passes the bytes of a stream to its reader as they arrive.
    async fn data(&mut self, stream: u32, flags: u8, mut length: u64) -> io::Result<()> {
        while length > 0 {
            let entry = self.streams.get(&stream);
            let Some(reader) = entry.and_then(|entry| entry.reader.clone()) else {
                self.io.skip(length).await?;
                break;
            };
            let bytes = self.io.some(length).await?;
            length -= bytes.len() as u64;
            // The reader may be gone.
            let _ = reader.send(bytes.freeze()).await;
        }
        if flags & FIN != 0 {
            self.finish(stream);
        }
        Ok(())
    }

    /// Ends the input of a stream.
    fn finish(&mut self, stream: u32) {
        if let Some(entry) = self.streams.get_mut(&stream) {
            entry.reader = None;
        }
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
