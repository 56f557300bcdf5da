//! The slots by the hashes of their keys.
//!
//! With a million keys every access to the table waits for memory, so it is laid out for one wait per operation: hash
//! and slot lie side by side in one array, and collisions are in the next cells of the same cache line. Removing moves
//! later cells back instead of leaving marks.
//!
//! A small table is one array. A large one is split into [`PARTS`] that grow one by one: moving the cells of one part
//! stays within the processor's caches, while moving those of a table with a million keys took more time than all
//! other work of adding them.

/// The number of parts of a large table.
const PARTS: usize = 256;

/// The number of entries at which a table is split: as many as fit into the cache of a processor core.
const SPLIT: usize = 1 << 15;

/// The number of cells of the smallest part that is not empty.
const SMALLEST: usize = 16;

/// A slot with the hash of its key, so that neither growing nor most collisions access the slots.
#[derive(Clone, Copy, Debug)]
struct Cell {
    hash: u32,
    /// [`NO_SLOT`] if the cell is empty.
    slot: u32,
}

/// No queue has that many keys.
const NO_SLOT: u32 = u32::MAX;

/// An empty cell for a new slot. Void after any change of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vacancy {
    hash: u32,
    part: usize,
    at: usize,
}

/// All slots.
#[derive(Debug)]
pub(super) struct Table {
    /// One or [`PARTS`].
    parts: Vec<Part>,
    len: usize,
}

/// Cells with linear probing. At least half of them are empty, so that most keys are in their first cell.
#[derive(Debug, Default)]
struct Part {
    /// Empty or a power of two.
    cells: Vec<Cell>,
    len: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            parts: vec![Part::default()],
            len: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot whose key has that hash and is the right one.
    pub(super) fn find(&self, hash: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.parts[self.part(hash)].search(hash, is_it).ok()
    }

    /// Returns the slot whose key has that hash and is the right one, or the cell to [`fill`](Self::fill) with it.
    #[inline]
    pub(super) fn entry(
        &mut self,
        hash: u32,
        is_it: impl FnMut(u32) -> bool,
    ) -> Result<u32, Vacancy> {
        let part = self.part(hash);
        self.parts[part].make_room();
        let found = self.parts[part].search(hash, is_it);
        found.map_err(|at| Vacancy { hash, part, at })
    }

    /// Fills a cell that [`entry`](Self::entry) has just returned, and splits a table that has become large.
    #[inline]
    pub(super) fn fill(&mut self, vacancy: Vacancy, slot: u32) {
        let Vacancy { hash, part, at } = vacancy;
        let part = &mut self.parts[part];
        part.cells[at] = Cell { hash, slot };
        part.len += 1;
        self.len += 1;
        if self.len == SPLIT && self.parts.len() == 1 {
            self.split();
        }
    }

    /// Removes a slot, and reports whether it was there.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let part = self.part(hash);
        let removed = self.parts[part].remove(hash, slot);
        self.len -= usize::from(removed);
        removed
    }

    /// Reads the cells of these hashes in a large table, and returns a number made of them. If many are to be removed,
    /// the processor fetches them all at once this way, while a removal keeps it from looking ahead to the next.
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u32>) -> u32 {
        if self.parts.len() == 1 {
            return 0;
        }
        hashes.fold(0, |sum, hash| {
            let part = &self.parts[self.part(hash)];
            let cell = part.cells.get(part.home(hash));
            sum ^ cell.map_or(0, |cell| cell.slot)
        })
    }

    #[inline]
    fn part(&self, hash: u32) -> usize {
        // A part takes the position from the low bits.
        if self.parts.len() == 1 {
            0
        } else {
            (hash >> 24) as usize % PARTS
        }
    }

    #[cold]
    fn split(&mut self) {
        let whole = std::mem::take(&mut self.parts);
        self.parts
            .resize_with(PARTS, || Part::with_cells(4 * SPLIT / PARTS));
        for cell in whole.into_iter().flat_map(|part| part.cells) {
            if cell.slot != NO_SLOT {
                let part = self.part(cell.hash);
                self.parts[part].make_room();
                self.parts[part].insert(cell);
            }
        }
    }
}

