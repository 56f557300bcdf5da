//! Header blocks.

use std::io;

use miniz_oxide::inflate::{
    TINFLStatus,
    core::{DecompressorOxide, decompress, inflate_flags},
};

use super::dictionary::{CHECKSUM, DICTIONARY};
use crate::connection::u32_at;

/// The largest block, compressed or decompressed.
pub(super) const MAX_BLOCK: usize = 64 << 10;
/// The largest number of headers in a block.
const MAX_HEADERS: u32 = 100;
/// The window size of the compression.
const WINDOW: usize = 32 << 10;

/// The headers of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Returns the value of a header by its lower-case name; empty if it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Decompresses the header blocks of a connection.
pub(super) struct Decompressor {
    state: Box<DecompressorOxide>,
    /// The dictionary, followed by the latest decompressed bytes.
    history: Vec<u8>,
    /// Whether the zlib header was read.
    begun: bool,
}

impl Decompressor {
    pub(super) fn new() -> Self {
        Self {
            state: Box::default(),
            history: DICTIONARY.clone(),
            begun: false,
        }
    }

    /// Decompresses a block and parses its headers.
    ///
    /// # Errors
    ///
    /// Fails if the block is invalid or too large, after which the decompressor is unusable.
    pub(super) fn read(&mut self, mut block: &[u8]) -> io::Result<Headers> {
        if !self.begun {
            block = after_head(block)?;
            self.begun = true;
        }
        if self.history.len() > 2 * WINDOW {
            let surplus = self.history.len() - WINDOW;
            self.history.drain(..surplus);
        }
        let start = self.history.len();
        let flags = inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
            | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut end = start;
        loop {
            if end - start > MAX_BLOCK {
                return Err(invalid("a block of headers is too large"));
            }
            self.history.resize(end + (4 << 10), 0);
            let (status, read, written) =
                decompress(&mut self.state, block, &mut self.history, end, flags);
            block = block.get(read..).unwrap_or_default();
            end += written;
            match status {
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if block.is_empty() => break,
                _ => return Err(invalid("a block of headers cannot be decompressed")),
            }
        }
        self.history.truncate(end);
        parse(&self.history[start..])
    }
}

/// Returns the bytes after the zlib header, which may name the dictionary.
fn after_head(block: &[u8]) -> io::Result<&[u8]> {
    let (head, rest) = block
        .split_at_checked(2)
        .ok_or_else(|| invalid("a block of headers is too short"))?;
    let check = u32::from(head[0]) << 8 | u32::from(head[1]);
    if head[0] & 0x0f != 8 || check % 31 != 0 {
        return Err(invalid("a block of headers is not compressed"));
    }
    match head[1] & 0x20 {
        0 => Ok(rest),
        _ if u32_at(rest, 0) == CHECKSUM => Ok(rest.get(4..).unwrap_or_default()),
        _ => Err(invalid("a block of headers has another dictionary")),
    }
}

fn parse(mut block: &[u8]) -> io::Result<Headers> {
    let count = number(&mut block)?;
    if count > MAX_HEADERS {
        return Err(invalid("a block has too many headers"));
    }
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = text(&mut block)?.to_ascii_lowercase();
        // Multiple values of a header are separated by zeros; the first one is used.
        let value = text(&mut block)?;
        let value = value.split('\0').next().unwrap_or_default();
        headers.push((name, value.to_owned()));
    }
    Ok(Headers(headers))
}

fn number(block: &mut &[u8]) -> io::Result<u32> {
    let (four, rest) = block
        .split_first_chunk::<4>()
        .ok_or_else(|| invalid("a block of headers is too short"))?;
    *block = rest;
    Ok(u32::from_be_bytes(*four))
}

