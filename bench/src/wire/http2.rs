//! HTTP/2 in the least number of bytes: one stream at a time, and a window that is never full.
//!
//! Requests are frames prepared by [`request`]; the connection fills in the number of the stream. Of a response only the
//! status and the length of the data are parsed. The header table has no room, so the status is always spelled out. A
//! connection may receive 2 GB, after which the server would wait for a larger window.

use std::io;

use super::Answer;

/// The bytes that a client sends first: the preface, settings without a header table and with the largest window, and
/// the same window for the whole connection.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \x00\x00\x12\x04\x00\x00\x00\x00\x00\
    \x00\x01\x00\x00\x00\x00\
    \x00\x02\x00\x00\x00\x00\
    \x00\x04\x7f\xff\xff\xff\
    \x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xfe\xff\xff";

/// The acknowledgement of the server's settings.
pub(super) const ACKNOWLEDGE: &[u8] = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 32;

/// The length of a frame's head.
const HEAD: usize = 9;
/// The largest frame that servers accept by default.
const LARGEST: usize = 16 << 10;

/// Returns the frames of a request, without a stream number.
pub(crate) fn request(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        // A literal that is not indexed, with a new name.
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend_from_slice(text.as_bytes());
        }
    }
    let mut frames = Vec::new();
    let end = if body.is_empty() { END_STREAM } else { 0 };
    frame(&mut frames, HEADERS, END_HEADERS | end, &block);
    let mut chunks = body.chunks(LARGEST).peekable();
    while let Some(chunk) = chunks.next() {
        let end = if chunks.peek().is_none() {
            END_STREAM
        } else {
            0
        };
        frame(&mut frames, DATA, end, chunk);
    }
    frames
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags, 0, 0, 0, 0]);
    out.extend_from_slice(payload);
}

/// Writes the length of a string, with a prefix of seven bits.
fn length(out: &mut Vec<u8>, length: usize) {
    if length < 127 {
        out.push(length as u8);
        return;
    }
    out.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        out.push(rest as u8 | 128);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Writes the number of the stream into the frames of a request.
pub(super) fn number(frames: &mut [u8], stream: u32) {
    let mut at = 0;
    while let Some(head) = frames.get_mut(at..at + HEAD) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        head[5..].copy_from_slice(&stream.to_be_bytes());
        at += HEAD + length as usize;
    }
}

/// The frames of a connection, parsed incrementally.
#[derive(Default)]
pub(super) struct Frames {
    /// The received part of a frame's head, or of the payload of a short frame.
    partial: Vec<u8>,
    /// The frame whose payload arrives.
    current: Option<Frame>,
    /// True once the server's settings have arrived.
    pub(super) settled: bool,
}

struct Frame {
    kind: u8,
    flags: u8,
    left: usize,
}

