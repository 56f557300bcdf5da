//! Delayed adds: a heap with four children per node that knows the position of every slot.
//!
//! A slot is in it at most once, so it is no larger than the number of keys, and one can leave early. Of two that are
//! due at the same moment, the one that arrived first is first.

use crate::clock::Moment;

const CHILDREN: usize = 4;

/// Not in the heap.
const NOWHERE: u32 = u32::MAX;

/// A delayed add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Moment,
    /// The order of arrival.
    arrival: u64,
    pub(super) slot: u32,
    pub(super) priority: i32,
}

/// All delayed adds.
#[derive(Debug, Default)]
pub(super) struct Delays {
    heap: Vec<Due>,
    /// The position of each slot in the heap.
    places: Vec<u32>,
    arrivals: u64,
}

impl Delays {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns the add that is due first.
    pub(super) fn first(&self) -> Option<Due> {
        self.heap.first().copied()
    }

    /// Returns the delayed add of a slot.
    #[inline]
    pub(super) fn of(&self, slot: u32) -> Option<Due> {
        let place = self.place(slot)?;
        self.heap.get(place).copied()
    }

    /// Sets when a slot is due, replacing what was set before.
    pub(super) fn set(&mut self, slot: u32, at: Moment, priority: i32) {
        self.arrivals += 1;
        let due = Due {
            at,
            arrival: self.arrivals,
            slot,
            priority,
        };
        match self.place(slot) {
            Some(place) => {
                self.heap[place] = due;
                let place = self.rise(place);
                self.sink(place);
            }
            None => {
                if self.places.len() <= slot as usize {
                    self.places.resize(slot as usize + 1, NOWHERE);
                }
                self.heap.push(due);
                self.rise(self.heap.len() - 1);
            }
        }
    }

    /// Changes the priority of a slot's delayed add.
    pub(super) fn reprioritise(&mut self, slot: u32, priority: i32) {
        if let Some(place) = self.place(slot) {
            self.heap[place].priority = priority;
        }
    }

    /// Removes a slot's delayed add.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Due> {
        let place = self.place(slot)?;
        let due = self.heap.swap_remove(place);
        self.places[slot as usize] = NOWHERE;
        if place < self.heap.len() {
            let place = self.rise(place);
            self.sink(place);
        }
        Some(due)
    }

    /// Removes everything.
    pub(super) fn take_all(&mut self) -> Vec<Due> {
        self.places = Vec::new();
        std::mem::take(&mut self.heap)
    }

    #[inline]
    fn place(&self, slot: u32) -> Option<usize> {
        let place = *self.places.get(slot as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }

    /// Moves an element up to its position, and returns it.
    fn rise(&mut self, mut place: usize) -> usize {
        let due = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].order() <= due.order() {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, due);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let due = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child].order()) else {
                break;
            };
            if due.order() <= self.heap[least].order() {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, due);
    }

    fn put(&mut self, place: usize, due: Due) {
        self.heap[place] = due;
        self.places[due.slot as usize] = place as u32;
    }
}

impl Due {
    fn order(&self) -> (Moment, u64) {
        (self.at, self.arrival)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_due_in_order_after_any_changes(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 0..200)
        ) {
            let mut delays = Delays::default();
            let mut model: Vec<(u64, u64, u32)> = Vec::new();
            for (arrival, (slot, at)) in steps.into_iter().enumerate() {
                model.retain(|(_, _, other)| *other != slot);
                match at {
                    Some(at) => {
                        delays.set(slot, at, 0);
                        model.push((at, arrival as u64, slot));
                    }
                    None => {
                        delays.remove(slot);
                    }
                }
                prop_assert_eq!(delays.len(), model.len());
                prop_assert_eq!(delays.of(slot).map(|due| due.at), at);
            }
            model.sort_unstable();
            for (at, _, slot) in model {
                let due = delays.first().expect("as many as in the model");
                prop_assert_eq!((due.at, due.slot), (at, slot));
                delays.remove(slot);
            }
            prop_assert!(delays.is_empty());
        }
    }
}