fn text(block: &mut &[u8]) -> io::Result<String> {
    let length = number(block)? as usize;
    let (text, rest) = block
        .split_at_checked(length)
        .ok_or_else(|| invalid("a block of headers is too short"))?;
    *block = rest;
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Writes header blocks. They are few and small, so that they are stored without compression.
#[derive(Default)]
pub(super) struct Compressor {
    begun: bool,
}

impl Compressor {
    /// Returns a block with these headers.
    pub(super) fn write(&mut self, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend_from_slice(&(text.len() as u32).to_be_bytes());
            plain.extend_from_slice(text.as_bytes());
        }
        let mut block = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            block.extend_from_slice(&[0x78, 0x01]);
        }
        for stored in plain.chunks(usize::from(u16::MAX)) {
            let length = stored.len() as u16;
            block.push(0);
            block.extend_from_slice(&length.to_le_bytes());
            block.extend_from_slice(&(!length).to_le_bytes());
            block.extend_from_slice(stored);
        }
        // An empty block makes decompressors return their output, like a flush.
        block.extend_from_slice(&[0, 0, 0, 0xff, 0xff]);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compresses with the dictionary, as clients do.
    fn with_dictionary(headers: &[(&str, &str)]) -> Vec<u8> {
        let mut block = vec![0x78, 0xbb];
        block.extend_from_slice(&CHECKSUM.to_be_bytes());
        let stored = Compressor { begun: true }.write(headers);
        block.extend_from_slice(&stored);
        block
    }

    #[test]
    fn consecutive_blocks_are_decoded() {
        let mut decompressor = Decompressor::new();
        let first = decompressor
            .read(&with_dictionary(&[
                ("StreamType", "stdin"),
                ("port", "80\081"),
            ]))
            .unwrap();
        assert_eq!(first.get("streamtype"), "stdin");
        assert_eq!(first.get("port"), "80");
        assert_eq!(first.get("none"), "");
        let second = Compressor { begun: true }.write(&[("streamtype", "error")]);
        let second = decompressor.read(&second).unwrap();
        assert_eq!(second.get("streamtype"), "error");
    }

    #[test]
    fn blocks_refer_to_the_dictionary_and_earlier_blocks() {
        // Created by zlib with the dictionary, as consecutive blocks.
        let first = [
            0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x02, 0xe5, 0x0e, 0x2c, 0x85, 0x09, 0x17, 0xc2,
            0x15, 0xe0, 0x54, 0x58, 0x52, 0x94, 0x9a, 0x98, 0x0b, 0x95, 0x63, 0x2d, 0x2e, 0x01,
            0xe6, 0x18, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
        ];
        let second = [
            0xc2, 0xa1, 0x91, 0x13, 0x1e, 0x18, 0x18, 0xfa, 0x80, 0xf9, 0x20, 0x25, 0xbf, 0xb4,
            0x04, 0x00, 0x00, 0x00, 0xff, 0xff,
        ];
        let mut decompressor = Decompressor::new();
        let headers = decompressor.read(&first).unwrap();
        assert_eq!(headers.get("content-type"), "text/plain");
        assert_eq!(headers.get("streamtype"), "stdin");
        let headers = decompressor.read(&second).unwrap();
        assert_eq!(headers.get("content-type"), "text/html");
        assert_eq!(headers.get("streamtype"), "stdout");
    }

    #[test]
    fn invalid_blocks_are_rejected() {
        let huge = Compressor { begun: true }.write(&[("a", &"b".repeat(MAX_BLOCK + 8192))]);
        let mut many = vec![0x78, 0x01, 0, 4, 0, !4, 0xff];
        many.extend_from_slice(&[0xff; 4]);
        let other_dictionary = [0x78, 0xbb, 1, 2, 3, 4, 0];
        let head: &[u8] = &[0x78, 0x01];
        for block in [
            &[][..],
            b"GET / HTTP/1.1",
            &other_dictionary,
            &[head, &huge].concat(),
            &many,
            // A length that exceeds the block.
            &[head, &[0, 8, 0, !8, 0xff, 0, 0, 0, 1, 0, 0, 0, 9]].concat(),
        ] {
            assert!(Decompressor::new().read(block).is_err(), "{block:?}");
        }
    }
}
