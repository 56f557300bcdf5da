//! Waiting and waking: maintains the rules of the [waiters](super::waiters).

use std::task::Context;

use super::{Effects, Offer, State, WaiterId};
use crate::{Key, clock::Moment};

impl<K: Key> State<K> {
    /// Hands out the next item, or makes the worker wait. If it is to keep the time for all, also returns the moment at
    /// which it has to look again.
    pub(crate) fn offer_or_wait(
        &mut self,
        id: &mut Option<WaiterId>,
        context: &Context<'_>,
        now: Moment,
        effects: &mut Effects<K>,
    ) -> (Offer<K>, Option<Moment>) {
        let offer = self.offer(now, effects);
        if !matches!(offer, Offer::Nothing) {
            self.leave(id, effects);
            return (offer, None);
        }
        self.waiters.wait(id, context.waker());
        let Some(id) = *id else {
            return (offer, None);
        };
        let Some(due) = self.delays.first() else {
            // A keeper without a deadline has to be woken by the next delayed add.
            self.waiters.keeps(id, Moment::MAX);
            return (offer, None);
        };
        self.waiters.appoint(Some(id), due.at);
        let keeps = self.waiters.keeps(id, due.at);
        (offer, keeps.then_some(due.at))
    }

    /// Removes a worker that no longer waits.
    pub(crate) fn leave(&mut self, id: &mut Option<WaiterId>, effects: &mut Effects<K>) {
        if let Some(id) = id.take() {
            self.waiters.leave(id);
            self.settle(effects);
        }
    }

    /// Restores the rules of waking after anything that may have broken them.
    #[inline]
    pub(super) fn settle(&mut self, effects: &mut Effects<K>) {
        if self.is_shutting_down() {
            self.settle_shutdown(effects);
        }
        if self.waiters.asleep() > 0 {
            self.settle_waiters(effects);
        }
    }

    fn settle_waiters(&mut self, effects: &mut Effects<K>) {
        while self.waiters.woken() < self.ready.len() {
            match self.waiters.wake_one() {
                Some(waker) => effects.wake(waker),
                None => break,
            }
        }
        if let Some(due) = self.delays.first() {
            if let Some(waker) = self.waiters.appoint(None, due.at) {
                effects.wake(waker.clone());
            } else if let Some(waker) = self.waiters.oversleeping(due.at) {
                effects.wake(waker.clone());
            }
        }
    }
}
