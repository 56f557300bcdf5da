//! Who waits for the changes of one collection, and waking them.
//!
//! Watchers read the log themselves; a hub only tells them when to look. A watcher *arms* and looks a last time; if
//! there is nothing it has *settled* and waits, if there is something it disarms. The writer, inside its critical
//! section, puts the path of each change into the hub's backlog, in order; outside of it the backlog is *dispatched*:
//! each change wakes the armed watchers whose prefix it matches, and only those, and waking disarms. So a watcher that
//! has settled has missed nothing up to the last change dispatched before it was woken, even if the log has been trimmed
//! past the place where it last looked.
//!
//! Wakers are woken and dropped outside of all locks, since both can run code of others.
//!
//! A few watchers are woken by the writer itself; many by a task of their own, so that a write costs the same however
//! many there are.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::Waker,
};

use parking_lot::Mutex;

/// Up to this many are woken by the writer.
const WOKEN_BY_WRITER: usize = 8;

/// A backlog of more than this wakes everyone without looking at paths.
const MAX_BACKLOG: usize = 1024;

/// The watchers of a collection.
#[derive(Default)]
pub(super) struct Hub {
    watchers: Mutex<Watchers>,
    armed: AtomicUsize,
    backlog: Mutex<Backlog>,
}

/// Where a watcher is. Written by the watcher alone.
#[derive(Default)]
pub(super) struct Place {
    /// The first change it has not looked at.
    pub(super) cursor: AtomicU64,
    /// It has armed, and after that looked and found nothing more.
    pub(super) settled: AtomicBool,
}

#[derive(Default)]
struct Watchers {
    by_id: HashMap<u64, Waiter>,
    next_id: u64,
    /// The place after the last change that was dispatched.
    dispatched: u64,
}

struct Waiter {
    prefix: Arc<str>,
    place: Arc<Place>,
    waker: Option<Waker>,
    /// Once woken: the place up to which nothing had been dispatched that it wants.
    woken_at: u64,
}

#[derive(Default)]
struct Backlog {
    paths: Vec<Arc<str>>,
    /// There were too many to remember.
    overflow: bool,
    /// The place after the last change.
    end: u64,
    /// A task is on its way.
    dispatching: bool,
}

impl Hub {
    /// Adds a watcher.
    pub(super) fn join(&self, prefix: Arc<str>, place: Arc<Place>) -> u64 {
        let mut watchers = self.watchers.lock();
        let id = watchers.next_id;
        watchers.next_id += 1;
        let waiter = Waiter {
            prefix,
            place,
            waker: None,
            woken_at: 0,
        };
        watchers.by_id.insert(id, waiter);
        id
    }

    /// Takes a watcher away. The first answer is true if there are none left; the second is for the caller to drop when
    /// it holds no locks.
    pub(super) fn leave(&self, id: u64) -> (bool, Option<Waker>) {
        let mut watchers = self.watchers.lock();
        let waker = watchers.by_id.remove(&id).and_then(|waiter| waiter.waker);
        if waker.is_some() {
            self.armed.fetch_sub(1, Ordering::SeqCst);
        }
        (watchers.by_id.is_empty(), waker)
    }

    /// Has a watcher woken at the next change that it wants. True if it was armed still.
    pub(super) fn arm(&self, id: u64, waker: &Waker) -> bool {
        let mut watchers = self.watchers.lock();
        let Some(waiter) = watchers.by_id.get_mut(&id) else {
            return false;
        };
        let old = waiter.waker.replace(waker.clone());
        if old.is_none() {
            self.armed.fetch_add(1, Ordering::SeqCst);
        }
        drop(watchers);
        old.is_some()
    }

    /// Takes back what [`arm`](Self::arm) did.
    pub(super) fn disarm(&self, id: u64) {
        let mut watchers = self.watchers.lock();
        let waiter = watchers.by_id.get_mut(&id);
        let waker = waiter.and_then(|waiter| waiter.waker.take());
        if waker.is_some() {
            self.armed.fetch_sub(1, Ordering::SeqCst);
        }
        drop(watchers);
    }

