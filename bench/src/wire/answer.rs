//! An HTTP/1.1 response, parsed incrementally: the status, and the end of the body.

use std::io;

/// The maximum size of a response's head.
const LONGEST_HEAD: usize = 64 << 10;

/// A partially received response.
pub(crate) struct Answer {
    /// The status code; 0 until the head is complete.
    pub(crate) status: u16,
    /// The size of the body so far, without framing.
    pub(crate) body_bytes: u64,
    /// The received part of the head.
    head: Vec<u8>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Head,
    /// A body, or one of its chunks, with the number of remaining bytes.
    Data {
        left: u64,
        chunked: bool,
    },
    /// The line with the size of a chunk; the received part.
    Size {
        size: u64,
        extension: bool,
    },
    /// The line end after a chunk.
    ChunkEnd,
    /// After the last chunk: trailers up to an empty line, and whether the line so far is empty.
    Trailer {
        empty: bool,
    },
    Done,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self {
            status: 0,
            body_bytes: 0,
            head: Vec::new(),
            phase: Phase::Head,
        }
    }

    /// Resets for the next response on the same connection.
    pub(crate) fn reset(&mut self) {
        self.status = 0;
        self.body_bytes = 0;
        self.head.clear();
        self.phase = Phase::Head;
    }

    /// Marks the response as complete.
    pub(super) fn finish(&mut self) {
        self.phase = Phase::Done;
    }

    /// Returns whether the response is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Parses more bytes; those of the body are passed on.
    pub(crate) fn feed(&mut self, bytes: &[u8], body: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let mut rest = bytes;
        if self.phase == Phase::Head {
            rest = self.feed_head(rest)?;
        }
        while let Some((&byte, after)) = rest.split_first() {
            match self.phase {
                Phase::Head => return Ok(()),
                Phase::Data { left, chunked } => {
                    let here = usize::try_from(left).map_or(rest.len(), |n| n.min(rest.len()));
                    let (data, after) = rest.split_at(here);
                    body(data);
                    self.body_bytes += here as u64;
                    self.phase = match left - here as u64 {
                        0 if chunked => Phase::ChunkEnd,
                        0 => Phase::Done,
                        left => Phase::Data { left, chunked },
                    };
                    rest = after;
                    continue;
                }
                Phase::Size { size, extension } => {
                    self.phase = match byte {
                        b'\n' if size == 0 => Phase::Trailer { empty: true },
                        b'\n' => Phase::Data {
                            left: size,
                            chunked: true,
                        },
                        b'\r' => self.phase,
                        b';' => Phase::Size {
                            size,
                            extension: true,
                        },
                        _ if extension => self.phase,
                        digit => Phase::Size {
                            size: shift_in(size, digit)?,
                            extension,
                        },
                    }
                }
                Phase::ChunkEnd if byte == b'\n' => {
                    self.phase = Phase::Size {
                        size: 0,
                        extension: false,
                    };
                }
                Phase::ChunkEnd => {}
                Phase::Trailer { empty } => {
                    self.phase = match byte {
                        b'\n' if empty => Phase::Done,
                        b'\n' => Phase::Trailer { empty: true },
                        b'\r' => self.phase,
                        _ => Phase::Trailer { empty: false },
                    }
                }
                Phase::Done => return Err(wrong("data after the end of the response")),
            }
            rest = after;
        }
        Ok(())
    }

    /// Parses the head, and returns the bytes after it.
    fn feed_head<'a>(&mut self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        // The head nearly always arrives whole; otherwise the received part is kept.
        let kept = self.head.len();
        if kept == 0
            && let Some(end) = head_end(bytes)
        {
            self.read_head(&bytes[..end])?;
            return Ok(&bytes[end..]);
        }
        self.head.extend_from_slice(bytes);
        if self.head.len() > LONGEST_HEAD {
            return Err(wrong("the head of the response is too long"));
        }
        let Some(end) = head_end(&self.head) else {
            return Ok(&[]);
        };
        let head = std::mem::take(&mut self.head);
        self.read_head(&head[..end])?;
        Ok(bytes.get(end.saturating_sub(kept)..).unwrap_or_default())
    }

    fn read_head(&mut self, head: &[u8]) -> io::Result<()> {
        let status = head
            .strip_prefix(b"HTTP/1.1 ")
            .and_then(|rest| rest.get(..3));
        let status = status.and_then(|digits| std::str::from_utf8(digits).ok());
        self.status = status
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| wrong("not an HTTP/1.1 response"))?;
        let mut length = None;
        let mut chunked = false;
        for line in head.split(|b| *b == b'\n').skip(1) {
            // Only two headers matter, and their names differ in length from most others.
            let Some(colon) = line.iter().position(|b| *b == b':') else {
                continue;
            };
            let (name, value) = line.split_at(colon);
            if name.eq_ignore_ascii_case(b"content-length") {
                let value = std::str::from_utf8(&value[1..]).unwrap_or_default().trim();
                length = Some(
                    value
                        .parse()
                        .map_err(|_| wrong("the length is not a number"))?,
                );
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                chunked = true;
            }
        }
        self.phase = match (chunked, length) {
            (true, _) => Phase::Size {
                size: 0,
                extension: false,
            },
            (false, Some(0)) => Phase::Done,
            (false, Some(left)) => Phase::Data {
                left,
                chunked: false,
            },
            (false, None) => return Err(wrong("the response has no length")),
        };
        Ok(())
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .map(|at| at + 4)
}

fn shift_in(size: u64, digit: u8) -> io::Result<u64> {
    let value = char::from(digit)
        .to_digit(16)
        .ok_or_else(|| wrong("a chunk has no size"))?;
    let shifted = size
        .checked_mul(16)
        .ok_or_else(|| wrong("a chunk is too large"))?;
    Ok(shifted + u64::from(value))
}

fn wrong(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the result when the response arrives in pieces of every length.
    fn read(text: &str) -> (u16, String) {
        let mut last = None;
        for piece in 1..=text.len() {
            let mut answer = Answer::new();
            let mut body = Vec::new();
            for bytes in text.as_bytes().chunks(piece) {
                answer
                    .feed(bytes, &mut |data| body.extend_from_slice(data))
                    .unwrap();
            }
            assert!(answer.is_done());
            assert_eq!(answer.body_bytes, body.len() as u64);
            let read = (answer.status, String::from_utf8(body).unwrap());
            assert!(last.is_none_or(|last| last == read));
            last = Some(read);
        }
        last.unwrap()
    }

    #[test]
    fn a_length_ends_the_body() {
        let text = "HTTP/1.1 201 Created\r\nA: b\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(read(text), (201, "hello".into()));
    }

    #[test]
    fn chunks_are_put_together() {
        let text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                    3\r\nabc\r\nB;x=y\r\ndefghijklmn\r\n0\r\nt: 1\r\n\r\n";
        assert_eq!(read(text), (200, "abcdefghijklmn".into()));
    }

    #[test]
    fn malformed_responses_are_errors() {
        for text in ["SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            assert!(Answer::new().feed(text.as_bytes(), &mut |_| {}).is_err());
        }
        let twice = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab";
        assert!(Answer::new().feed(twice.as_bytes(), &mut |_| {}).is_err());
    }
}
