//! The keys that can be handed out, in order.
//!
//! There is one level for each priority, the highest first; within a level, first in, first out, or tenants in turn. So
//! that nothing starves, every n-th turn goes to a lower level: to the next one below the level that had the last such
//! turn, wrapping from the lowest to the second highest.

use std::collections::BTreeMap;

use super::{
    links::{Links, List},
    tenants::Tenants,
};

/// The number of empty levels that are kept, so that a priority used again and again costs no allocation.
const KEPT: usize = 8;

/// The slots to hand out.
#[derive(Debug)]
pub(super) struct Ready {
    /// Priority 0, the most common one.
    normal: Level,
    /// All other priorities.
    others: BTreeMap<i32, Level>,
    len: usize,
    /// The number of levels in `others` that are not empty.
    busy: usize,
    fair: bool,
    /// The interval of turns for lower levels; 0 disables them.
    ageing: u32,
    /// Turns since the last one, counted while there is a choice.
    turns: u32,
    /// The level that had the last such turn.
    aged: i32,
}

#[derive(Debug)]
enum Level {
    InOrder(List),
    ByTurns(Tenants),
}

impl Ready {
    pub(super) fn new(fair: bool, ageing: u32) -> Self {
        Self {
            normal: Level::new(fair),
            others: BTreeMap::new(),
            len: 0,
            busy: 0,
            fair,
            ageing,
            turns: 0,
            aged: i32::MIN,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of keys of each priority, lowest first.
    pub(super) fn by_priority(&self) -> Vec<(i32, usize)> {
        let others = self
            .others
            .iter()
            .map(|(priority, level)| (*priority, level));
        let mut all: Vec<_> = others
            .chain([(0, &self.normal)])
            .map(|(priority, level)| (priority, level.len()))
            .filter(|(_, len)| *len > 0)
            .collect();
        all.sort_unstable();
        all
    }

    #[inline]
    pub(super) fn push(&mut self, links: &mut Links, slot: u32, priority: i32, tenant: u64) {
        self.len += 1;
        if priority == 0 {
            self.normal.push(links, slot, tenant);
            return;
        }
        let fair = self.fair;
        let level = self
            .others
            .entry(priority)
            .or_insert_with(|| Level::new(fair));
        if level.len() == 0 {
            self.busy += 1;
        }
        level.push(links, slot, tenant);
    }

    #[inline]
    pub(super) fn pop(&mut self, links: &mut Links) -> Option<u32> {
        if self.busy == 0 {
            let slot = self.normal.pop(links)?;
            self.len -= 1;
            return Some(slot);
        }
        let priority = match self.lower_turn() {
            Some(priority) => priority,
            None => self.below(i64::MAX)?,
        };
        let slot = self.level(priority)?.pop(links)?;
        self.left(priority);
        Some(slot)
    }

    /// Removes a slot that was pushed with this priority and tenant.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, slot: u32, priority: i32, tenant: u64) {
        if let Some(level) = self.level(priority) {
            level.remove(links, slot, tenant);
            self.left(priority);
        }
    }

    fn level(&mut self, priority: i32) -> Option<&mut Level> {
        if priority == 0 {
            Some(&mut self.normal)
        } else {
            self.others.get_mut(&priority)
        }
    }

    /// Notes that one slot has left a level.
    fn left(&mut self, priority: i32) {
        self.len -= 1;
        let emptied = self.level(priority).is_some_and(|level| level.len() == 0);
        if priority != 0 && emptied {
            self.busy -= 1;
            if self.others.len() > self.busy + KEPT {
                self.others.retain(|_, level| level.len() > 0);
            }
        }
    }

    /// Returns the highest non-empty priority below a bound.
    fn below(&self, bound: i64) -> Option<i32> {
        let normal = (bound > 0 && self.normal.len() > 0).then_some(0);
        let others = match i32::try_from(bound) {
            Ok(bound) => self.others.range(..bound),
            Err(_) => self.others.range(..),
        };
        let other = others.rev().find(|(_, level)| level.len() > 0);
        normal.max(other.map(|(priority, _)| *priority))
    }

    /// Returns the lower level whose turn it is, if any.
    fn lower_turn(&mut self) -> Option<i32> {
        if self.ageing == 0 {
            return None;
        }
        let top = self.below(i64::MAX)?;
        let second = self.below(i64::from(top))?;
        self.turns += 1;
        if self.turns < self.ageing {
            return None;
        }
        self.turns = 0;
        let next = self.below(i64::from(self.aged.min(top)));
        self.aged = next.unwrap_or(second);
        Some(self.aged)
    }
}

impl Level {
    fn new(fair: bool) -> Self {
        if fair {
            Self::ByTurns(Tenants::default())
        } else {
            Self::InOrder(List::EMPTY)
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::InOrder(list) => list.len(),
            Self::ByTurns(tenants) => tenants.len(),
        }
    }

    #[inline]
    fn push(&mut self, links: &mut Links, slot: u32, tenant: u64) {
        match self {
            Self::InOrder(list) => list.push(links, slot),
            Self::ByTurns(tenants) => tenants.push(links, slot, tenant),
        }
    }

    #[inline]
    fn pop(&mut self, links: &mut Links) -> Option<u32> {
        match self {
            Self::InOrder(list) => list.pop(links),
            Self::ByTurns(tenants) => tenants.pop(links),
        }
    }

    #[inline]
    fn remove(&mut self, links: &mut Links, slot: u32, tenant: u64) {
        match self {
            Self::InOrder(list) => list.remove(links, slot),
            Self::ByTurns(tenants) => tenants.remove(links, slot, tenant),
        }
    }
}
