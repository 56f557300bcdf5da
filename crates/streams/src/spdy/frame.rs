//! Outgoing frames.

use bytes::Bytes;

use super::headers::Compressor;
use crate::connection::Encode;

pub(super) const SYN_STREAM: u16 = 1;
pub(super) const SYN_REPLY: u16 = 2;
pub(super) const RST_STREAM: u16 = 3;
pub(super) const PING: u16 = 6;
pub(super) const GO_AWAY: u16 = 7;
pub(super) const HEADERS: u16 = 8;

/// The flag of the last frame of a stream.
pub(super) const FIN: u8 = 1;

/// The stream violates the protocol.
pub(super) const RST_PROTOCOL_ERROR: u32 = 1;
/// There are too many streams.
pub(super) const RST_REFUSED: u32 = 3;
/// The stream is no longer needed.
pub(crate) const RST_CANCEL: u32 = 5;

/// Returns a control frame.
pub(super) fn control(kind: u16, payload: &[u8]) -> Bytes {
    let mut frame = vec![0x80, 3];
    frame.extend_from_slice(&kind.to_be_bytes());
    // No flags, and a length of three bytes.
    frame.extend_from_slice(&(payload.len() as u32 & 0x00ff_ffff).to_be_bytes());
    frame.extend_from_slice(payload);
    frame.into()
}

fn numbers(kind: u16, numbers: &[u32]) -> Bytes {
    let payload: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    control(kind, &payload)
}

/// Returns the reply to a new stream, without headers.
pub(super) fn reply(stream: u32, compressor: &mut Compressor) -> Bytes {
    let mut payload = stream.to_be_bytes().to_vec();
    payload.extend_from_slice(&compressor.write(&[]));
    control(SYN_REPLY, &payload)
}

/// Returns a frame that resets a stream.
pub(crate) fn reset(stream: u32, status: u32) -> Bytes {
    numbers(RST_STREAM, &[stream, status])
}

pub(super) fn ping(id: u32) -> Bytes {
    numbers(PING, &[id])
}

/// Returns a frame that announces that no further streams are accepted.
pub(crate) fn go_away(last_stream: u32) -> Bytes {
    numbers(GO_AWAY, &[last_stream, 0])
}

/// Encodes data frames.
pub(crate) struct DataEncoder;

impl Encode for DataEncoder {
    fn data(&mut self, stream: u32, bytes: &Bytes, last: bool, out: &mut Vec<u8>) {
        let flags = if last { FIN } else { 0 };
        out.extend_from_slice(&(stream & 0x7fff_ffff).to_be_bytes());
        out.extend_from_slice(&(u32::from(flags) << 24 | bytes.len() as u32).to_be_bytes());
        out.extend_from_slice(bytes);
    }
}
