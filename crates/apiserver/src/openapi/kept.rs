//! A cached document: its hash and its compressed bytes.
//!
//! Both are computed on the first request. The hash alone needs no compression: the index has the hashes of all documents, of
//! which a client then reads a few.

use std::{
    io::{BufWriter, Read, Write},
    sync::OnceLock,
};

use bytes::Bytes;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use futures_util::stream;
use ring::digest::{Context, SHA512, digest};

use crate::body::{Body, BoxError};

/// The number of bytes that are decompressed at a time.
const CHUNK: usize = 64 * 1024;

/// A cached document.
#[derive(Default)]
pub(super) struct Kept {
    seal: OnceLock<Seal>,
    packed: OnceLock<Bytes>,
}

/// The identity of a document.
#[derive(Clone)]
pub(super) struct Seal {
    /// The hash of the bytes in upper-case hexadecimal.
    pub(super) hash: String,
    /// The number of bytes.
    pub(super) length: usize,
}

impl Kept {
    /// Returns the seal of the document that `write` writes.
    pub(super) fn seal(&self, write: impl FnOnce(&mut dyn Write)) -> &Seal {
        self.seal.get_or_init(|| {
            let mut sealing = BufWriter::with_capacity(CHUNK, Sealing::new(None));
            write(&mut sealing);
            Sealing::done(sealing).0
        })
    }

    /// Returns the seal and the compressed bytes.
    pub(super) fn packed(&self, write: impl FnOnce(&mut dyn Write)) -> (&Seal, Bytes) {
        let mut sealed = None;
        let packed = self.packed.get_or_init(|| {
            let encoder = GzEncoder::new(Vec::new(), Compression::fast());
            let mut packing = BufWriter::with_capacity(CHUNK, Sealing::new(Some(encoder)));
            write(&mut packing);
            let (seal, packed) = Sealing::done(packing);
            sealed = Some(seal);
            packed
        });
        let seal = self
            .seal
            .get_or_init(|| sealed.unwrap_or_else(|| Seal::of(&unpack(packed))));
        (seal, packed.clone())
    }
}

/// A writer that hashes, counts and optionally compresses, so that a document is never in memory as a whole.
struct Sealing {
    hash: Context,
    length: usize,
    packed: Option<GzEncoder<Vec<u8>>>,
}

impl Sealing {
    fn new(packed: Option<GzEncoder<Vec<u8>>>) -> Self {
        Self {
            hash: Context::new(&SHA512),
            length: 0,
            packed,
        }
    }

    /// Writing to a hash or a vector cannot fail.
    fn done(buffered: BufWriter<Self>) -> (Seal, Bytes) {
        let Ok(sealing) = buffered.into_inner() else {
            return (Seal::of(&[]), Bytes::new());
        };
        let seal = Seal::new(sealing.hash.finish().as_ref(), sealing.length);
        let packed = sealing.packed.and_then(|encoder| encoder.finish().ok());
        // Cached bytes need no spare capacity.
        let packed = packed.unwrap_or_default().into_boxed_slice();
        (seal, packed.into())
    }
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.hash.update(bytes);
        self.length += bytes.len();
        if let Some(encoder) = &mut self.packed {
            encoder.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seal {
    pub(super) fn of(document: &[u8]) -> Self {
        Self::new(digest(&SHA512, document).as_ref(), document.len())
    }

    fn new(hash: &[u8], length: usize) -> Self {
        let digits = hash.iter().map(|byte| format!("{byte:02X}"));
        Self {
            hash: digits.collect(),
            length,
        }
    }
}

/// Decompresses the bytes while they are sent.
pub(super) fn unpacked(packed: Bytes) -> Body {
    let mut decoder = GzDecoder::new(std::io::Cursor::new(packed));
    let chunks = std::iter::from_fn(move || {
        let mut chunk = Vec::with_capacity(CHUNK);
        match decoder.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
            Ok(0) => None,
            Ok(_) => Some(Ok(Bytes::from(chunk))),
            Err(error) => Some(Err(BoxError::from(error))),
        }
    });
    Body::stream(stream::iter(chunks))
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut document = Vec::new();
    match GzDecoder::new(packed).read_to_end(&mut document) {
        Ok(_) => document,
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn compressed_documents_are_restored() {
        let kept = Kept::default();
        let document: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let (seal, packed) = kept.packed(|out| out.write_all(&document).unwrap());
        assert_eq!(seal.length, document.len());
        assert_eq!(seal.hash, Seal::of(&document).hash);
        assert!(packed.len() < document.len());
        let out = unpacked(packed).collect_up_to(usize::MAX).await.unwrap();
        assert_eq!(out.unwrap(), document);
    }

    #[test]
    fn a_seal_is_made_once() {
        let kept = Kept::default();
        kept.seal(|out| out.write_all(b"one").unwrap());
        let hash = kept.seal(|_| unreachable!()).hash.clone();
        assert_eq!(hash.len(), 128);
        assert!(hash.starts_with("05F70341078ACF6A"), "{hash}");
    }
}
