//! A sorted run of keys and values: the content of a node of the tree.
//!
//! Keys are long, similar and elsewhere in memory, so that comparing one costs more than comparing ten numbers. Each item
//! therefore has a *digest*: the eight bytes of its key after those that all keys of the run share. A search compares digests,
//! and keys only if they are equal.
//!
//! Invariants: keys ascend; all share their first `skip` bytes; each digest is that of its key after `skip`.

use std::{borrow::Borrow, cmp::Ordering};

/// The maximum number of items.
pub(super) const FULL: usize = 32;

/// The key of a search.
pub(in super::super) trait Probe: Ord {
    /// Returns the number of leading bytes that both have in common.
    fn shared(&self, other: &Self) -> usize;
    /// Returns a number that orders keys with the same first `skip` bytes as they are ordered, or not at all.
    fn digest(&self, skip: usize) -> u64;
}

/// A sorted run.
#[derive(Clone)]
pub(super) struct Run<K, T> {
    skip: usize,
    items: Vec<Item<K, T>>,
}

/// A key and its value.
#[derive(Clone)]
pub(super) struct Item<K, T> {
    digest: u64,
    pub(super) key: K,
    pub(super) value: T,
}

impl<K, T> Run<K, T> {
    pub(super) fn items(&self) -> &[Item<K, T>] {
        &self.items
    }

    pub(super) fn value_mut(&mut self, at: usize) -> Option<&mut T> {
        self.items.get_mut(at).map(|item| &mut item.value)
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn remove(&mut self, at: usize) -> T {
        self.items.remove(at).value
    }

    /// Returns the position of a key, or the position where it belongs.
    pub(super) fn search<Q: Probe + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let Some(first) = self.items.first() else {
            return Err(0);
        };
        if self.skip > 0 && key.shared(first.key.borrow()) < self.skip {
            // It differs in the shared prefix, so it is before or after all keys.
            return Err(match key.cmp(first.key.borrow()) {
                Ordering::Greater => self.items.len(),
                _ => 0,
            });
        }
        self.search_alike(key)
    }

    /// Returns the position of a key that shares the common prefix. For other keys the result is meaningless.
    pub(super) fn search_alike<Q: Probe + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let digest = key.digest(self.skip);
        let from = self.items.partition_point(|item| item.digest < digest);
        let rest = self.items.get(from..).unwrap_or_default();
        let equal = rest.partition_point(|item| item.digest == digest);
        rest.get(..equal)
            .unwrap_or_default()
            .binary_search_by(|item| item.key.borrow().cmp(key))
            .map(|at| from + at)
            .map_err(|at| from + at)
    }
}

impl<K: Clone, T> Run<K, T> {
    pub(super) fn of<Q: Probe + ?Sized>(items: impl IntoIterator<Item = (K, T)>) -> Self
    where
        K: Borrow<Q>,
    {
        let items = items.into_iter().map(|(key, value)| Item {
            digest: 0,
            key,
            value,
        });
        let mut run = Self {
            skip: 0,
            items: items.collect(),
        };
        run.digest();
        run
    }

    /// Inserts an item. A full run is split, and its right half returned. `last`: nothing in the tree is to the right of this
    /// run; then a write to its end leaves it full, so that keys written in order pack densely.
    pub(super) fn insert<Q: Probe + ?Sized>(
        &mut self,
        at: usize,
        key: K,
        value: T,
        last: bool,
    ) -> Option<Self>
    where
        K: Borrow<Q>,
    {
        if self.items.len() < FULL {
            self.position(at, key, value);
            return None;
        }
        if last && at == self.items.len() {
            return Some(Self::of([(key, value)]));
        }
        let split = FULL / 2;
        let mut right = Self {
            skip: 0,
            items: self.items.split_off(split),
        };
        self.digest();
        right.digest();
        if at <= split {
            self.position(at, key, value);
        } else {
            right.position(at - split, key, value);
        }
        Some(right)
    }

    /// Lowers the first key.
    pub(super) fn lower<Q: Probe + ?Sized>(&mut self, key: K)
    where
        K: Borrow<Q>,
    {
        if let Some(first) = self.items.first_mut() {
            first.key = key;
            self.digest();
        }
    }

    /// Appends a run whose keys are all greater.
    pub(super) fn append<Q: Probe + ?Sized>(&mut self, other: Self)
    where
        K: Borrow<Q>,
    {
        self.items.extend(other.items);
        self.digest();
    }

    fn position<Q: Probe + ?Sized>(&mut self, at: usize, key: K, value: T)
    where
        K: Borrow<Q>,
    {
        let shared = match self.items.first() {
            Some(first) => first.key.borrow().shared(key.borrow()),
            None => 0,
        };
        let digest = key.borrow().digest(self.skip);
        let item = Item { digest, key, value };
        self.items.insert(at, item);
        if shared < self.skip || self.items.len() <= 2 {
            self.digest();
        }
    }

    /// Computes the shared prefix and all digests.
    fn digest<Q: Probe + ?Sized>(&mut self)
    where
        K: Borrow<Q>,
    {
        self.skip = match (self.items.first(), self.items.last()) {
            (Some(first), Some(last)) => first.key.borrow().shared(last.key.borrow()),
            _ => 0,
        };
        for item in &mut self.items {
            item.digest = item.key.borrow().digest(self.skip);
        }
    }
}

impl Probe for str {
    fn shared(&self, other: &Self) -> usize {
        let pairs = self.as_bytes().iter().zip(other.as_bytes());
        pairs.take_while(|(a, b)| a == b).count()
    }

    fn digest(&self, skip: usize) -> u64 {
        let rest = self.as_bytes().get(skip..).unwrap_or_default();
        match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => {
                let mut bytes = [0; 8];
                bytes
                    .iter_mut()
                    .zip(rest)
                    .for_each(|(to, from)| *to = *from);
                u64::from_be_bytes(bytes)
            }
        }
    }
}
