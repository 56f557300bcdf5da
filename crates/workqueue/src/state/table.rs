//! The slots by the hashes of their keys.
//!
//! A small table is one hash table. A large one is split into [`PARTS`] that grow one by one: moving the entries of one
//! part stays within the processor's caches, while moving those of a table with a million keys waits for memory at
//! every entry, which took more time than all other work of adding them.

use hashbrown::{
    HashTable,
    hash_table::{Entry, OccupiedEntry, VacantEntry},
};

/// The number of parts of a large table.
const PARTS: usize = 256;

/// The number of entries at which a table is split.
const SPLIT: usize = 1 << 14;

/// A slot with the hash of its key, so that neither growing nor most collisions look at the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    pub(super) hash: u32,
    pub(super) slot: u32,
}

/// All slots.
#[derive(Debug)]
pub(super) struct Table {
    /// One or [`PARTS`].
    parts: Vec<HashTable<Indexed>>,
    len: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            parts: vec![HashTable::new()],
            len: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot whose key has that hash and is the right one.
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let part = self.parts.get(self.part(hash))?;
        let found = part.find(wide(hash), |other| other.hash == hash && is_it(other.slot));
        found.map(|found| found.slot)
    }

    /// Returns the slot whose key has that hash and is the right one, or the position for it. After an insertion,
    /// [`added`](Self::added) has to be called.
    #[inline]
    pub(super) fn entry(
        &mut self,
        hash: u32,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Result<u32, VacantEntry<'_, Indexed>> {
        let part = self.part(hash);
        let place = self.parts[part].entry(
            wide(hash),
            |other| other.hash == hash && is_it(other.slot),
            |other| wide(other.hash),
        );
        match place {
            Entry::Occupied(found) => Ok(found.get().slot),
            Entry::Vacant(vacant) => Err(vacant),
        }
    }

    /// Counts an insertion, and splits a table that has become large.
    #[inline]
    pub(super) fn added(&mut self) {
        self.len += 1;
        if self.len == SPLIT && self.parts.len() == 1 {
            self.split();
        }
    }

    /// Removes a slot, and reports whether it was there.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let part = self.part(hash);
        let found = self.parts[part].find_entry(wide(hash), |other| other.slot == slot);
        let removed = found.map(OccupiedEntry::remove).is_ok();
        self.len -= usize::from(removed);
        removed
    }

    #[inline]
    fn part(&self, hash: u32) -> usize {
        // A hash table takes the position from the lowest bits and the tag from the highest ones.
        if self.parts.len() == 1 {
            0
        } else {
            (hash >> 17) as usize % PARTS
        }
    }

    #[cold]
    fn split(&mut self) {
        let whole = std::mem::take(&mut self.parts);
        let room = 2 * SPLIT / PARTS;
        self.parts
            .resize_with(PARTS, || HashTable::with_capacity(room));
        for indexed in whole.into_iter().flatten() {
            let part = self.part(indexed.hash);
            self.parts[part].insert_unique(wide(indexed.hash), indexed, |other| wide(other.hash));
        }
    }
}

/// The hash table takes the position from the low bits and the tag from the high ones.
#[inline]
fn wide(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(slot: u32) -> u32 {
        slot.wrapping_mul(0x9E37_79B9)
    }

    #[test]
    fn slots_are_found_before_and_after_the_split() {
        let mut table = Table::new();
        let count = 3 * SPLIT as u32;
        for slot in 0..count {
            match table.entry(hash(slot), |other| other == slot) {
                Ok(_) => panic!("{slot} is new"),
                Err(vacant) => {
                    let hash = hash(slot);
                    vacant.insert(Indexed { hash, slot });
                }
            }
            table.added();
        }
        assert_eq!(table.parts.len(), PARTS);
        for slot in 0..count {
            assert_eq!(table.find(hash(slot), |other| other == slot), Some(slot));
            assert!(table.entry(hash(slot), |other| other == slot).is_ok());
        }
        for slot in 0..count {
            assert!(table.remove(hash(slot), slot));
            assert!(!table.remove(hash(slot), slot));
            assert_eq!(table.find(hash(slot), |other| other == slot), None);
        }
        assert!(table.is_empty());
    }
}
