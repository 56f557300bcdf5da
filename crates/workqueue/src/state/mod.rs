//! The state of a queue, without its lock and its clock: every operation is one call that leaves it consistent.
//!
//! | module | contents |
//! |---|---|
//! | [`entries`] | the keys, and of each whether it is dirty and whether it is processed |
//! | [`ready`], [`tenants`] | the order of the keys that can be handed out |
//! | [`delays`] | delayed adds |
//! | [`waiters`], [`waking`] | waiting workers, and when they are woken |
//! | [`shutdown`] | shutdown and drain |
//! | [`effects`] | work to do once the lock is released |
//! | [`links`], [`slots`], [`table`] | the lists, the vector and the hash table the others are made of |
//!
//! Invariants: a key is in `ready` exactly if it is dirty and not processing; a key has an entry if it is dirty,
//! processing or delayed, or was so recently. Work for outside the lock (wakers to call, keys to drop, metrics to
//! report) is collected in [`Effects`].

mod delays;
mod effects;
mod entries;
mod links;
mod ready;
mod shutdown;
mod slots;
mod table;
mod tenants;
mod waiters;
mod waking;

use std::{task::Waker, time::Duration};

use self::{
    delays::Delays,
    entries::Entries,
    links::{Links, List},
    ready::Ready,
    shutdown::Phase,
    waiters::Waiters,
};
pub(crate) use effects::Effects;
pub(crate) use waiters::WaiterId;

use crate::{
    DelayPolicy, Key,
    clock::{self, Moment},
    metrics::Recorder,
};

/// The maximum number of delayed adds that become ready at once, since all other operations wait meanwhile.
const BATCH: usize = 256;

/// The state of a queue.
#[derive(Debug)]
pub(crate) struct State<K> {
    entries: Entries<K>,
    /// Of `ready` and of `processing`: no key is in both.
    links: Links,
    ready: Ready,
    /// In the order in which they were handed out.
    processing: List,
    /// The number of keys that are processing and dirty.
    again: usize,
    delays: Delays,
    waiters: Waiters,
    drains: Vec<(u64, Waker)>,
    last_drain: u64,
    phase: Phase,
    /// True if an immediate add replaces a delayed one.
    supersede: bool,
    pub(crate) recorder: Option<Box<Recorder>>,
}

/// The settings of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) fair: bool,
    pub(crate) ageing: u32,
    pub(crate) supersede: bool,
}

/// An add, as the state sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Add {
    pub(crate) hash: u32,
    pub(crate) tenant: u64,
    pub(crate) priority: i32,
    /// 0 if nothing needs the time.
    pub(crate) now: Moment,
}

/// A key that was handed out.
#[derive(Debug)]
pub(crate) struct Taken<K> {
    pub(crate) slot: u32,
    pub(crate) key: K,
    pub(crate) priority: i32,
    /// The times at which it became dirty and was handed out.
    pub(crate) queued: (Moment, Moment),
}

/// The answer to a worker that asks for an item.
#[derive(Debug)]
pub(crate) enum Offer<K> {
    Item(Taken<K>),
    /// Nothing at the moment.
    Nothing,
    /// Nothing ever again.
    Closed,
}

/// The current numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) ready: usize,
    pub(crate) processing: usize,
    pub(crate) again: usize,
    pub(crate) delayed: usize,
    pub(crate) waiting: usize,
    pub(crate) next_due: Option<Moment>,
}

impl<K: Key> State<K> {
    pub(crate) fn new(rules: Rules, recorder: Option<Box<Recorder>>) -> Self {
        Self {
            entries: Entries::new(),
            links: Links::default(),
            ready: Ready::new(rules.fair, rules.ageing),
            processing: List::EMPTY,
            again: 0,
            delays: Delays::default(),
            waiters: Waiters::new(),
            drains: Vec::new(),
            last_drain: 0,
            phase: Phase::Open,
            supersede: rules.supersede,
            recorder,
        }
    }

