//! The connections of a server: how many there may be, and which of them go first.
//!
//! Without [`Limits::max_unauthenticated`](crate::Limits::max_unauthenticated) all connections are equal, and those over
//! the limit wait in the listener's backlog. With it, a connection starts as a stranger, until the service marks it as
//! authenticated. Idle strangers have a small share of their own: a new connection closes the oldest of them when the
//! share is used up. When there are no slots left it closes the oldest idle stranger, or else the oldest stranger. So a
//! peer without credentials competes with others of its kind only.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Limits, activity::Activity};

/// The slots of a server.
pub(crate) struct Slots {
    max: usize,
    max_idle_strangers: Option<usize>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    open: usize,
    next_id: u64,
    /// Connections that have not authenticated, by age.
    strangers: BTreeMap<u64, Arc<Activity>>,
}

/// The slot of a connection, which is free again when this is dropped.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    activity: Arc<Activity>,
    id: u64,
}

/// Marks the connection of a request as authenticated.
///
/// A server with [`Limits::max_unauthenticated`](crate::Limits::max_unauthenticated) puts it into the extensions of each
/// request of a connection that is not authenticated yet.
///
/// ```
/// use http::Request;
/// use kubewright_serve::ConnectionHandle;
///
/// fn on_authenticated<B>(request: &Request<B>) {
///     if let Some(connection) = request.extensions().get::<ConnectionHandle>() {
///         connection.mark_authenticated();
///     }
/// }
/// # on_authenticated(&Request::new(()));
/// ```
#[derive(Clone)]
pub struct ConnectionHandle {
    slots: Arc<Slots>,
    activity: Arc<Activity>,
    id: u64,
}

impl ConnectionHandle {
    /// Keeps the connection when idle connections of unknown peers are closed to make room.
    pub fn mark_authenticated(&self) {
        if self.activity.set_authenticated() {
            self.slots.state.lock().strangers.remove(&self.id);
        }
    }
}

impl std::fmt::Debug for ConnectionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionHandle").finish_non_exhaustive()
    }
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            max: limits.max_connections.max(1),
            max_idle_strangers: limits.max_unauthenticated,
            state: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Waits until another connection can be accepted.
    pub(crate) async fn available(&self) {
        loop {
            if self.has_room() {
                return;
            }
            self.freed.notified().await;
        }
    }

    fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.open < self.max || (self.max_idle_strangers.is_some() && !state.strangers.is_empty())
    }

    /// Takes a slot for a new connection, and evicts a stranger if there are too many connections.
    pub(crate) fn take(self: &Arc<Self>, activity: Arc<Activity>) -> Arc<Slot> {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        if let Some(share) = self.max_idle_strangers {
            let full = state.open >= self.max;
            let first = match full || state.has_idle(share.max(1)) {
                true => state
                    .oldest_idle()
                    .or_else(|| state.oldest().filter(|_| full)),
                false => None,
            };
            if let Some(first) = first {
                state.evict(first);
            }
            state.strangers.insert(id, activity.clone());
        }
        state.open += 1;
        Arc::new(Slot {
            slots: self.clone(),
            activity,
            id,
        })
    }
}

impl State {
    fn oldest(&self) -> Option<u64> {
        self.strangers.keys().next().copied()
    }

    fn oldest_idle(&self) -> Option<u64> {
        let mut strangers = self.strangers.iter();
        let idle = strangers.find(|(_, activity)| activity.is_idle());
        idle.map(|(id, _)| *id)
    }

    /// Returns whether at least `count` strangers are idle.
    fn has_idle(&self, count: usize) -> bool {
        self.strangers.len() >= count
            && self.strangers.values().filter(|a| a.is_idle()).count() >= count
    }

    fn evict(&mut self, id: u64) {
        if let Some(activity) = self.strangers.remove(&id) {
            activity.evict();
            // The slot is free for the new connection, although the old one needs a moment to notice.
            self.open = self.open.saturating_sub(1);
        }
    }
}

impl Slot {
    /// Returns a handle for the extensions of a request, if the connection is not authenticated yet.
    pub(crate) fn handle(&self) -> Option<ConnectionHandle> {
        self.slots.max_idle_strangers?;
        (!self.activity.is_authenticated()).then(|| ConnectionHandle {
            slots: self.slots.clone(),
            activity: self.activity.clone(),
            id: self.id,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        {
            let mut state = self.slots.state.lock();
            state.strangers.remove(&self.id);
            if !self.activity.is_evicted() {
                state.open = state.open.saturating_sub(1);
            }
        }
        self.slots.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(max_connections: usize, max_unauthenticated: Option<usize>) -> Arc<Slots> {
        Slots::new(&Limits {
            max_connections,
            max_unauthenticated,
            ..Limits::default()
        })
    }

    fn open(slots: &Arc<Slots>) -> (Arc<Slot>, Arc<Activity>) {
        let activity = Arc::new(Activity::default());
        (slots.take(activity.clone()), activity)
    }

    #[test]
    fn the_oldest_idle_stranger_goes_first() {
        let slots = slots(10, Some(2));
        let (known, known_activity) = open(&slots);
        known.handle().unwrap().mark_authenticated();
        assert!(known.handle().is_none(), "marked once");
        let (_busy, busy_activity) = open(&slots);
        let _request = busy_activity.begin(http::Version::HTTP_11);
        let (_first, first_activity) = open(&slots);
        let (_second, second_activity) = open(&slots);
        assert!(!first_activity.is_evicted());
        let (_third, third_activity) = open(&slots);
        assert!(first_activity.is_evicted());
        for kept in [
            known_activity,
            busy_activity,
            second_activity,
            third_activity,
        ] {
            assert!(!kept.is_evicted());
        }
        assert_eq!(slots.state.lock().open, 4);
    }

    #[test]
    fn busy_strangers_are_closed_only_without_free_slots() {
        let slots = slots(3, Some(1));
        let busy: Vec<_> = (0..3)
            .map(|_| {
                let (slot, activity) = open(&slots);
                let request = activity.begin(http::Version::HTTP_2);
                (slot, activity, request)
            })
            .collect();
        assert!(busy.iter().all(|(_, activity, _)| !activity.is_evicted()));
        assert!(slots.has_room());
        let _new = open(&slots);
        let evicted: Vec<_> = busy.iter().map(|(_, a, _)| a.is_evicted()).collect();
        assert_eq!(evicted, [true, false, false]);
    }

    #[test]
    fn slots_are_counted_once() {
        let slots = slots(2, Some(2));
        let held: Vec<_> = (0..5).map(|_| open(&slots)).collect();
        assert_eq!(slots.state.lock().open, 2);
        drop(held);
        let state = slots.state.lock();
        assert_eq!((state.open, state.strangers.len()), (0, 0));
    }

    #[test]
    fn without_a_share_nobody_is_evicted() {
        let slots = slots(1, None);
        let (slot, activity) = open(&slots);
        assert!(!slots.has_room());
        assert!(slot.handle().is_none());
        let _over = open(&slots);
        assert!(!activity.is_evicted());
    }
}