impl Frames {
    /// Parses more bytes; those of the body are passed on.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        answer: &mut Answer,
        body: &mut impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            let Some(frame) = &mut self.current else {
                let missing = HEAD - self.partial.len();
                let here = missing.min(rest.len());
                self.partial.extend_from_slice(&rest[..here]);
                rest = &rest[here..];
                if here < missing {
                    return Ok(());
                }
                let head = &self.partial;
                self.current = Some(Frame {
                    kind: head[3],
                    flags: head[4],
                    left: u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize,
                });
                self.partial.clear();
                continue;
            };
            let here = frame.left.min(rest.len());
            let (payload, after) = rest.split_at(here);
            rest = after;
            frame.left -= here;
            // Servers do not pad data, so its payload is passed on as it arrives.
            if frame.kind == DATA && frame.flags & PADDED == 0 {
                if here > 0 {
                    body(payload);
                    answer.body_bytes += here as u64;
                }
            } else {
                self.partial.extend_from_slice(payload);
            }
            if frame.left > 0 {
                return Ok(());
            }
            let (kind, flags) = (frame.kind, frame.flags);
            self.current = None;
            let payload = std::mem::take(&mut self.partial);
            self.ended(kind, flags, &payload, answer)?;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn ended(
        &mut self,
        kind: u8,
        flags: u8,
        payload: &[u8],
        answer: &mut Answer,
    ) -> io::Result<()> {
        match kind {
            HEADERS if answer.status == 0 => {
                let skip =
                    usize::from(flags & PADDED > 0) + if flags & PRIORITY > 0 { 5 } else { 0 };
                let block = payload.get(skip..).unwrap_or_default();
                answer.status =
                    status(block).ok_or_else(|| wrong("a response without a status"))?;
            }
            SETTINGS if flags & ACK == 0 => self.settled = true,
            DATA if flags & PADDED > 0 => return Err(wrong("padded data")),
            RESET => return Err(wrong("the server reset the stream")),
            GO_AWAY => return Err(wrong("the server closes the connection")),
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM > 0 {
            answer.finish();
        }
        Ok(())
    }
}

/// Reads the status, which is the first field of a response.
fn status(block: &[u8]) -> Option<u16> {
    /// The statuses of the static table, from index 8.
    const KNOWN: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    // Changes of the table's size come before the first field.
    let updates = block.iter().take_while(|byte| **byte & 0xe0 == 0x20);
    let block = block.get(updates.count()..)?;
    let (first, rest) = block.split_first()?;
    if first & 0x80 > 0 {
        let index = usize::from(first & 0x7f).checked_sub(8)?;
        return KNOWN.get(index).copied();
    }
    let index = if first & 0x40 > 0 {
        first & 0x3f
    } else {
        first & 0x0f
    };
    if !(8..=14).contains(&index) {
        return None;
    }
    let (length, value) = rest.split_first()?;
    let value = value.get(..usize::from(length & 0x7f))?;
    if length & 0x80 == 0 {
        return std::str::from_utf8(value).ok()?.parse().ok();
    }
    huffman_digits(value)
}

/// Reads a number of three digits in the Huffman code of HPACK: `0`, `1` and `2` have five bits, the others six.
fn huffman_digits(value: &[u8]) -> Option<u16> {
    let mut bits = 0_u32;
    for index in 0..4 {
        bits = bits << 8 | u32::from(value.get(index).copied().unwrap_or(0xff));
    }
    let mut number = 0;
    for _ in 0..3 {
        let five = bits >> 27;
        let digit = if five <= 2 {
            bits <<= 5;
            five
        } else {
            let six = bits >> 26;
            bits <<= 6;
            six.checked_sub(0b01_1001)? + 3
        };
        if digit > 9 {
            return None;
        }
        number = number * 10 + digit;
    }
    u16::try_from(number).ok()
}

fn wrong(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_in_every_form() {
        assert_eq!(status(b"\x88"), Some(200));
        assert_eq!(status(b"\x20\x8d"), Some(404));
        assert_eq!(status(b"\x48\x03201"), Some(201));
        assert_eq!(status(b"\x08\x03409"), Some(409));
        // 201, 409 and 429 in Huffman's code.
        assert_eq!(status(b"\x48\x82\x10\x03"), Some(201));
        assert_eq!(status(b"\x48\x83\x68\x0f\xff"), Some(409));
        assert_eq!(status(b"\x48\x83\x68\x4f\xff"), Some(429));
        assert_eq!(status(b"\x82"), None);
    }

    #[test]
    fn a_response_may_arrive_in_any_pieces() {
        let mut bytes = Vec::new();
        frame(&mut bytes, SETTINGS, 0, b"\x00\x03\x00\x00\x00\x64");
        frame(&mut bytes, HEADERS, END_HEADERS, b"\x88");
        frame(&mut bytes, DATA, 0, b"hello ");
        frame(&mut bytes, 8, 0, b"\x00\x00\x00\x10");
        frame(&mut bytes, DATA, END_STREAM, b"world");
        for size in 1..=bytes.len() {
            let mut frames = Frames::default();
            let mut answer = Answer::new();
            let mut body = Vec::new();
            for piece in bytes.chunks(size) {
                assert!(!answer.is_done());
                let mut keep = |data: &[u8]| body.extend_from_slice(data);
                frames.feed(piece, &mut answer, &mut keep).unwrap();
            }
            assert!(answer.is_done() && frames.settled);
            assert_eq!((answer.status, &body[..]), (200, &b"hello world"[..]));
        }
    }

    #[test]
    fn the_stream_is_numbered_in_every_frame() {
        let mut frames = request(&[(":method", "POST")], &[1; LARGEST + 1]);
        number(&mut frames, 7);
        let second = HEAD + 1 + 1 + 7 + 1 + 4;
        assert_eq!(frames[5..9], [0, 0, 0, 7]);
        assert_eq!(
            frames[second..second + 9],
            [0, 0x40, 0, DATA, 0, 0, 0, 0, 7]
        );
        assert!(frames.ends_with(&[0, 0, 1, DATA, END_STREAM, 0, 0, 0, 7, 1]));
    }
}
