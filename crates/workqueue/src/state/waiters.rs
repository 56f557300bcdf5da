//! Workers that wait for an item.
//!
//! Each is in one of three states:
//!
//! * *queued*: first in, first woken;
//! * *woken*: called for an item, and has not looked yet;
//! * *keeper*: at most one; sleeps until the next delayed add is due, on behalf of all, and is woken for an item only
//!   if no other worker is left.
//!
//! The [state](super) maintains two rules: while any worker is queued, as many are woken as there are items to hand
//! out; and there is a keeper whenever something is delayed. A worker that leaves without an item is replaced in both
//! roles.

use std::task::Waker;

use super::links::{Links, List};
use crate::clock::Moment;

/// A waiting worker.
pub(crate) type WaiterId = u32;

/// All of them.
#[derive(Debug)]
pub(super) struct Waiters {
    slots: Vec<Waiter>,
    free: Vec<WaiterId>,
    links: Links,
    queued: List,
    woken: usize,
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Waiter {
    waker: Option<Waker>,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Queue,
    Woken,
    Keeper,
}

#[derive(Clone, Copy, Debug)]
struct Keeper {
    id: WaiterId,
    until: Moment,
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            links: Links::default(),
            queued: List::EMPTY,
            woken: 0,
            keeper: None,
        }
    }

    /// Returns the number of workers that wait and have not been woken.
    pub(super) fn asleep(&self) -> usize {
        self.queued.len() + usize::from(self.keeper.is_some())
    }

    pub(super) fn woken(&self) -> usize {
        self.woken
    }

    /// Joins, or stays after looking in vain.
    pub(super) fn wait(&mut self, id: &mut Option<WaiterId>, waker: &Waker) {
        let Some(id) = *id else {
            *id = Some(self.join(waker.clone()));
            return;
        };
        let waiter = &mut self.slots[id as usize];
        match &mut waiter.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        if waiter.at == At::Woken {
            waiter.at = At::Queue;
            self.woken -= 1;
            self.queued.push(&mut self.links, id);
        }
    }

    /// Leaves, with an item or without.
    pub(super) fn leave(&mut self, id: WaiterId) {
        match self.slots[id as usize].at {
            At::Queue => self.queued.remove(&mut self.links, id),
            At::Woken => self.woken -= 1,
            At::Keeper => self.keeper = None,
        }
        self.slots[id as usize].waker = None;
        self.free.push(id);
    }

    /// Wakes one worker for an item.
    pub(super) fn wake_one(&mut self) -> Option<Waker> {
        let id = match self.queued.pop(&mut self.links) {
            Some(id) => id,
            None => self.keeper.take()?.id,
        };
        let waiter = &mut self.slots[id as usize];
        waiter.at = At::Woken;
        self.woken += 1;
        waiter.waker.take()
    }

    /// Makes a queued worker the keeper if there is none: the candidate, or the one that has waited longest. It has to
    /// be woken to begin, unless it asks for itself.
    pub(super) fn appoint(&mut self, candidate: Option<WaiterId>, until: Moment) -> Option<&Waker> {
        if self.keeper.is_some() {
            return None;
        }
        let candidate = candidate.filter(|id| self.slots[*id as usize].at == At::Queue);
        let id = candidate.or(self.queued.first())?;
        self.queued.remove(&mut self.links, id);
        self.slots[id as usize].at = At::Keeper;
        self.keeper = Some(Keeper { id, until });
        self.slots[id as usize].waker.as_ref()
    }

    /// Notes until when this worker sleeps if it is the keeper, and reports whether it is.
    pub(super) fn keeps(&mut self, id: WaiterId, until: Moment) -> bool {
        match &mut self.keeper {
            Some(keeper) if keeper.id == id => {
                keeper.until = until;
                true
            }
            _ => false,
        }
    }

    /// Returns the keeper if it sleeps longer than `until`. It is trusted to look again.
    pub(super) fn oversleeping(&mut self, until: Moment) -> Option<&Waker> {
        let keeper = self.keeper.as_mut().filter(|keeper| keeper.until > until)?;
        keeper.until = until;
        self.slots[keeper.id as usize].waker.as_ref()
    }

    fn join(&mut self, waker: Waker) -> WaiterId {
        let waiter = Waiter {
            waker: Some(waker),
            at: At::Queue,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = waiter;
                id
            }
            None => {
                self.slots.push(waiter);
                (self.slots.len() - 1) as WaiterId
            }
        };
        self.queued.push(&mut self.links, id);
        id
    }
}
