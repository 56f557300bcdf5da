//! The keys that the queue knows, each in a slot, found by their hash.
//!
//! A key is hashed once when it is added. The hash stays with its slot, so removing from and growing the table hash
//! nothing again. A slot's number does not change while its key is known.
//!
//! A key that is no longer used is not forgotten at once: most are added again soon, and are then found in their old slot.
//! Once [`IDLE`] of them have gathered, those that did not come again leave together. That costs a fraction of leaving
//! one by one: with a million keys every access to the table waits for memory, and these waits overlap.

use std::hash::Hash;

use super::{slots::Slots, table::Table};
use crate::clock::Moment;

/// The number of slots that an empty queue keeps; the rest is freed.
const KEPT: usize = 1 << 16;

/// The number of unused keys that may gather.
const IDLE: usize = 256;

/// The state of one key.
#[derive(Debug)]
pub(super) struct Entry<K> {
    /// `None` in a free slot.
    key: Option<K>,
    hash: u32,
    /// The key waits to be handed out, or will once it is finished.
    pub(super) dirty: bool,
    /// A worker has the key.
    pub(super) processing: bool,
    /// The slot is in the list of those to forget.
    retiring: bool,
    /// The priority of the add that made it dirty.
    pub(super) priority: i32,
    pub(super) tenant: u64,
    /// The time at which it became dirty.
    pub(super) added: Moment,
    /// The time at which it was handed out.
    pub(super) started: Moment,
}

/// All keys.
#[derive(Debug)]
pub(super) struct Entries<K> {
    slots: Slots<Entry<K>>,
    free: Vec<u32>,
    table: Table,
    /// Slots whose keys are to be forgotten, unless they came again meanwhile.
    retiring: Vec<u32>,
}

impl<K> Entries<K> {
    pub(super) fn new() -> Self {
        Self {
            slots: Slots::new(),
            free: Vec::new(),
            table: Table::new(),
            retiring: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> &mut Entry<K> {
        self.slots.at(slot)
    }

    #[inline]
    pub(super) fn peek(&self, slot: u32) -> &Entry<K> {
        self.slots.peek(slot)
    }

    /// Marks a key as unused. Reports whether it is time to [forget](Self::forget).
    #[inline]
    pub(super) fn retire(&mut self, slot: u32) -> bool {
        let entry = self.slots.at(slot);
        if !entry.retiring {
            entry.retiring = true;
            self.retiring.push(slot);
        }
        self.retiring.len() >= IDLE
    }

    /// Forgets the retired keys that are not in use again. The caller drops them outside the lock.
    #[cold]
    pub(super) fn forget(&mut self, in_use: impl Fn(u32) -> bool, forgotten: &mut Vec<K>) {
        forgotten.reserve(self.retiring.len());
        let slots = &self.slots;
        let hashes = self.retiring.iter().map(|slot| slots.peek(*slot).hash);
        std::hint::black_box(self.table.touch(hashes));
        for slot in self.retiring.drain(..) {
            let entry = self.slots.at(slot);
            entry.retiring = false;
            if !entry.is_idle() || in_use(slot) {
                continue;
            }
            if self.table.remove(entry.hash, slot) {
                forgotten.extend(entry.key.take());
                self.free.push(slot);
            }
        }
        // The queue was large and is empty now: all slot numbers are void.
        if self.table.is_empty() && self.slots.len() > KEPT {
            *self = Self::new();
        }
    }

    /// Reports whether no slot is in use, so that the memory of slots can be freed.
    pub(super) fn is_void(&self) -> bool {
        self.slots.len() == 0
    }
}

impl<K: Hash + Eq> Entries<K> {
    pub(super) fn find(&self, hash: u32, key: &K) -> Option<u32> {
        let slots = &self.slots;
        self.table
            .find(hash, |slot| slots.peek(slot).key() == Some(key))
    }

    /// Returns the slot of a key, creating one if necessary, and the key itself if it was not needed.
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: u32, key: K, tenant: u64) -> (u32, Option<K>) {
        let slots = &self.slots;
        let place = self
            .table
            .entry(hash, |slot| slots.peek(slot).key() == Some(&key));
        let vacancy = match place {
            Ok(slot) => {
                let entry = self.slots.at(slot);
                if entry.is_idle() {
                    entry.tenant = tenant;
                }
                return (slot, Some(key));
            }
            Err(vacancy) => vacancy,
        };
        let entry = Entry {
            key: Some(key),
            hash,
            dirty: false,
            processing: false,
            retiring: false,
            priority: 0,
            tenant,
            added: 0,
            started: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                *self.slots.at(slot) = entry;
                slot
            }
            None => self.slots.push(entry),
        };
        self.table.fill(vacancy, slot);
        (slot, None)
    }
}

impl<K> Entry<K> {
    #[inline]
    pub(super) fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        !self.dirty && !self.processing
    }
}