    /// The place before which a watcher that has settled has nothing more to see.
    pub(super) fn unmatched_before(&self, id: u64) -> u64 {
        let mut watchers = self.watchers.lock();
        let woken = self.dispatch_into(&mut watchers);
        let place = match watchers.by_id.get(&id) {
            Some(waiter) if waiter.waker.is_none() => waiter.woken_at,
            _ => watchers.dispatched,
        };
        drop(watchers);
        woken.into_iter().for_each(Waker::wake);
        place
    }

    /// The first place that some watcher has still to read. One that has settled and is armed has nothing to read. Those
    /// in `woken` are for the caller to wake when it holds no locks.
    pub(super) fn needed_from(&self, woken: &mut Vec<Waker>) -> Option<u64> {
        let mut watchers = self.watchers.lock();
        woken.extend(self.dispatch_into(&mut watchers));
        let all = watchers.by_id.values();
        all.filter(|w| w.waker.is_none() || !w.place.settled.load(Ordering::SeqCst))
            .map(|w| w.place.cursor.load(Ordering::SeqCst))
            .min()
    }

    /// Notes a change. Called inside the writer's critical section, so in order.
    pub(super) fn push(&self, seq: u64, path: &Arc<str>) {
        if self.armed.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut backlog = self.backlog.lock();
        backlog.end = seq + 1;
        if backlog.paths.len() < MAX_BACKLOG {
            backlog.paths.push(Arc::clone(path));
        } else {
            backlog.overflow = true;
        }
    }

    /// Has the backlog dispatched. Called outside the critical section.
    pub(super) fn kick(self: &Arc<Self>) {
        if self.armed.load(Ordering::SeqCst) > WOKEN_BY_WRITER
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let mut backlog = self.backlog.lock();
            if backlog.dispatching || backlog.paths.is_empty() {
                return;
            }
            backlog.dispatching = true;
            drop(backlog);
            let task = Dispatching(Arc::clone(self));
            runtime.spawn(async move { drop(task) });
        } else {
            self.dispatch();
        }
    }

    /// Wakes everyone.
    pub(super) fn wake_all(&self) {
        let mut watchers = self.watchers.lock();
        let woken = self.disarm_where(&mut watchers, |_| true);
        drop(watchers);
        woken.into_iter().for_each(Waker::wake);
    }

    fn dispatch(&self) {
        let mut watchers = self.watchers.lock();
        let woken = self.dispatch_into(&mut watchers);
        drop(watchers);
        woken.into_iter().for_each(Waker::wake);
    }

    fn dispatch_into(&self, watchers: &mut Watchers) -> Vec<Waker> {
        let mut backlog = self.backlog.lock();
        let paths = std::mem::take(&mut backlog.paths);
        let all = std::mem::take(&mut backlog.overflow);
        let end = backlog.end;
        drop(backlog);
        if paths.is_empty() {
            return Vec::new();
        }
        let woken = self.disarm_where(watchers, |prefix| {
            all || paths.iter().any(|path| path.starts_with(prefix))
        });
        watchers.dispatched = end;
        woken
    }

    fn disarm_where(&self, watchers: &mut Watchers, wants: impl Fn(&str) -> bool) -> Vec<Waker> {
        let armed = watchers.by_id.values_mut().filter(|w| w.waker.is_some());
        let woken: Vec<_> = armed
            .filter(|w| wants(&w.prefix))
            .filter_map(|w| {
                w.woken_at = watchers.dispatched;
                w.waker.take()
            })
            .collect();
        self.armed.fetch_sub(woken.len(), Ordering::SeqCst);
        woken
    }
}

/// A dispatch on its way in a task. It happens when this is dropped, so also if the runtime ends before the task runs.
struct Dispatching(Arc<Hub>);

impl Drop for Dispatching {
    fn drop(&mut self) {
        self.0.backlog.lock().dispatching = false;
        self.0.dispatch();
    }
}
