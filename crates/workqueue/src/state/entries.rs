//! The keys the queue knows, each in a slot, found by their hash.
//!
//! A key is hashed once when it is added. The hash stays with its slot, so leaving the table and growing it hash nothing
//! again. A slot's number does not change while its key is known.

use std::hash::Hash;

use hashbrown::{HashTable, hash_table::Entry as Place};

use crate::clock::Moment;

/// Slots kept when the queue has become empty; what is above is given back.
const KEPT: usize = 1 << 16;

/// What is known of one key.
#[derive(Debug)]
pub(super) struct Entry<K> {
    /// None in a free slot.
    key: Option<K>,
    hash: u32,
    /// It waits to be handed out, or will after it was handed back.
    pub(super) dirty: bool,
    /// A worker has it.
    pub(super) processing: bool,
    /// Of the add it is dirty by.
    pub(super) priority: i32,
    pub(super) tenant: u64,
    /// When it became dirty.
    pub(super) added: Moment,
    /// When it was handed out.
    pub(super) started: Moment,
}

/// All keys.
#[derive(Debug)]
pub(super) struct Entries<K> {
    slots: Vec<Entry<K>>,
    free: Vec<u32>,
    table: HashTable<Indexed>,
}

#[derive(Clone, Copy, Debug)]
struct Indexed {
    hash: u32,
    slot: u32,
}

impl<K> Entries<K> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn at(&mut self, slot: u32) -> &mut Entry<K> {
        &mut self.slots[slot as usize]
    }

    pub(super) fn peek(&self, slot: u32) -> &Entry<K> {
        &self.slots[slot as usize]
    }

    /// Frees a slot and gives its key back, for the caller to drop outside of the lock.
    pub(super) fn remove(&mut self, slot: u32) -> Option<K> {
        let entry = &mut self.slots[slot as usize];
        let key = entry.key.take();
        let found = self
            .table
            .find_entry(wide(entry.hash), |other| other.slot == slot);
        if let Ok(found) = found {
            found.remove();
            self.free.push(slot);
        }
        key
    }

    /// Gives memory back when nothing is left of what once was much. Says whether it did; all slot numbers are then void.
    pub(super) fn shrink(&mut self) -> bool {
        let vast = self.table.is_empty() && self.slots.len() > KEPT;
        if vast {
            *self = Self::new();
        }
        vast
    }
}

impl<K: Hash + Eq> Entries<K> {
    pub(super) fn find(&self, hash: u32, key: &K) -> Option<u32> {
        let found = self.table.find(wide(hash), |other| {
            other.hash == hash && self.slots[other.slot as usize].key.as_ref() == Some(key)
        });
        found.map(|found| found.slot)
    }

    /// The slot of a key, a new one if it has none; and the key again if it was not needed.
    pub(super) fn find_or_insert(&mut self, hash: u32, key: K, tenant: u64) -> (u32, Option<K>) {
        let slots = &self.slots;
        let place = self.table.entry(
            wide(hash),
            |other| other.hash == hash && slots[other.slot as usize].key.as_ref() == Some(&key),
            |other| wide(other.hash),
        );
        let vacant = match place {
            Place::Occupied(found) => return (found.get().slot, Some(key)),
            Place::Vacant(vacant) => vacant,
        };
        let entry = Entry {
            key: Some(key),
            hash,
            dirty: false,
            processing: false,
            priority: 0,
            tenant,
            added: 0,
            started: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                // 2^32 keys do not fit into memory.
                (self.slots.len() - 1) as u32
            }
        };
        vacant.insert(Indexed { hash, slot });
        (slot, None)
    }
}

impl<K> Entry<K> {
    pub(super) fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.dirty && !self.processing
    }
}

/// The table takes its place from the low bits and its tag from the high ones.
fn wide(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
