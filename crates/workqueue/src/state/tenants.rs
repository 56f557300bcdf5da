//! Fair turns: every tenant has a list, and tenants take turns.
//!
//! A tenant is in the ring once as long as it has a list; an emptied list leaves when its turn comes.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::links::{Links, List};

/// The slots of one level, by tenant.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    lists: HashMap<u64, List>,
    ring: VecDeque<u64>,
    len: usize,
}

impl Tenants {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, links: &mut Links, slot: u32, tenant: u64) {
        let list = self.lists.entry(tenant).or_insert_with(|| {
            self.ring.push_back(tenant);
            List::EMPTY
        });
        list.push(links, slot);
        self.len += 1;
    }

    pub(super) fn pop(&mut self, links: &mut Links) -> Option<u32> {
        while let Some(tenant) = self.ring.pop_front() {
            let Some(list) = self.lists.get_mut(&tenant) else {
                continue;
            };
            let slot = list.pop(links);
            if list.is_empty() {
                self.lists.remove(&tenant);
            } else {
                self.ring.push_back(tenant);
            }
            if slot.is_some() {
                self.len -= 1;
                return slot;
            }
        }
        None
    }

    pub(super) fn remove(&mut self, links: &mut Links, slot: u32, tenant: u64) {
        if let Some(list) = self.lists.get_mut(&tenant) {
            list.remove(links, slot);
            self.len -= 1;
        }
    }
}
