//! The header page of a segment, and the names of segments.

use kubewright_store::Revision;

use super::{FORMAT, PAGE, WAL, cursor::Cursor};

const MAGIC: &[u8; 8] = b"KWSEGMNT";

/// The length of the fields.
const LEN: usize = 80;

/// The size limit of segments. A frame of maximum size fits.
pub(crate) const MAX_SEGMENT: u64 = 256 << 20;

/// The header page of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store: [u8; 16],
    /// The number of the segment, from 1 on.
    pub(crate) sequence: u64,
    /// The first revision that it can hold.
    pub(crate) first_revision: Revision,
    /// A random number that is unknown to clients, so that no object can look like a frame.
    pub(crate) salt: u64,
    /// The length of the file.
    pub(crate) size: u64,
    /// The number of its first frame.
    pub(crate) first_frame: u64,
    /// The checksum of the frame before the first one.
    pub(crate) chain: u64,
}

/// The name of a segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    pub(crate) sequence: u64,
    pub(crate) first_revision: Revision,
}

impl SegmentHeader {
    pub(crate) fn name(&self) -> SegmentName {
        SegmentName {
            sequence: self.sequence,
            first_revision: self.first_revision,
        }
    }

    /// Returns the page.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE);
        page.extend_from_slice(MAGIC);
        page.extend_from_slice(&FORMAT.to_le_bytes());
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&self.store);
        for number in [
            self.sequence,
            self.first_revision.0,
            self.salt,
            self.size,
            self.first_frame,
            self.chain,
        ] {
            page.extend_from_slice(&number.to_le_bytes());
        }
        debug_assert_eq!(page.len(), LEN);
        page.resize(PAGE, 0);
        let sum = checksum(&page);
        if let Some(place) = page.get_mut(12..16) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
        page
    }

    /// Decodes a header page. The error describes the problem.
    pub(crate) fn decode(page: &[u8]) -> Result<Self, String> {
        let page = page.get(..PAGE).ok_or("it is shorter than a page")?;
        let short = "it is shorter than a page";
        let mut cursor = Cursor::new(page);
        if cursor.take(8) != Some(MAGIC) {
            return Err("it does not have the magic number of a segment".to_owned());
        }
        let format = cursor.u32().ok_or(short)?;
        let sum = cursor.u32().ok_or(short)?;
        if sum != checksum(page) {
            return Err("the checksum of its first page is wrong".to_owned());
        }
        if format != FORMAT {
            return Err(format!(
                "it has format {format}, but this program reads format {FORMAT}"
            ));
        }
        let store = cursor.id().ok_or(short)?;
        let mut number = || cursor.u64().ok_or(short);
        Ok(Self {
            store,
            sequence: number()?,
            first_revision: Revision(number()?),
            salt: number()?,
            size: number()?,
            first_frame: number()?,
            chain: number()?,
        })
    }
}

impl SegmentName {
    /// Returns the path in the data directory.
    pub(crate) fn path(&self) -> String {
        format!(
            "{WAL}/{:020}-{:020}.wal",
            self.sequence, self.first_revision.0
        )
    }

    /// Parses a name in the folder of segments.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (sequence, revision) = name.strip_suffix(".wal")?.split_once('-')?;
        if sequence.len() != 20 || revision.len() != 20 {
            return None;
        }
        Some(Self {
            sequence: sequence.parse().ok()?,
            first_revision: Revision(revision.parse().ok()?),
        })
    }
}

/// Returns the checksum of a page, excluding the checksum itself.
fn checksum(page: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(page.get(..12).unwrap_or_default());
    hasher.update(page.get(16..).unwrap_or_default());
    hasher.finalize()
}
