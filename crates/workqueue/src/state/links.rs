//! Lists threaded through slots: joining, leaving and taking the first cost the same at any length.
//!
//! A slot is in at most one list; the user of the lists knows in which.

/// No slot.
const NONE: u32 = u32::MAX;

/// The neighbours of every slot.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

/// The two ends of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Links {
    pub(super) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    #[inline]
    fn reach(&mut self, slot: u32) {
        let needed = slot as usize + 1;
        if self.0.len() < needed {
            self.0.resize(needed, Link::ALONE);
        }
    }
}

impl List {
    pub(super) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        len: 0,
    };

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Adds a slot that is in no list at the end.
    #[inline]
    pub(super) fn push(&mut self, links: &mut Links, slot: u32) {
        links.reach(slot);
        links.0[slot as usize] = Link {
            before: self.tail,
            next: NONE,
        };
        match self.tail {
            NONE => self.head = slot,
            tail => links.0[tail as usize].next = slot,
        }
        self.tail = slot;
        self.len += 1;
    }

    /// Removes and returns the first slot.
    #[inline]
    pub(super) fn pop(&mut self, links: &mut Links) -> Option<u32> {
        let slot = self.first()?;
        self.remove(links, slot);
        Some(slot)
    }

    /// Removes a slot that is in this list.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, slot: u32) {
        let Link { before, next } = links.0[slot as usize];
        match before {
            NONE => self.head = next,
            before => links.0[before as usize].next = next,
        }
        match next {
            NONE => self.tail = before,
            next => links.0[next as usize].before = before,
        }
        self.len -= 1;
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    next: u32,
}

impl Link {
    const ALONE: Self = Self {
        before: NONE,
        next: NONE,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(list: &mut List, links: &mut Links) -> Vec<u32> {
        std::iter::from_fn(|| list.pop(links)).collect()
    }

    #[test]
    fn links_are_first_in_first_out() {
        let (mut links, mut list) = (Links::default(), List::EMPTY);
        for slot in [3, 1, 2] {
            list.push(&mut links, slot);
        }
        assert_eq!(list.len(), 3);
        assert_eq!(drained(&mut list, &mut links), [3, 1, 2]);
        assert!(list.is_empty());
    }

    #[test]
    fn any_slot_can_leave() {
        for leaving in 0..4 {
            let (mut links, mut list) = (Links::default(), List::EMPTY);
            for slot in 0..4 {
                list.push(&mut links, slot);
            }
            list.remove(&mut links, leaving);
            let rest: Vec<_> = (0..4).filter(|slot| *slot != leaving).collect();
            assert_eq!(drained(&mut list, &mut links), rest);
        }
    }
}
