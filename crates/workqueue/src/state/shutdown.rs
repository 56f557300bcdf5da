//! Shutdown of a queue: from the last add to the last finished item.

use std::task::Context;

use super::{Effects, State};
use crate::Key;

/// The phase of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Open,
    ShutDown,
    Draining,
}

impl<K: Key> State<K> {
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Rejects further adds and drops the delayed ones.
    pub(crate) fn shut_down(&mut self, drain: bool, effects: &mut Effects<K>) {
        for due in self.delays.take_all() {
            self.release(due.slot, effects);
        }
        self.phase = if drain {
            Phase::Draining
        } else {
            Phase::ShutDown
        };
        while let Some(waker) = self.waiters.wake_one() {
            effects.wake(waker);
        }
        self.settle(effects);
    }

    /// Waits for the drain to end, with nothing queued and nothing processed, or for a plain shutdown.
    pub(crate) fn drained(&mut self, id: &mut Option<u64>, context: &Context<'_>) -> bool {
        if let Some(id) = *id {
            self.drains.retain(|(other, _)| *other != id);
        }
        if self.has_drained() {
            return true;
        }
        let id = *id.get_or_insert_with(|| {
            self.last_drain += 1;
            self.last_drain
        });
        self.drains.push((id, context.waker().clone()));
        false
    }

    /// Removes a waiter of the drain.
    pub(crate) fn stop_waiting_for_drain(&mut self, id: u64) {
        self.drains.retain(|(other, _)| *other != id);
    }

    pub(super) fn settle_shutdown(&mut self, effects: &mut Effects<K>) {
        if self.is_closed() {
            while let Some(waker) = self.waiters.wake_one() {
                effects.wake(waker);
            }
        }
        if self.has_drained() {
            for (_, waker) in self.drains.drain(..) {
                effects.wake(waker);
            }
        }
    }

    /// Reports whether nothing will be handed out any more. While draining, keys that are to run again are still to
    /// come.
    pub(super) fn is_closed(&self) -> bool {
        self.ready.len() == 0
            && match self.phase {
                Phase::Open => false,
                Phase::ShutDown => true,
                Phase::Draining => self.again == 0,
            }
    }

    fn has_drained(&self) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::ShutDown => true,
            Phase::Draining => self.ready.len() == 0 && self.processing.is_empty(),
        }
    }
}
