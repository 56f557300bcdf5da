//! [`Coalesced`]: the events of a reader that wants only the newest state of each object.
//!
//! At most one event for each object waits; a later one is merged into it and keeps its position.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::event::{AnyEvent, Cause, Event};
use crate::key::Key;
use crate::object::Cached;

/// Waiting events, one for each object.
#[derive(Default)]
pub(crate) struct Coalesced {
    state: Mutex<State>,
    pub(crate) grown: Notify,
}

#[derive(Default)]
struct State {
    order: BTreeMap<u64, Pending>,
    places: HashMap<Key, u64>,
    pushed: u64,
    /// The position after which the cache was synced for the first time.
    synced_at: Option<u64>,
    closed: bool,
}

/// A waiting event, and the state of the object that the reader knows, if any.
struct Pending {
    known: Option<Cached<()>>,
    event: AnyEvent,
}

/// The outcome of a pop.
pub(crate) enum Popped {
    Event(AnyEvent),
    Nothing,
    Closed,
}

impl Coalesced {
    pub(crate) fn push(&self, events: impl IntoIterator<Item = AnyEvent>) {
        let mut state = self.state.lock();
        for event in events {
            state.push(event);
        }
        drop(state);
        self.grown.notify_one();
    }

    /// Marks everything that was pushed so far as the first contents of the cache.
    pub(crate) fn mark_synced(&self) {
        let mut state = self.state.lock();
        let pushed = state.pushed;
        state.synced_at.get_or_insert(pushed);
        drop(state);
        self.grown.notify_one();
    }

    pub(crate) fn pop(&self) -> Popped {
        let mut state = self.state.lock();
        match state.order.pop_first() {
            Some((_, Pending { event, .. })) => {
                state.places.remove(event.key());
                Popped::Event(event)
            }
            None if state.closed => Popped::Closed,
            None => Popped::Nothing,
        }
    }

    /// Reports whether the first contents of the cache have been popped.
    pub(crate) fn is_synced(&self) -> bool {
        let state = self.state.lock();
        let first = state.order.keys().next().copied();
        state
            .synced_at
            .is_some_and(|at| first.is_none_or(|first| first >= at))
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().order.len()
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.grown.notify_one();
    }
}

impl State {
    fn push(&mut self, event: AnyEvent) {
        if let Some(place) = self.places.get(event.key()).copied()
            && let Some(old) = self.order.remove(&place)
        {
            let key = event.key().clone();
            match old.merge(event) {
                Some(merged) => {
                    self.order.insert(place, merged);
                }
                None => {
                    self.places.remove(&key);
                }
            }
            return;
        }
        let place = self.pushed;
        self.pushed += 1;
        self.places.insert(event.key().clone(), place);
        self.order.insert(place, Pending::new(event));
    }
}

impl Pending {
    fn new(event: AnyEvent) -> Self {
        let known = match &event {
            Event::Added { .. } => None,
            Event::Updated { old, .. } => Some(old.clone()),
            Event::Deleted { object: last, .. } => Some(last.clone()),
        };
        Self { known, event }
    }

    /// Merges two events into one; `None` if the reader does not need an event for the object.
    fn merge(self, next: AnyEvent) -> Option<Self> {
        let Self { known, event } = self;
        let event = match (next, &known) {
            (Event::Deleted { .. }, None) => return None,
            (deleted @ Event::Deleted { .. }, Some(_)) => deleted,
            (Event::Added { object: new, .. } | Event::Updated { object: new, .. }, None) => {
                Event::Added {
                    object: new,
                    initial: matches!(event, Event::Added { initial: true, .. }),
                }
            }
            (Event::Added { object: new, .. } | Event::Updated { object: new, .. }, Some(old)) => {
                let cause = if old.uid() != new.uid() {
                    Cause::Recreated
                } else if !old.is_same_version(&new) {
                    Cause::Change
                } else {
                    Cause::Resync
                };
                Event::Updated {
                    old: old.clone(),
                    object: new,
                    cause,
                }
            }
        };
        Some(Self { known, event })
    }
}
