//! The watchers of a collection, and waking them.
//!
//! Watchers read the log themselves; a hub only wakes them. A watcher *arms* and looks a last time; if there is nothing, it
//! has *settled* and waits, otherwise it disarms. The writer, inside its critical section, appends the path of each change to
//! the backlog of the hub; outside of it the backlog is *dispatched*: each change wakes and disarms the armed watchers whose
//! prefix it matches. So a settled watcher has missed nothing up to the last change dispatched before it was woken, even if
//! the log was trimmed past the position where it last looked.
//!
//! Wakers are woken and dropped outside of all locks, since both can run foreign code.
//!
//! A few watchers are woken by the writer itself, many by a separate task, so that the cost of a write does not depend on
//! their number.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::Waker,
};

use parking_lot::Mutex;

/// The maximum number of watchers that the writer wakes itself.
const WOKEN_BY_WRITER: usize = 8;

/// The backlog beyond which everyone is woken without matching paths.
const MAX_BACKLOG: usize = 1024;

/// The watchers of a collection.
#[derive(Default)]
pub(super) struct Hub {
    watchers: Mutex<Watchers>,
    armed: AtomicUsize,
    backlog: Mutex<Backlog>,
}

/// The position of a watcher. Only the watcher writes it.
#[derive(Default)]
pub(super) struct Position {
    /// The first change that it has not examined.
    pub(super) cursor: AtomicU64,
    /// Whether it has armed, and looked and found nothing since.
    pub(super) settled: AtomicBool,
}

#[derive(Default)]
struct Watchers {
    by_id: HashMap<u64, Waiter>,
    next_id: u64,
    /// The position after the last dispatched change.
    dispatched: u64,
}

struct Waiter {
    prefix: Arc<str>,
    position: Arc<Position>,
    waker: Option<Waker>,
    /// Once woken: the position up to which no matching change had been dispatched.
    woken_at: u64,
}

#[derive(Default)]
struct Backlog {
    paths: Vec<Arc<str>>,
    /// There were too many changes to remember.
    overflow: bool,
    /// The position after the last change.
    end: u64,
    /// Whether a task is scheduled.
    dispatching: bool,
}

impl Hub {
    /// Adds a watcher.
    pub(super) fn join(&self, prefix: Arc<str>, position: Arc<Position>) -> u64 {
        let mut watchers = self.watchers.lock();
        let id = watchers.next_id;
        watchers.next_id += 1;
        let waiter = Waiter {
            prefix,
            position,
            waker: None,
            woken_at: 0,
        };
        watchers.by_id.insert(id, waiter);
        id
    }

    /// Removes a watcher. Returns whether none is left, and what the caller must drop outside of locks.
    pub(super) fn leave(&self, id: u64) -> (bool, Option<Waker>) {
        let mut watchers = self.watchers.lock();
        let waker = watchers.by_id.remove(&id).and_then(|waiter| waiter.waker);
        if waker.is_some() {
            self.armed.fetch_sub(1, Ordering::SeqCst);
        }
        (watchers.by_id.is_empty(), waker)
    }

    /// Arms a watcher. Returns whether it was armed already.
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

    /// Undoes [`arm`](Self::arm).
    pub(super) fn disarm(&self, id: u64) {
        let mut watchers = self.watchers.lock();
        let waiter = watchers.by_id.get_mut(&id);
        let waker = waiter.and_then(|waiter| waiter.waker.take());
        if waker.is_some() {
            self.armed.fetch_sub(1, Ordering::SeqCst);
        }
        drop(watchers);
    }

    /// Returns the position before which a settled watcher has nothing to see.
    pub(super) fn unmatched_before(&self, id: u64) -> u64 {
        let mut watchers = self.watchers.lock();
        let woken = self.dispatch_into(&mut watchers);
        let position = match watchers.by_id.get(&id) {
            Some(waiter) if waiter.waker.is_none() => waiter.woken_at,
            _ => watchers.dispatched,
        };
        drop(watchers);
        woken.into_iter().for_each(Waker::wake);
        position
    }

    /// Returns the first position that a watcher still has to read. A settled and armed watcher has nothing to read. The
    /// caller must wake those in `woken` outside of locks.
    pub(super) fn needed_from(&self, woken: &mut Vec<Waker>) -> Option<u64> {
        let mut watchers = self.watchers.lock();
        woken.extend(self.dispatch_into(&mut watchers));
        let all = watchers.by_id.values();
        all.filter(|w| w.waker.is_none() || !w.position.settled.load(Ordering::SeqCst))
            .map(|w| w.position.cursor.load(Ordering::SeqCst))
            .min()
    }

    /// Records a change. It is called inside the critical section of the writer, and so in order.
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

    /// Dispatches the backlog. It is called outside the critical section.
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
        self.disarm_all().into_iter().for_each(Waker::wake);
    }

    /// Disarms everyone. The caller must wake them outside of locks.
    pub(super) fn disarm_all(&self) -> Vec<Waker> {
        let mut watchers = self.watchers.lock();
        self.disarm_where(&mut watchers, |_| true)
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

/// A scheduled dispatch. It happens on drop, and so even if the runtime ends before the task runs.
struct Dispatching(Arc<Hub>);

impl Drop for Dispatching {
    fn drop(&mut self) {
        self.0.backlog.lock().dispatching = false;
        self.0.dispatch();
    }
}
