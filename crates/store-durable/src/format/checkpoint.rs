//! The format of checkpoints: every object at a revision, in compressed blocks that can be read independently.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use kubewright_store::{Revision, engine::Stored};
use ring::digest::{Context, SHA256};

use super::{
    CHECKPOINTS, FORMAT, MAX_RECORD,
    cursor::Cursor,
    record::{WallLifetime, millis},
};

const MAGIC: &[u8; 8] = b"KWCHECKP";
const END_MAGIC: &[u8; 8] = b"KWCKPEND";

/// The length of the header.
pub(crate) const HEADER: usize = 64;
/// The length of the header of a block.
pub(crate) const BLOCK_HEADER: usize = 16;
/// The length of the footer.
pub(crate) const FOOTER: usize = 56;

/// The uncompressed size of a block, unless it contains a single larger object.
const BLOCK: usize = 256 << 10;
/// The size limit of blocks.
const MAX_BLOCK: usize = MAX_RECORD + 2 * BLOCK;

const COLLECTION: u8 = 1;
const OBJECT: u8 = 2;

const HAS_REVISION_AT: u8 = 1;
const HAS_LIFETIME: u8 = 2;

/// The header of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointHeader {
    pub(crate) store: [u8; 16],
    pub(crate) revision: Revision,
    /// The oldest readable revision at the time of the checkpoint.
    pub(crate) floor: Revision,
    /// The wall-clock time in milliseconds.
    pub(crate) time: u64,
}

/// An object of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointObject {
    pub(crate) collection: Arc<str>,
    pub(crate) path: Arc<str>,
    pub(crate) revision: Revision,
    /// The bytes, with the revision spliced in.
    pub(crate) bytes: Bytes,
    pub(crate) revision_at: Option<u32>,
    pub(crate) lifetime: Option<WallLifetime>,
}

/// Encodes a checkpoint incrementally.
pub(crate) struct Encoder {
    block: Vec<u8>,
    collection: Option<Arc<str>>,
    objects: u64,
    blocks: u64,
    digest: Context,
    /// The uncompressed size.
    pub(crate) raw_bytes: u64,
}

/// The sizes in the header of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHeader {
    raw: usize,
    pub(crate) stored: usize,
    sum: u32,
}

impl CheckpointHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.store);
        for number in [self.revision.0, self.floor.0, self.time, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(out.get(16..).unwrap_or_default());
        if let Some(place) = out.get_mut(12..16) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let short = "it is shorter than a header";
        let bytes = bytes.get(..HEADER).ok_or(short)?;
        let mut cursor = Cursor::new(bytes);
        if cursor.take(8) != Some(MAGIC) {
            return Err("it does not have the magic number of a checkpoint".to_owned());
        }
        let format = cursor.u32().ok_or(short)?;
        let sum = cursor.u32().ok_or(short)?;
        if sum != crc32fast::hash(&bytes[16..]) {
            return Err("the checksum of its header is wrong".to_owned());
        }
        if format != FORMAT {
            return Err(format!(
                "it has format {format}, but this program reads format {FORMAT}"
            ));
        }
        Ok(Self {
            store: cursor.id().ok_or(short)?,
            revision: Revision(cursor.u64().ok_or(short)?),
            floor: Revision(cursor.u64().ok_or(short)?),
            time: cursor.u64().ok_or(short)?,
        })
    }
}

impl Encoder {
    /// Starts a checkpoint. Its header is appended to `out`.
    pub(crate) fn begin(header: &CheckpointHeader, out: &mut Vec<u8>) -> Self {
        let header = header.encode();
        let mut digest = Context::new(&SHA256);
        digest.update(&header);
        out.extend_from_slice(&header);
        Self {
            block: Vec::with_capacity(BLOCK),
            collection: None,
            objects: 0,
            blocks: 0,
            digest,
            raw_bytes: 0,
        }
    }

    /// Adds an object. Complete blocks are appended to `out`.
    pub(crate) fn add(
        &mut self,
        collection: &Arc<str>,
        stored: &Stored,
        deadline: u64,
        out: &mut Vec<u8>,
    ) {
        let len = stored.bytes.len() + stored.path.len() + collection.len() + 64;
        if !self.block.is_empty() && self.block.len() + len > BLOCK {
            self.flush(out);
        }
        if self.collection.as_ref() != Some(collection) {
            self.block.push(COLLECTION);
            put_bytes(&mut self.block, collection.as_bytes());
            self.collection = Some(Arc::clone(collection));
        }
        let mut flags = 0;
        if stored.revision_at.is_some() {
            flags |= HAS_REVISION_AT;
        }
        if stored.lifetime.is_some() {
            flags |= HAS_LIFETIME;
        }
        let block = &mut self.block;
        block.extend_from_slice(&[OBJECT, flags]);
        block.extend_from_slice(&stored.revision.0.to_le_bytes());
        put_bytes(block, stored.path.as_bytes());
        if let Some(at) = stored.revision_at {
            block.extend_from_slice(&at.to_le_bytes());
        }
        if let Some((ttl, _)) = stored.lifetime {
            block.extend_from_slice(&millis(ttl).to_le_bytes());
            block.extend_from_slice(&deadline.to_le_bytes());
        }
        put_bytes(block, &stored.bytes);
        self.objects += 1;
    }