    pub(crate) fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            ready: self.ready.len(),
            processing: self.processing.len(),
            again: self.again,
            delayed: self.delays.len(),
            waiting: self.waiters.asleep() + self.waiters.woken(),
            next_due: self.delays.first().map(|due| due.at),
        }
    }

    /// Returns the number of waiting keys of each priority, without those to run again after their current run.
    pub(crate) fn by_priority(&self) -> Vec<(i32, usize)> {
        self.ready.by_priority()
    }

    /// Returns when the longest running key was handed out.
    pub(crate) fn oldest_start(&self) -> Option<Moment> {
        let oldest = self.processing.first()?;
        Some(self.entries.peek(oldest).started)
    }

    /// Adds a key immediately.
    #[inline]
    pub(crate) fn add(&mut self, key: K, add: Add, effects: &mut Effects<K>) {
        if self.is_shutting_down() {
            effects.unneeded = Some(key);
            return;
        }
        let (slot, unneeded) = self.entries.find_or_insert(add.hash, key, add.tenant);
        effects.unneeded = unneeded;
        self.mark(slot, add.priority, add.now, effects);
        self.settle(effects);
    }

    /// Adds a key after a delay.
    pub(crate) fn add_after(
        &mut self,
        key: K,
        add: Add,
        delay: Duration,
        policy: DelayPolicy,
        effects: &mut Effects<K>,
    ) {
        if self.is_shutting_down() {
            effects.unneeded = Some(key);
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.retries += 1;
        }
        let (slot, unneeded) = self.entries.find_or_insert(add.hash, key, add.tenant);
        effects.unneeded = unneeded;
        let pending = self.supersede && self.entries.peek(slot).dirty;
        if delay.is_zero() || pending && policy == DelayPolicy::Earliest {
            self.mark(slot, add.priority, add.now, effects);
        } else {
            self.delay(slot, clock::after(add.now, delay), add.priority, policy);
        }
        self.settle(effects);
    }

    /// Cancels a delayed add.
    pub(crate) fn cancel(&mut self, hash: u32, key: &K, effects: &mut Effects<K>) -> bool {
        let Some(slot) = self.entries.find(hash, key) else {
            return false;
        };
        let cancelled = self.delays.remove(slot).is_some();
        if cancelled {
            self.release(slot, effects);
        }
        cancelled
    }

    /// Returns when a key's delayed add is due.
    pub(crate) fn due(&self, hash: u32, key: &K) -> Option<Moment> {
        let slot = self.entries.find(hash, key)?;
        Some(self.delays.of(slot)?.at)
    }

    /// Queues delayed adds that are due, as many as go at once. Reports whether there may be more.
    pub(crate) fn promote(&mut self, now: Moment, effects: &mut Effects<K>) -> bool {
        for _ in 0..BATCH {
            let Some(due) = self.delays.first().filter(|due| due.at <= now) else {
                self.settle(effects);
                return false;
            };
            self.delays.remove(due.slot);
            self.mark(due.slot, due.priority, due.at, effects);
        }
        self.settle(effects);
        true
    }

    /// Hands out the next item, if there is one.
    #[inline]
    pub(crate) fn offer(&mut self, now: Moment, effects: &mut Effects<K>) -> Offer<K> {
        let Some(taken) = self.take(now) else {
            return if self.is_closed() {
                Offer::Closed
            } else {
                Offer::Nothing
            };
        };
        // Other workers may be waiting for the last item.
        if self.is_shutting_down() {
            self.settle(effects);
        }
        Offer::Item(taken)
    }

    /// Finishes an item, and returns when it was handed out.
    #[inline]
    pub(crate) fn done(&mut self, slot: u32, now: Moment, effects: &mut Effects<K>) -> Moment {
        self.processing.remove(&mut self.links, slot);
        let entry = self.entries.at(slot);
        entry.processing = false;
        let started = entry.started;
        if let Some(recorder) = &mut self.recorder {
            recorder.finished(started, now);
        }
        if entry.dirty {
            self.again -= 1;
            let (priority, tenant) = (entry.priority, entry.tenant);
            self.ready.push(&mut self.links, slot, priority, tenant);
        } else {
            self.release(slot, effects);
        }
        self.settle(effects);
        started
    }

    /// Makes a key dirty. A dirty key can only rise in priority, to the end of its new level.
    #[inline]
    fn mark(&mut self, slot: u32, mut priority: i32, added: Moment, effects: &mut Effects<K>) {
        if self.supersede
            && let Some(due) = self.delays.remove(slot)
        {
            priority = priority.max(due.priority);
        }
        let entry = self.entries.at(slot);
        let (old, tenant, processing) = (entry.priority, entry.tenant, entry.processing);
        if entry.dirty {
            if priority > old {
                entry.priority = priority;
                if !processing {
                    self.ready.remove(&mut self.links, slot, old, tenant);
                    self.ready.push(&mut self.links, slot, priority, tenant);
                }
            }
            return;
        }
        entry.dirty = true;
        entry.priority = priority;
        entry.added = added;
        effects.adds += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.adds += 1;
        }
        if processing {
            self.again += 1;
        } else {
            self.ready.push(&mut self.links, slot, priority, tenant);
        }
    }

    fn delay(&mut self, slot: u32, at: Moment, priority: i32, policy: DelayPolicy) {
        let Some(known) = self.delays.of(slot) else {
            self.delays.set(slot, at, priority);
            return;
        };
        let moves = match policy {
            DelayPolicy::Earliest => at < known.at,
            DelayPolicy::Latest => at > known.at,
            DelayPolicy::Replace => true,
        };
        let priority = match policy {
            DelayPolicy::Replace => priority,
            _ => priority.max(known.priority),
        };
        if moves {
            self.delays.set(slot, at, priority);
        } else {
            self.delays.reprioritise(slot, priority);
        }
    }

    #[inline]
    fn take(&mut self, now: Moment) -> Option<Taken<K>> {
        let slot = self.ready.pop(&mut self.links)?;
        self.processing.push(&mut self.links, slot);
        let entry = self.entries.at(slot);
        entry.dirty = false;
        entry.processing = true;
        entry.started = now;
        let queued = (entry.added, now);
        if let Some(recorder) = &mut self.recorder {
            recorder.started(queued);
        }
        Some(Taken {
            slot,
            key: entry.key()?.clone(),
            priority: entry.priority,
            queued,
        })
    }

    /// Releases a key that is no longer used.
    #[inline]
    fn release(&mut self, slot: u32, effects: &mut Effects<K>) {
        if !self.entries.peek(slot).is_idle() || self.delays.of(slot).is_some() {
            return;
        }
        if self.entries.retire(slot) {
            let delays = &self.delays;
            self.entries
                .forget(|slot| delays.of(slot).is_some(), &mut effects.forgotten);
            if self.entries.is_void() {
                self.links.clear();
                self.delays = Delays::default();
            }
        }
    }
}
