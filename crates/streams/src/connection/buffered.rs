//! [`Buffered`]: buffered reads from a connection.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::Idle;

/// The size of a single read.
const CHUNK: usize = 8 << 10;

/// The reading half of a connection.
pub(crate) struct Buffered<R> {
    io: R,
    buffer: BytesMut,
    idle: Idle,
}

impl<R: AsyncRead + Unpin> Buffered<R> {
    pub(super) fn new(io: R, idle: Idle) -> Self {
        Self {
            io,
            buffer: BytesMut::new(),
            idle,
        }
    }

    /// Reads until `count` bytes are buffered. Returns false if the connection ended before the first of them.
    ///
    /// # Errors
    ///
    /// Fails if the connection ends between them.
    pub(crate) async fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.buffer.len() < count {
            self.buffer.reserve(CHUNK.max(count - self.buffer.len()));
            if self.io.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(false),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
            self.idle.touch();
        }
        Ok(true)
    }

    /// Reads exactly `count` bytes, which the caller must bound.
    pub(crate) async fn take(&mut self, count: usize) -> io::Result<BytesMut> {
        match self.fill(count).await? {
            true => Ok(self.buffer.split_to(count)),
            false if count == 0 => Ok(BytesMut::new()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Returns the available bytes, at least one and at most `limit`.
    pub(crate) async fn some(&mut self, limit: u64) -> io::Result<BytesMut> {
        if !self.fill(1).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let count = self.buffer.len().min(limit);
        Ok(self.buffer.split_to(count))
    }

    /// Reads and discards `count` bytes.
    pub(crate) async fn skip(&mut self, mut count: u64) -> io::Result<()> {
        while count > 0 {
            count -= self.some(count).await?.len() as u64;
        }
        Ok(())
    }
}

/// Decodes a big-endian number at an index; zero if there are too few bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_be_bytes)
}