impl Part {
    fn with_cells(count: usize) -> Self {
        Self {
            cells: vec![Cell::EMPTY; count],
            len: 0,
        }
    }

    /// Returns the first cell for a hash.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask()
    }

    #[inline]
    fn mask(&self) -> usize {
        self.cells.len().wrapping_sub(1)
    }

    /// Returns the right slot, or the empty cell where it would be.
    #[inline]
    fn search(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Result<u32, usize> {
        let mut at = self.home(hash);
        while let Some(cell) = self.cells.get(at) {
            if cell.slot == NO_SLOT {
                break;
            }
            if cell.hash == hash && is_it(cell.slot) {
                return Ok(cell.slot);
            }
            at = (at + 1) & self.mask();
        }
        Err(at)
    }

    /// Grows if one more would be too many.
    #[inline]
    fn make_room(&mut self) {
        if 2 * (self.len + 1) > self.cells.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = (2 * self.cells.len()).max(SMALLEST);
        let old = std::mem::replace(self, Self::with_cells(count));
        for cell in old.cells {
            if cell.slot != NO_SLOT {
                self.insert(cell);
            }
        }
    }

    /// Inserts a slot that is not there, if there is room.
    fn insert(&mut self, cell: Cell) {
        if let Err(at) = self.search(cell.hash, |_| false) {
            self.cells[at] = cell;
            self.len += 1;
        }
    }

    fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let mask = self.mask();
        let mut hole = self.home(hash);
        loop {
            match self.cells.get(hole) {
                Some(cell) if cell.slot == slot => break,
                Some(cell) if cell.slot != NO_SLOT => hole = (hole + 1) & mask,
                _ => return false,
            }
        }
        self.len -= 1;
        // Later cells move into the hole, unless they would come to lie before their first cell.
        let mut next = (hole + 1) & mask;
        while self.cells[next].slot != NO_SLOT {
            let cell = self.cells[next];
            let from_home = next.wrapping_sub(self.home(cell.hash)) & mask;
            let from_hole = next.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.cells[hole] = cell;
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.cells[hole] = Cell::EMPTY;
        true
    }
}

impl Cell {
    const EMPTY: Self = Self {
        hash: 0,
        slot: NO_SLOT,
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn hash(slot: u32) -> u32 {
        slot.wrapping_mul(0x9E37_79B9)
    }

    fn insert(table: &mut Table, hash: u32, slot: u32) {
        match table.entry(hash, |other| other == slot) {
            Ok(_) => panic!("{slot} is new"),
            Err(vacancy) => table.fill(vacancy, slot),
        }
    }

    #[test]
    fn slots_are_found_before_and_after_the_split() {
        let mut table = Table::new();
        let count = 3 * SPLIT as u32;
        for slot in 0..count {
            insert(&mut table, hash(slot), slot);
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

    proptest! {
        /// With few different hashes, cells wrap around the end and move into holes.
        #[test]
        fn it_is_a_map_however_hashes_collide(
            steps in prop::collection::vec((0u32..40, any::<bool>()), 0..400),
            spread in prop::sample::select(&[1u32, 3, 7, 0x0100_0000, 0x9E37_79B9][..]),
        ) {
            let (mut table, mut model) = (Table::new(), BTreeMap::new());
            for (slot, add) in steps {
                let hash = (slot / 4).wrapping_mul(spread).wrapping_sub(3);
                if !add {
                    prop_assert_eq!(table.remove(hash, slot), model.remove(&slot).is_some());
                } else if model.insert(slot, hash).is_none() {
                    insert(&mut table, hash, slot);
                }
                for (slot, hash) in &model {
                    prop_assert_eq!(table.find(*hash, |other| other == *slot), Some(*slot));
                }
                prop_assert_eq!(table.is_empty(), model.is_empty());
            }
        }
    }
}