    /// Completes the checkpoint.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) -> u64 {
        self.flush(out);
        out.extend_from_slice(&[0; BLOCK_HEADER]);
        out.extend_from_slice(END_MAGIC);
        for number in [self.blocks, self.objects] {
            out.extend_from_slice(&number.to_le_bytes());
            self.digest.update(&number.to_le_bytes());
        }
        out.extend_from_slice(self.digest.finish().as_ref());
        self.raw_bytes
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.block.is_empty() {
            return;
        }
        let packed = lz4_flex::block::compress(&self.block);
        let mut header = [0; BLOCK_HEADER];
        let (raw, stored) = (self.block.len() as u32, packed.len() as u32);
        header[..4].copy_from_slice(&raw.to_le_bytes());
        header[4..8].copy_from_slice(&stored.to_le_bytes());
        header[8..12].copy_from_slice(&crc32fast::hash(&packed).to_le_bytes());
        self.digest.update(&header);
        out.extend_from_slice(&header);
        out.extend_from_slice(&packed);
        self.raw_bytes += self.block.len() as u64;
        self.blocks += 1;
        self.block.clear();
        self.collection = None;
    }
}

/// Verifies a checkpoint while it is read sequentially.
pub(crate) struct Decoder {
    digest: Context,
    blocks: u64,
    objects: u64,
}

impl Decoder {
    pub(crate) fn new(header: &CheckpointHeader) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&header.encode());
        Self {
            digest,
            blocks: 0,
            objects: 0,
        }
    }

    /// Decodes the header of a block; `None` if the footer follows.
    pub(crate) fn block_header(&mut self, bytes: &[u8]) -> Result<Option<BlockHeader>, String> {
        let header = BlockHeader::decode(bytes)?;
        if header.is_some() {
            self.digest.update(bytes);
            self.blocks += 1;
        }
        Ok(header)
    }

    /// Counts objects that were read.
    pub(crate) fn count(&mut self, objects: u64) {
        self.objects += objects;
    }

    /// Verifies the footer.
    pub(crate) fn footer(mut self, bytes: &[u8]) -> Result<(), String> {
        let short = || "it is truncated".to_owned();
        let mut cursor = Cursor::new(bytes);
        if cursor.take(8) != Some(END_MAGIC) {
            return Err("its footer does not have the magic number".to_owned());
        }
        for number in [self.blocks, self.objects] {
            if cursor.u64().ok_or_else(short)? != number {
                return Err("the number of objects does not match its footer".to_owned());
            }
            self.digest.update(&number.to_le_bytes());
        }
        match cursor.take(32).ok_or_else(short)? == self.digest.finish().as_ref() {
            true => Ok(()),
            false => Err("its digest is wrong".to_owned()),
        }
    }
}

impl BlockHeader {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, String> {
        let mut cursor = Cursor::new(bytes);
        let mut number = || cursor.u32().ok_or_else(|| "it is truncated".to_owned());
        let (raw, stored, sum, rest) = (number()?, number()?, number()?, number()?);
        if (raw, stored, sum, rest) == (0, 0, 0, 0) {
            return Ok(None);
        }
        let (raw, stored) = (raw as usize, stored as usize);
        if raw == 0 || raw > MAX_BLOCK || stored > MAX_BLOCK || rest != 0 {
            return Err("a block has an impossible size".to_owned());
        }
        Ok(Some(Self { raw, stored, sum }))
    }

    /// Decompresses a block and visits its objects. Returns their number.
    pub(crate) fn read(
        self,
        packed: &[u8],
        mut visit: impl FnMut(CheckpointObject),
    ) -> Result<u64, String> {
        if crc32fast::hash(packed) != self.sum {
            return Err("the checksum of a block is wrong".to_owned());
        }
        let raw = lz4_flex::block::decompress(packed, self.raw)
            .map_err(|error| format!("a block cannot be decompressed: {error}"))?;
        let mut cursor = Cursor::new(&raw);
        let mut collection: Option<Arc<str>> = None;
        let mut objects = 0;
        while !cursor.is_empty() {
            let read = read_entry(&mut cursor, &mut collection);
            if let Some(object) = read.ok_or("a block has an invalid entry")? {
                objects += 1;
                visit(object);
            }
        }
        Ok(objects)
    }
}

/// Returns the path of a checkpoint in the data directory.
pub(crate) fn path(revision: Revision) -> String {
    format!("{CHECKPOINTS}/{:020}.ckpt", revision.0)
}

/// Parses a name in the folder of checkpoints.
pub(crate) fn parse_name(name: &str) -> Option<Revision> {
    let digits = name.strip_suffix(".ckpt")?;
    (digits.len() == 20).then(|| digits.parse().ok().map(Revision))?
}

/// Decodes the next entry of a block: `Some(None)` is the name of a collection.
fn read_entry(
    cursor: &mut Cursor<'_>,
    collection: &mut Option<Arc<str>>,
) -> Option<Option<CheckpointObject>> {
    match cursor.u8()? {
        COLLECTION => {
            let len = cursor.u32()? as usize;
            *collection = Some(cursor.text(len)?.into());
            Some(None)
        }
        OBJECT => {
            let flags = cursor.u8()?;
            let revision = Revision(cursor.u64()?);
            let len = cursor.u32()? as usize;
            let path: Arc<str> = cursor.text(len)?.into();
            let revision_at = match flags & HAS_REVISION_AT {
                0 => None,
                _ => Some(cursor.u32()?),
            };
            let lifetime = match flags & HAS_LIFETIME {
                0 => None,
                _ => Some(WallLifetime {
                    ttl: Duration::from_millis(cursor.u64()?),
                    deadline: cursor.u64()?,
                }),
            };
            let len = cursor.u32()? as usize;
            Some(Some(CheckpointObject {
                collection: Arc::clone(collection.as_ref()?),
                path,
                revision,
                bytes: Bytes::copy_from_slice(cursor.take(len)?),
                revision_at,
                lifetime,
            }))
        }
        _ => None,
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}
