//! [`Delta`] and [`DeltaQueue`]: the changes that a reflector has seen, in order.
//!
//! A relist is one [`Delta::Replaced`] with all objects, a resync one [`Delta::Sync`], and a bookmark keeps its
//! position too. The queue is bounded: writers wait while it is full, which slows a watch down when readers do not keep up
//! with it.
//!
//! With [`DeltaQueue::coalescing`] an earlier change of an object that has not been popped yet is merged into a later
//! one, at the later position, so revisions still only rise. Nothing moves across a relist or a resync.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::key::Key;
use crate::object::StoredObject;

/// A change that a reflector has seen.
#[derive(Clone, Debug)]
pub enum Delta {
    /// A new object.
    Added(Arc<StoredObject>),
    /// A changed object.
    Updated(Arc<StoredObject>),
    /// A deleted object, in its last state.
    Deleted(Arc<StoredObject>),
    /// All objects at one resource version.
    Replaced {
        /// The objects.
        objects: Vec<Arc<StoredObject>>,
        /// The resource version.
        resource_version: String,
    },
    /// Progress without a change.
    Bookmark {
        /// The resource version.
        resource_version: String,
    },
    /// A request to show all cached objects to these subscribers again.
    Sync {
        /// The subscribers.
        subscribers: Vec<u64>,
    },
}

/// A [`Delta`] with the stream it came from. An informer of several namespaces has several streams.
#[derive(Clone, Debug)]
pub struct Sourced {
    /// The index of the stream.
    pub source: usize,
    /// The change.
    pub delta: Delta,
}

/// A bounded queue of deltas between a reflector and a cache. Clones share it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kubewright_informer::{Delta, DeltaQueue};
///
/// let queue = DeltaQueue::new(1000);
/// let empty = Delta::Replaced { objects: Vec::new(), resource_version: "7".into() };
/// queue.push(0, empty).await;
/// assert_eq!(queue.pop(100).await.unwrap().len(), 1);
/// queue.close();
/// assert!(queue.pop(100).await.is_none());
/// # });
/// ```
#[derive(Clone)]
pub struct DeltaQueue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    capacity: usize,
    coalesce: bool,
    pushed: Notify,
    popped: Notify,
}

#[derive(Default)]
struct State {
    /// Merging leaves a gap at the earlier position.
    deltas: VecDeque<Option<Sourced>>,
    /// The number of deltas without gaps.
    count: usize,
    /// The position of each object's pending change, counted from the first delta ever; only if changes coalesce.
    pending: HashMap<(usize, Key), u64>,
    /// The number of positions taken, gaps included.
    taken: u64,
    closed: bool,
}

/// The capacity of an informer's queue.
pub(crate) const CAPACITY: usize = 2000;

impl DeltaQueue {
    /// Creates a queue that keeps every change.
    pub fn new(capacity: usize) -> Self {
        Self::with(capacity, false)
    }

    /// Creates a queue that keeps only the newest change of each object.
    pub fn coalescing(capacity: usize) -> Self {
        Self::with(capacity, true)
    }

    fn with(capacity: usize, coalesce: bool) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            capacity: capacity.max(1),
            coalesce,
            pushed: Notify::new(),
            popped: Notify::new(),
        }))
    }

    /// Appends a delta, waiting for room.
    pub async fn push(&self, source: usize, delta: Delta) {
        self.push_all(source, &mut vec![delta]).await;
    }

    /// Appends deltas, waiting for room as often as necessary, and leaves `deltas` empty. After [`close`](Self::close)
    /// they are dropped.
    pub async fn push_all(&self, source: usize, deltas: &mut Vec<Delta>) {
        let mut deltas = deltas.drain(..).peekable();
        while deltas.peek().is_some() {
            let room = self.0.popped.notified();
            let full = {
                let mut state = self.0.state.lock();
                while !state.closed && state.count < self.0.capacity {
                    let Some(delta) = deltas.next() else {
                        break;
                    };
                    state.append(Sourced { source, delta }, self.0.coalesce);
                }
                !state.closed && deltas.peek().is_some()
            };
            self.0.pushed.notify_one();
            if full {
                room.await;
            } else if self.is_closed() {
                return;
            }
        }
    }

    /// Removes up to `most` deltas, waiting for the first; `None` once the queue is closed and empty.
    pub async fn pop(&self, most: usize) -> Option<Vec<Sourced>> {
        loop {
            let pushed = self.0.pushed.notified();
            {
                let mut state = self.0.state.lock();
                if state.count > 0 {
                    let taken = state.take(most.max(1));
                    if self.0.coalesce {
                        let end = state.taken;
                        state.pending.retain(|_, at| *at >= end);
                    }
                    drop(state);
                    self.0.popped.notify_waiters();
                    return Some(taken);
                }
                if state.closed {
                    return None;
                }
            }
            pushed.await;
        }
    }

    /// Returns the number of deltas that wait.
    pub fn len(&self) -> usize {
        self.0.state.lock().count
    }

    /// Reports whether no delta waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rejects further deltas. Queued ones can still be popped.
    pub fn close(&self) {
        self.0.state.lock().closed = true;
        self.0.pushed.notify_one();
        self.0.popped.notify_waiters();
    }

    fn is_closed(&self) -> bool {
        self.0.state.lock().closed
    }
}

impl State {
    fn append(&mut self, mut new: Sourced, coalesce: bool) {
        if coalesce {
            let key = match &new.delta {
                Delta::Added(object) | Delta::Updated(object) | Delta::Deleted(object) => {
                    Some((new.source, object.key().clone()))
                }
                Delta::Bookmark { .. } => None,
                Delta::Replaced { .. } | Delta::Sync { .. } => {
                    self.pending.clear();
                    None
                }
            };
            if let Some(key) = key {
                let place = self.taken + self.deltas.len() as u64;
                let earlier = self.pending.insert(key, place);
                let earlier = earlier.and_then(|at| usize::try_from(at - self.taken).ok());
                if let Some(old) = earlier.and_then(|at| self.deltas.get_mut(at)?.take()) {
                    self.count -= 1;
                    new.delta = merged(&old.delta, new.delta);
                }
            }
        }
        self.count += 1;
        self.deltas.push_back(Some(new));
    }

    fn take(&mut self, most: usize) -> Vec<Sourced> {
        let mut taken = Vec::with_capacity(most.min(self.count));
        while taken.len() < most {
            let Some(place) = self.deltas.pop_front() else {
                break;
            };
            self.taken += 1;
            taken.extend(place);
        }
        self.count -= taken.len();
        taken
    }
}

/// Merges two changes into one.
fn merged(old: &Delta, new: Delta) -> Delta {
    match (old, new) {
        (Delta::Added(_), Delta::Updated(object)) => Delta::Added(object),
        (Delta::Deleted(_), Delta::Added(object)) => Delta::Updated(object),
        (_, new) => new,
    }
}
