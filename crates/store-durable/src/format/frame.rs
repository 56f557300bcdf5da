//! The format of frames. A frame contains writes that became durable together.
//!
//! Its header contains the checksum of the previous frame (`chain`), so that frames of another history, or after a lost frame,
//! are rejected. Its magic number is masked with the salt of the segment, so that bytes from clients cannot look like a frame.

use kubewright_store::Revision;

use super::{MAX_FRAME, cursor::Cursor, padded};

const MAGIC: u32 = u32::from_le_bytes(*b"KWFR");

/// The length of a header.
pub(crate) const HEADER: usize = 64;

/// A frame without writes, which states that everything before it is durable.
pub(crate) const SEAL: u32 = 1;

/// The last frame of a segment. The log continues in the next segment, which exists.
pub(crate) const END: u32 = 2;

/// The header of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) payload_len: u32,
    pub(crate) payload_sum: u32,
    pub(crate) records: u32,
    pub(crate) flags: u32,
    /// The number of the frame, counted over all segments.
    pub(crate) number: u64,
    /// The revision of its first write, or the next one.
    pub(crate) first_revision: Revision,
    pub(crate) chain: u64,
    /// The number of the last durable frame when this one was written.
    pub(crate) durable_up_to: u64,
    /// The wall-clock time in milliseconds.
    pub(crate) time: u64,
}

/// A frame in a segment.
pub(crate) struct Frame<'a> {
    pub(crate) header: FrameHeader,
    pub(crate) payload: &'a [u8],
    /// The checksum, which the next frame repeats.
    pub(crate) chain: u64,
    /// The length with padding.
    pub(crate) len: usize,
}

/// Completes a frame in place: `frame` has space for the header, followed by the payload. Adds padding. Returns its checksum.
pub(crate) fn seal_frame(frame: &mut Vec<u8>, header: &mut FrameHeader, salt: u64) -> u64 {
    let payload = frame.get(HEADER..).unwrap_or_default();
    header.payload_len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    header.payload_sum = crc32fast::hash(payload);
    let mut bytes = [0; HEADER];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
        at += part.len();
    };
    put(&MAGIC.to_le_bytes());
    put(&[0; 4]);
    for number in [
        header.payload_len,
        header.payload_sum,
        header.records,
        header.flags,
    ] {
        put(&number.to_le_bytes());
    }
    for number in [
        salt ^ header.number,
        header.first_revision.0,
        header.chain,
        header.durable_up_to,
        header.time,
    ] {
        put(&number.to_le_bytes());
    }
    let sum = crc32fast::hash(&bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    if let Some(place) = frame.get_mut(..HEADER) {
        place.copy_from_slice(&bytes);
    }
    frame.resize(padded(frame.len()), 0);
    link(sum, header.payload_sum)
}

/// Decodes the frame at the beginning of `bytes`. Returns `None` if there is no complete frame.
pub(crate) fn read_frame(bytes: &[u8], salt: u64) -> Option<Frame<'_>> {
    let head = bytes.get(..HEADER)?;
    let mut cursor = Cursor::new(head);
    if cursor.u32()? != MAGIC {
        return None;
    }
    let sum = cursor.u32()?;
    if sum != crc32fast::hash(&head[8..]) {
        return None;
    }
    let header = FrameHeader {
        payload_len: cursor.u32()?,
        payload_sum: cursor.u32()?,
        records: cursor.u32()?,
        flags: cursor.u32()?,
        number: cursor.u64()? ^ salt,
        first_revision: Revision(cursor.u64()?),
        chain: cursor.u64()?,
        durable_up_to: cursor.u64()?,
        time: cursor.u64()?,
    };
    let payload_len = header.payload_len as usize;
    if payload_len > MAX_FRAME {
        return None;
    }
    let len = padded(HEADER + payload_len);
    let whole = bytes.get(..len)?;
    let (payload, padding) = whole.get(HEADER..)?.split_at_checked(payload_len)?;
    if crc32fast::hash(payload) != header.payload_sum || !is_zero(padding) {
        return None;
    }
    let chain = link(sum, header.payload_sum);
    Some(Frame {
        header,
        payload,
        chain,
        len,
    })
}

/// Returns whether all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<64>();
    chunks.iter().all(|chunk| *chunk == [0; 64]) && rest.iter().all(|byte| *byte == 0)
}

/// Returns the checksum of a whole frame. The checksum of its header covers the other fields.
fn link(header_sum: u32, payload_sum: u32) -> u64 {
    u64::from(header_sum) << 32 | u64::from(payload_sum)
}
