//! The events that all readers share: a list that grows at one end and is freed at the other.
//!
//! Each reader has a [`Cursor`]; events that all of them have read are freed automatically. Notifying a hundred readers
//! costs as much as notifying one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::event::AnyEvent;
use crate::object::StoredObject;

/// Something that readers are notified of at once.
pub(crate) enum Entry {
    /// Changes, shared by all readers.
    Changes(Vec<AnyEvent>),
    /// Objects that some readers are shown again.
    Shown {
        objects: Vec<Arc<StoredObject>>,
        cause: super::Cause,
        to: Vec<u64>,
    },
    /// The cache has been filled for the first time.
    Synced,
}

/// The shared events.
pub(crate) struct Log {
    tail: Mutex<Arc<Node>>,
    /// The number of events so far.
    count: AtomicU64,
    closed: AtomicBool,
    pub(crate) grown: Notify,
}

/// The position of a reader in the log.
pub(crate) struct Cursor {
    node: Arc<Node>,
    within: usize,
}

struct Node {
    entry: Entry,
    /// The number of events up to the end of this node.
    count: u64,
    next: OnceLock<Arc<Node>>,
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Self::Changes(events) => events.len(),
            Self::Shown { objects, .. } => objects.len(),
            Self::Synced => 0,
        }
    }
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            tail: Mutex::new(Arc::new(Node {
                entry: Entry::Changes(Vec::new()),
                count: 0,
                next: OnceLock::new(),
            })),
            count: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            grown: Notify::new(),
        }
    }

    pub(crate) fn append(&self, entry: Entry) {
        let mut tail = self.tail.lock();
        let count = tail.count + entry.len() as u64;
        let node = Arc::new(Node {
            entry,
            count,
            next: OnceLock::new(),
        });
        let _ = tail.next.set(node.clone());
        *tail = node;
        self.count.store(count, Ordering::Release);
        drop(tail);
        self.grown.notify_waiters();
    }

    /// Returns the position after everything in the log.
    pub(crate) fn end(&self) -> Cursor {
        let node = self.tail.lock().clone();
        Cursor {
            within: node.entry.len(),
            node,
        }
    }

    /// Returns the number of events so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Ends the log.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.grown.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Cursor {
    /// Returns the current entry and the position within it, and moves by one; `None` at the end of the entry.
    pub(crate) fn step(&mut self) -> Option<(&Entry, usize)> {
        let within = self.within;
        if within >= self.node.entry.len() {
            return None;
        }
        self.within += 1;
        Some((&self.node.entry, within))
    }

    /// Returns the current entry and the position that was stepped over last.
    pub(crate) fn last(&self) -> Option<(&Entry, usize)> {
        Some((&self.node.entry, self.within.checked_sub(1)?))
    }

    /// Moves to the next entry, if any, and returns it.
    pub(crate) fn advance(&mut self) -> Option<&Entry> {
        let next = self.node.next.get()?.clone();
        self.node = next;
        self.within = 0;
        Some(&self.node.entry)
    }

    /// Skips the rest of the entry.
    pub(crate) fn skip(&mut self) {
        self.within = self.node.entry.len();
    }

    /// Returns the number of events before this position.
    pub(crate) fn position(&self) -> u64 {
        self.node.count - (self.node.entry.len() - self.within) as u64
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Iteratively, because a reader may be a million entries behind.
        let mut next = self.next.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.next.take();
        }
    }
}
