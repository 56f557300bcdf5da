//! Length-prefixed messages: a byte for the compression, four bytes for the length, and the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The largest response. A page of a range is far smaller.
const MAX_MESSAGE: usize = 512 << 20;

/// The most memory that is reserved for data that has not arrived.
const MAX_AHEAD: usize = 1 << 20;

/// Splits a stream into messages.
#[derive(Default)]
pub(super) struct Frames(BytesMut);

/// Returns a message with its length prefix.
pub(super) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    // etcd rejects requests above 4 GiB anyway; their size is checked earlier.
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    frame.freeze()
}

impl Frames {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.0.extend_from_slice(data);
    }

    /// Returns the next complete message.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, String> {
        let Some((head, _)) = self.0.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 {
            return Err("etcd sent a compressed message, which was not requested".to_owned());
        }
        if length > MAX_MESSAGE {
            return Err(format!("etcd sent a message of {length} bytes"));
        }
        if self.0.len() < 5 + length {
            // The length is only what the other side says.
            self.0.reserve((5 + length - self.0.len()).min(MAX_AHEAD));
            return Ok(None);
        }
        self.0.advance(5);
        Ok(Some(self.0.split_to(length).freeze()))
    }
}

/// Returns the messages of a stream that arrives in parts, up to the first error.
pub(crate) fn messages_of(parts: &[&[u8]]) -> Vec<Bytes> {
    let mut frames = Frames::default();
    let mut messages = Vec::new();
    for part in parts {
        frames.push(part);
        while let Ok(Some(message)) = frames.next() {
            messages.push(message);
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_can_be_split_anywhere() {
        let stream = [framed(b"one"), framed(b""), framed(b"three")].concat();
        for size in 1..stream.len() {
            let mut frames = Frames::default();
            let mut messages = Vec::new();
            for data in stream.chunks(size) {
                frames.push(data);
                while let Some(message) = frames.next().unwrap() {
                    messages.push(message);
                }
            }
            assert_eq!(messages, ["one", "", "three"]);
        }
    }

    #[test]
    fn excessive_lengths_are_rejected_before_allocation() {
        let mut frames = Frames::default();
        frames.push(&[0, 0xff, 0xff, 0xff, 0xff]);
        assert!(frames.next().is_err());
    }
}
