//! A minimal SPDY client. The tests of other crates include this file.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// An open connection. Its header blocks are stored without compression.
pub(crate) struct Spdy<T> {
    pub(crate) io: T,
    begun: bool,
}

/// A frame of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Data {
        stream: u32,
        text: String,
        fin: bool,
    },
    Reply(u32),
    Reset {
        stream: u32,
        status: u32,
    },
    Ping(u32),
    GoAway,
}

pub(crate) fn data(stream: u32, text: &str) -> Frame {
    let (text, fin) = (text.to_owned(), false);
    Frame::Data { stream, text, fin }
}

pub(crate) fn fin(stream: u32) -> Frame {
    let (text, fin) = (String::new(), true);
    Frame::Data { stream, text, fin }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Spdy<T> {
    pub(crate) fn over(io: T) -> Self {
        Self { io, begun: false }
    }

    pub(crate) async fn control(&mut self, kind: u16, payload: &[u8]) {
        let mut frame = vec![0x80, 3];
        frame.extend(kind.to_be_bytes());
        frame.extend((payload.len() as u32).to_be_bytes());
        frame.extend(payload);
        self.io.write_all(&frame).await.unwrap();
    }

    /// Opens a stream.
    pub(crate) async fn stream(&mut self, id: u32, headers: &[(&str, &str)]) {
        let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend((text.len() as u32).to_be_bytes());
            plain.extend(text.as_bytes());
        }
        let mut payload = id.to_be_bytes().to_vec();
        payload.extend([0; 6]);
        if !std::mem::replace(&mut self.begun, true) {
            payload.extend([0x78, 0x01]);
        }
        let length = plain.len() as u16;
        payload.push(0);
        payload.extend(length.to_le_bytes());
        payload.extend((!length).to_le_bytes());
        payload.extend(plain);
        self.control(1, &payload).await;
    }

    pub(crate) async fn send(&mut self, stream: u32, bytes: &[u8], fin: bool) {
        let mut frame = stream.to_be_bytes().to_vec();
        let flags = if fin { 1 << 24 } else { 0 };
        frame.extend((flags | bytes.len() as u32).to_be_bytes());
        frame.extend(bytes);
        self.io.write_all(&frame).await.unwrap();
    }

    /// Returns the next frame, or `None` at the end of the connection.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        let first = self.io.read_u32().await.ok()?;
        let second = self.io.read_u32().await.unwrap();
        let mut payload = vec![0; (second & 0x00ff_ffff) as usize];
        self.io.read_exact(&mut payload).await.unwrap();
        let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        Some(match first {
            stream if stream & 0x8000_0000 == 0 => Frame::Data {
                stream,
                fin: second >> 24 == 1,
                text: String::from_utf8(payload).unwrap(),
            },
            0x8003_0002 => Frame::Reply(number(0)),
            0x8003_0003 => Frame::Reset {
                stream: number(0),
                status: number(4),
            },
            0x8003_0006 => Frame::Ping(number(0)),
            0x8003_0007 => Frame::GoAway,
            other => panic!("{other:x}"),
        })
    }

    pub(crate) async fn expect(&mut self, frames: impl IntoIterator<Item = Frame>) {
        for expected in frames {
            assert_eq!(self.frame().await, Some(expected));
        }
    }
}
