//! [`Bolt`]: read-only access to a bbolt file, the format of etcd's snapshots.
//!
//! A file consists of pages of equal size. Two meta pages refer to the root, of which the newer valid one is used. The root is
//! a tree of buckets, and each bucket is a tree of sorted keys. Every offset and size in the file is validated before use.

use std::cell::Cell;

/// A file of bbolt.
pub(crate) struct Bolt<'a> {
    bytes: &'a [u8],
    page_size: usize,
    root: u64,
    /// The number of pages that may still be read. A valid tree contains no page twice.
    budget: Cell<u64>,
}

/// The reason why a file is invalid.
pub(crate) type Damaged = String;

const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
/// The size of the header of pages, elements and buckets.
const HEADER: usize = 16;
/// The size of a meta page without its checksum.
const META: usize = 56;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
/// The flag of an element that is a bucket.
const BUCKET: u32 = 0x01;

/// The maximum depth of a tree. A deeper one would exceed any disk.
const MAX_DEPTH: usize = 64;

impl<'a> Bolt<'a> {
    /// Parses the meta pages.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Damaged> {
        let first = Meta::read(bytes, 0);
        // The size of a page is in the first meta page, or is guessed if that is damaged.
        let sizes = match &first {
            Some(meta) => vec![meta.page_size],
            None => (9..=16).map(|power| 1 << power).collect(),
        };
        let second = sizes.into_iter().find_map(|size| {
            let meta = Meta::read(bytes, size)?;
            (meta.page_size == size).then_some(meta)
        });
        let newest = [first, second]
            .into_iter()
            .flatten()
            .max_by_key(|meta| meta.transaction);
        let meta = newest.ok_or("it has no valid meta page, so it is not a snapshot of etcd")?;
        Ok(Self {
            bytes,
            page_size: meta.page_size,
            root: meta.root,
            budget: Cell::new(2 * (bytes.len() / meta.page_size) as u64 + 2),
        })
    }

    /// Visits the keys and values of a bucket in order.
    pub(crate) fn for_each(
        &self,
        bucket: &[u8],
        visit: &mut dyn FnMut(&'a [u8], &'a [u8]) -> Result<(), Damaged>,
    ) -> Result<(), Damaged> {
        let mut found = None;
        self.walk(self.root, 0, &mut |flags, key, value| {
            if flags & BUCKET != 0 && key == bucket {
                found = Some(value);
            }
            Ok(())
        })?;
        let name = String::from_utf8_lossy(bucket);
        let header = found.ok_or_else(|| format!("it has no bucket {name:?}"))?;
        let mut each = |flags: u32, key, value| match flags & BUCKET {
            0 => visit(key, value),
            _ => Ok(()),
        };
        match u64_at(header, 0)? {
            // A small bucket is stored inside its parent.
            0 => self.page(header.get(HEADER..).unwrap_or_default(), 0, &mut each),
            root => self.walk(root, 0, &mut each),
        }
    }

    fn walk(&self, page: u64, depth: usize, visit: &mut Visit<'_, 'a>) -> Result<(), Damaged> {
        let budget = self.budget.get().checked_sub(1);
        if depth > MAX_DEPTH || budget.is_none() {
            return Err("its pages form a loop".to_owned());
        }
        self.budget.set(budget.unwrap_or_default());
        let start = usize::try_from(page)
            .ok()
            .and_then(|page| page.checked_mul(self.page_size));
        let rest = start.and_then(|start| self.bytes.get(start..));
        let rest = rest.ok_or_else(|| format!("page {page} is outside of the file"))?;
        let overflow = u32_at(rest, 12)? as usize;
        let length = (overflow + 1).saturating_mul(self.page_size);
        let page = rest
            .get(..length)
            .ok_or_else(|| format!("page {page} is cut off"))?;
        self.page(page, depth, visit)
    }

    fn page(&self, page: &'a [u8], depth: usize, visit: &mut Visit<'_, 'a>) -> Result<(), Damaged> {
        let (flags, count) = (u16_at(page, 8)?, u16_at(page, 10)?);
        for index in 0..usize::from(count) {
            let at = HEADER + index * HEADER;
            match flags {
                BRANCH => self.walk(u64_at(page, at + 8)?, depth + 1, visit)?,
                LEAF => {
                    let start = at + u32_at(page, at + 4)? as usize;
                    let (key, value) = (
                        u32_at(page, at + 8)? as usize,
                        u32_at(page, at + 12)? as usize,
                    );
                    let cut = || "an element is outside of its page".to_owned();
                    let element = page.get(start..).ok_or_else(cut)?;
                    let key_bytes = element.get(..key).ok_or_else(cut)?;
                    let value_bytes = element.get(key..key + value).ok_or_else(cut)?;
                    visit(u32_at(page, at)?, key_bytes, value_bytes)?;
                }
                _ => return Err(format!("a page has unknown flags {flags:#x}")),
            }
        }
        Ok(())
    }
}

type Visit<'v, 'a> = dyn FnMut(u32, &'a [u8], &'a [u8]) -> Result<(), Damaged> + 'v;

/// A valid meta page.
struct Meta {
    page_size: usize,
    root: u64,
    transaction: u64,
}

impl Meta {
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let meta = bytes.get(at + HEADER..)?.get(..META + 8)?;
        let page_size = u32_at(meta, 8).ok()? as usize;
        let is_valid = u32_at(meta, 0).ok()? == MAGIC
            && u32_at(meta, 4).ok()? == VERSION
            && u64_at(meta, META).ok()? == checksum(&meta[..META])
            && (512..=1 << 16).contains(&page_size);
        is_valid.then_some(Self {
            page_size,
            root: u64_at(meta, 16).ok()?,
            transaction: u64_at(meta, 48).ok()?,
        })
    }
}

/// Returns the 64-bit FNV-1a hash.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Damaged> {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk::<N>);
    found
        .copied()
        .ok_or_else(|| "a page is truncated".to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Damaged> {
    chunk(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Damaged> {
    chunk(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Damaged> {
    chunk(bytes, at).map(u64::from_le_bytes)
}
